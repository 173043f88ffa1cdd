#!/bin/sh
# Credits a payment once although its job runs three times, and dies between the effect and the record the first time.
# STEPFAST_BIN is the binary to use, STEPFAST_DB the database; without it, everything happens in the current directory.
set -eu

stepfast=${STEPFAST_BIN:-stepfast}
db=${STEPFAST_DB:-sqlite:$PWD/pay-once.db}
payment=payment-$$

"$stepfast" --db "$db" serve --port 0 --workers 0 > server.txt &
server=$!
trap 'kill "$server" 2> /dev/null || true' EXIT
tries=0
until grep -q '^listening on ' server.txt; do
    tries=$((tries + 1))
    [ "$tries" -le 300 ] || { echo "the server did not start" >&2; exit 1; }
    sleep 0.1
done
url=$(sed -n 's/^listening on //p' server.txt)

post() { # verb, body: prints the answer, then its status on a line of its own
    curl -sS -w '\n%{http_code}\n' -H 'Content-Type: application/json' -d "$2" "$url/v1/executions/$1"
}

# The bank elsewhere. It knows a transfer by the key that comes with it: the directory is made once.
mkdir -p transfers
credit() {
    mkdir "transfers/$1" 2> /dev/null || return 0
    echo 10000 >> wallet.txt
}

# The job: begin, do it with a key that is the same in every attempt, record the answer.
job() {
    name="\"namespace\": \"payments.credit\", \"key\": \"$payment\""
    while :; do
        answer=$(post begin "{$name, \"input\": {\"amount\": 10000}, \"lease_seconds\": 1}")
        case $(echo "$answer" | tail -n 1) in
        200) break ;;
        409) sleep 0.2 ;; # somebody does it now, or died doing it: its lease runs out
        *) echo "$answer" >&2; exit 1 ;;
        esac
    done
    if echo "$answer" | grep -q '"verdict":"replay"'; then
        echo "credited before"
        return 0
    fi
    owner=$(echo "$answer" | sed -n 's/.*"owner":"\([^"]*\)".*/\1/p')
    credit "payments.credit:$payment"
    if [ "$1" = dies ]; then
        echo "died before it was recorded"
        return 0
    fi
    post complete "{$name, \"owner\": \"$owner\", \"answer\": {\"credited\": 10000}}" | tail -n 1 | grep -q '^204$'
    echo "credited"
}

[ "$(job dies)" = "died before it was recorded" ]
[ "$(job lives)" = "credited" ]
[ "$(job lives)" = "credited before" ]
[ "$(cat wallet.txt)" = 10000 ]

"$stepfast" --db "$db" executions show payments.credit "$payment" > shown.txt
grep -q 'attempt 1 .* begun' shown.txt
grep -q 'attempt 2 .* taken_over' shown.txt
grep -q 'attempt 2 .* done' shown.txt

kill "$server"
wait "$server" || true
"$stepfast" --db "$db" check
echo "10000 credited once in three runs"

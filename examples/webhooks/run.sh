#!/bin/sh
# Orders of three customers go to a small HTTP receiver over the embedded queue: of each customer in order, one at a time. The receiver refuses
# an order of one customer, who waits until somebody decides; the others do not notice.
# STEPFAST_BIN is the binary to use, STEPFAST_DB the database; without it, everything happens in the current directory.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
stepfast=${STEPFAST_BIN:-stepfast}
export STEPFAST_DB="${STEPFAST_DB:-sqlite:$PWD/webhooks.db}"
run=$$

rm -f ann.txt bob.txt cleo.txt mended server.txt receiver.txt
python3 "$here/receiver.py" > receiver.txt &
receiver=$!
trap 'kill "$receiver" 2> /dev/null || true; kill "$server" 2> /dev/null || true' EXIT
server=

wait_for() { # what, then the command that says so
    what=$1
    shift
    tries=0
    until "$@"; do
        tries=$((tries + 1))
        [ "$tries" -le 300 ] || { echo "it never came to be that $what" >&2; exit 1; }
        sleep 0.1
    done
}

wait_for "the receiver listens" test -s receiver.txt
place=127.0.0.1:$(cat receiver.txt)
cat > stepfast.toml << TOML
[actions.http]
allow = ["$place"]

[dispatch-scheduler]
queue-type = "EMBEDDED"
TOML
"$stepfast" serve --port 0 > server.txt &
server=$!
wait_for "the server listens" grep -q '^listening on ' server.txt

# Five orders of each customer, in one call.
for order in 1 2 3 4 5; do
    for customer in ann bob cleo; do
        echo "{\"action\": \"deliver\", \"message_group\": \"$customer-$run\", \"mode\": \"block_on_error\", \"max_attempts\": 2, \"retry_delay_ms\": 50,
               \"arguments\": {\"url\": \"http://$place/$customer\", \"body\": $order}}"
    done
done | sed '1s/^/{"steps": [/; $!s/}}$/}},/; $s/$/]}/' > orders.json
"$stepfast" steps create --file orders.json > /dev/null

took() { # customer, what they took, in order
    [ "$(sed -n 's/ taken$//p' "$1.txt" 2> /dev/null | tr '\n' ' ')" = "$2" ]
}
wait_for "ann has everything" took ann "1 2 3 4 5 "
wait_for "cleo has everything" took cleo "1 2 3 4 5 "
blocked() { "$stepfast" message-groups show "bob-$run" | grep -q blocked; }
wait_for "bob is held back" blocked
took bob "1 "

# The receiver is mended, and somebody decides that the order is delivered anew, in its place.
touch mended
"$stepfast" message-groups requeue "bob-$run" --why "the receiver is mended"
wait_for "bob has everything" took bob "1 2 3 4 5 "

"$stepfast" router status
kill "$server"
wait "$server" || true
"$stepfast" check
echo "15 orders delivered, each customer's in order; bob's came late and nobody waited for him"

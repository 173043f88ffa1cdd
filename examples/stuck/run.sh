#!/bin/sh
# The three stuck cases of specification 003, acted out over a bank's own tables: a payment that is pending for a day is cancelled and its user
# told, an allocation that hangs is tried again, and a bonus that was never credited waits for a person, who credits it.
# STEPFAST_BIN is the binary to use, STEPFAST_DB the database; without it, everything happens in the current directory.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
stepfast=${STEPFAST_BIN:-stepfast}
export STEPFAST_DB="${STEPFAST_DB:-sqlite:$PWD/stuck.db}"

rm -f bank.db server.txt
# The bank is asked as often as it may be, so that nobody waits a quarter of an hour for the end of the story.
sed 's/every = "15m" }/every = "10s" }/' "$here/fintech.toml" > stepfast.toml
export STEPFAST_CONFIG="$PWD/stepfast.toml"

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

"$stepfast" serve --port 0 > server.txt &
server=$!
bank=
trap 'kill "$bank" 2> /dev/null || true; kill "$server" 2> /dev/null || true' EXIT
wait_for "the server listens" grep -q '^listening on ' server.txt
export STEPFAST_SERVER="$(sed 's/^listening on //' server.txt)"
python3 "$here/bank.py" "$STEPFAST_SERVER" &
bank=$!

bank_says() { [ "$(python3 "$here/bank.py" state "$1" "$2")" = "$3" ]; }
look() { "$stepfast" stuck detect --auto-resolve --json > look.json; }
open_alerts() { look && "$stepfast" alerts list --json | wc -l | grep -q "^ *$1\$"; }

# The first looks ask the bank, hear what it answers, and do what the rules say.
wait_for "three things are found" open_alerts 3
"$stepfast" alerts list
"$stepfast" alerts list --json > alerts.json
grep -q '"entity":"payment","entity_id":"1","reason":"pending_too_long","severity":"medium"' alerts.json
grep -q '"entity":"allocation","entity_id":"3","reason":"allocation_processing_too_long","severity":"high"' alerts.json
grep -q '"entity":"bonus","entity_id":"5","reason":"bonus_not_credited","severity":"medium"' alerts.json

# The payment is cancelled and the allocation done; nobody has touched what only looks like them.
wait_for "the payment is cancelled" bank_says payments 1 cancelled
wait_for "the allocation is done" bank_says allocations 3 completed
bank_says payments 2 pending && bank_says allocations 4 processing && bank_says bonuses 6 calculated
"$stepfast" alerts list --entity payment --json | grep -q '"user_notified_at":"'

# What the bank reports no more is closed, by what was seen. The bonus waits for a person.
wait_for "only the bonus is left" open_alerts 1
"$stepfast" alerts list --closed --json > closed.json
[ "$(grep -c '"closed_by":"observed".*"auto_resolved":true' closed.json)" = 2 ]
"$stepfast" stuck detect --show-queue
bonus=$("$stepfast" alerts list --queue --json | sed 's/.*"id":\([0-9]*\).*/\1/')
"$stepfast" alerts list --queue --json | grep -q '"admin_notified_at":"'
"$stepfast" alerts assign "$bonus" --to anna --by anna
python3 "$here/bank.py" credit 5
"$stepfast" alerts resolve "$bonus" "credited by hand" --by anna
wait_for "nothing is open" open_alerts 0
"$stepfast" alerts show "$bonus"
"$stepfast" alerts figures
"$stepfast" check
echo "nothing is stuck"

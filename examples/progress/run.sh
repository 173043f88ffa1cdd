#!/bin/sh
# A payment that is done by somebody else's program: the customer was debited and not credited. It stands in the list of what is half done, with
# a sentence for the customer; it is retried, credited, and whole. A payment that is a workflow stands in the same list.
# STEPFAST_BIN is the binary to use, STEPFAST_DB the database; without it, everything happens in the current directory.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
stepfast=${STEPFAST_BIN:-stepfast}
export STEPFAST_DB="${STEPFAST_DB:-sqlite:$PWD/progress.db}"
payment=$$

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
trap 'kill "$server" 2> /dev/null || true' EXIT
wait_for "the server listens" grep -q '^listening on ' server.txt
url=$(sed -n 's/^listening on //p' server.txt)

say() { # path, body: prints the answer
    curl -sSf -H 'Content-Type: application/json' -d "$2" "$url/v1/flows$1"
}

# Before: nobody would know that the credit is missing. Now the program says what it does.
say "" "{\"type\": \"payment_processing\", \"entity_type\": \"payment\", \"entity_id\": \"$payment\", \"user\": \"ann\",
         \"steps\": [\"wallet_debit\", \"wallet_credit\", {\"name\": \"email\", \"optional\": true}],
         \"message\": \"Payment received, processing bonuses\",
         \"retry\": {\"action\": \"echo\", \"arguments\": {\"payment\": \"$payment\"}}}" > started.json
flow=$(sed -n 's/.*"flow":{"id":"\([^"]*\)".*/\1/p' started.json)
say "/$flow/steps/wallet_debit/complete" '{}' > /dev/null
say "/$flow/steps/wallet_debit/complete" '{}' > /dev/null # the program said it twice; it counts once

# The customer's view, and the administrator's.
"$stepfast" progress "$flow" | tee user.txt
grep -q '50 % running · Payment received, processing bonuses' user.txt
"$stepfast" progress --half-done | tee half.txt
grep "$flow" half.txt | grep -q "flow payment_processing *payment $payment"

# The credit fails. It is failed now, and still half done: what failed is not forgotten.
say "/$flow/steps/wallet_credit/fail" '{"message": "the bank is away"}' > /dev/null
"$stepfast" progress --half-done --json | grep "$flow" | grep -q '"sentence":"It could not go on at wallet credit; 1 of 2 steps is done."'
unknown=$(curl -sS -o unknown.json -w '%{http_code}' -H 'Content-Type: application/json' -d '{}' "$url/v1/flows/$flow/steps/wallet_refund/complete")
[ "$unknown" = 409 ]
grep -q 'it has `wallet_debit`, `wallet_credit`, `email`' unknown.json

# Somebody has it retried: what was declared for that runs as a step, and the program credits and says so.
"$stepfast" flows retry "$flow" --why "the bank is back" --json > retried.json
step=$(sed -n 's/.*"step_id":"\([^"]*\)".*/\1/p' retried.json)
ran() { "$stepfast" steps show "$step" --json | grep -q '"state":"completed"'; }
wait_for "the retry ran" ran
"$stepfast" flows complete "$flow" wallet_credit
"$stepfast" flows finish "$flow"
"$stepfast" progress "$flow" --watch | grep -q '100 % completed · Everything is done.'

# The half-done payment of specification 003: credited and told, and its bonus stands still. It is seen, found when its time is over, and retried.
say "" "{\"type\": \"payment_processing\", \"entity_type\": \"payment\", \"entity_id\": \"bonus-$payment\", \"user\": \"ann\",
         \"steps\": [\"wallet_credit\", \"email_sent\", \"bonus_calculation\"], \"timeout_seconds\": 1,
         \"message\": \"Payment received, processing bonuses\", \"retry\": {\"action\": \"echo\"}, \"cancel\": {\"action\": \"echo\"}}" > started.json
bonus=$(sed -n 's/.*"flow":{"id":"\([^"]*\)".*/\1/p' started.json)
say "/$bonus/steps/wallet_credit/complete" '{}' > /dev/null
say "/$bonus/steps/email_sent/complete" '{}' > /dev/null
"$stepfast" progress "$bonus" | tee user.txt
grep -q '66.67 % running · Payment received, processing bonuses' user.txt
found() { "$stepfast" stuck detect --json > look.json && "$stepfast" alerts list --entity flow --entity-id "$bonus" --json | grep -q '"rule":"flow-overdue"'; }
wait_for "the bonus is found stuck" found
"$stepfast" flows retry "$bonus" --why "the bonus stands still" > /dev/null
"$stepfast" flows complete "$bonus" bonus_calculation
"$stepfast" flows finish "$bonus"
"$stepfast" stuck detect --json > look.json
[ -z "$("$stepfast" alerts list --entity flow --entity-id "$bonus" --json)" ]
"$stepfast" alerts list --closed --entity flow --entity-id "$bonus" --json | grep -q '"closed_by":"observed"'

# A payment that runs here needs to say nothing: its steps are known.
"$stepfast" apply "$here/payment.yaml"
id=$("$stepfast" start payment --input '{}')
waits() { "$stepfast" progress "$id" --json | grep -q '"waits_for":\["trigger `bank`'; }
wait_for "the workflow waits for the bank" waits
"$stepfast" progress --half-done --json | grep "$id" | grep -q '"percent":50.0'
"$stepfast" trigger "$id" bank --payload '{"credited": true}' > /dev/null
"$stepfast" watch "$id" > /dev/null
"$stepfast" progress --half-done > left.txt
if grep -q -e "$flow" -e "$id" left.txt; then
    echo "what is whole is not half done" >&2
    exit 1
fi
"$stepfast" flows show "$flow"
kill "$server"
wait "$server" || true
"$stepfast" check
echo "the payment was seen half done, retried, and is whole"

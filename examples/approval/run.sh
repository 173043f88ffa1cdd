#!/bin/sh
# A purchase waits for a manager, who is reminded until an answer comes: unsigned it is refused, a signed "no" is kept and the purchase waits on,
# a signed "yes" lets it go on. After a while in which the buyer may think again it is closed, by itself.
# STEPFAST_BIN is the binary to use, STEPFAST_DB the database; without it, everything happens in the current directory.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
stepfast=${STEPFAST_BIN:-stepfast}
export STEPFAST_DB="${STEPFAST_DB:-sqlite:$PWD/approval.db}"
secret=whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw
export STEPFAST_TRIGGERS_APPROVAL="$secret"

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

"$stepfast" apply "$here/approval.yaml"
id=$("$stepfast" start approval --input '{"amount": 420}')
waits() { "$stepfast" pauses "$id" | grep -q waiting; }
wait_for "it waits for the manager" waits
reminded() { "$stepfast" show "$id" --timeline | grep -q 'trigger.timed_out'; }
wait_for "the manager is reminded" reminded
"$stepfast" pauses --due

answer() { # the id of the message, the payload: the status of the answer
    printf '%s' "$2" > body.json
    python3 "$here/sign.py" "$secret" "$1" < body.json > headers.txt
    curl -s -o answer.json -w '%{http_code}' -H @headers.txt --data-binary @body.json "$url/trigger/$id/manager-approval"
}
unsigned=$(curl -s -o answer.json -w '%{http_code}' -H 'content-type: application/json' -d '{"approved": true}' "$url/trigger/$id/manager-approval")
[ "$unsigned" = 401 ]
[ "$(answer "no-$id" '{"approved": false, "by": "Grace"}')" = 202 ]
[ "$(answer "odd-$id" '{"approved": "perhaps"}')" = 422 ]
[ "$(answer "yes-$id" '{"approved": true, "by": "Grace"}')" = 200 ]
[ "$(answer "yes-$id" '{"approved": true, "by": "Grace"}')" = 200 ] # the same again changes nothing

"$stepfast" watch "$id"
"$stepfast" show "$id" --json | grep -q '"approved_by":"Grace"'
kill "$server"
wait "$server" || true
"$stepfast" check
echo "the purchase was approved by a signed answer, once, and closed by itself"

#!/bin/sh
# Waits for three payments: one that arrives, one that is refused, and one of which nothing is heard.
# STEPFAST_BIN is the binary to use; with STEPFAST_DB the runs are on record there, otherwise each has a database of its own.
set -eu

stepfast=${STEPFAST_BIN:-stepfast}
here=$(cd "$(dirname "$0")" && pwd)

"$stepfast" validate "$here"

"$stepfast" run "$here/payment.yaml" --json --input '{"order": 7}' > paid.json
grep -q '"output":{"shipped":7}' paid.json
grep -q '"made":3' paid.json

"$stepfast" run "$here/payment.yaml" --json --input '{"order": 8, "status": "refused"}' > refused.json
grep -q '"output":{"cancelled":8}' refused.json
grep -q '"reason":"poll_aborted"' refused.json

"$stepfast" run "$here/payment.yaml" --json --input '{"order": 9, "status": "open"}' > open.json
grep -q '"output":{"reminded":9}' open.json
grep -q '"reason":"poll_timed_out"' open.json

"$stepfast" run "$here/bill.yaml" --json --input '{"order": 7, "status": "paid"}' > bill.json
grep -q '"payment":"paid"' bill.json
"$stepfast" run "$here/bill.yaml" --json --input '{"order": 8, "status": "open"}' > late.json
grep -q '"payment":"unknown"' late.json

"$stepfast" graph "$here/payment.yaml" > graph.txt
grep -q 'poll echo every 100ms' graph.txt
echo "every payment came to its end"

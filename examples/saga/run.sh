#!/bin/sh
# Two orders: one arrives, and one that cannot be shipped is tried again, then undone in reverse order.
# STEPFAST_BIN is the binary to use; with STEPFAST_DB the runs are on record there, otherwise each has a database of its own.
set -eu

stepfast=${STEPFAST_BIN:-stepfast}
here=$(cd "$(dirname "$0")" && pwd)

"$stepfast" validate "$here"

"$stepfast" run "$here/order.yaml" --json --input '{"order": 7, "amount": 20, "items": ["tea", "pot"], "ship": true}' > arrived.json
grep -q '"output":{"thanks":7}' arrived.json

if "$stepfast" run "$here/order.yaml" --json --input '{"order": 8, "amount": 30, "items": ["tea", "pot"], "ship": false}' > undone.json; then
    echo "an order that was undone did not succeed" >&2
    exit 1
fi
grep -q '"state":"compensated"' undone.json
grep -q '"step_key":"charge","action":"echo","state":"succeeded"' undone.json
grep -q '"items_done":2' undone.json
echo "one order arrived, and one was undone"

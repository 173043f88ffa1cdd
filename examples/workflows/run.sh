#!/bin/sh
# Runs every example of this folder to its end, and looks at what came of it.
# STEPFAST_BIN is the binary to use; with STEPFAST_DB the runs are on record there, otherwise each has a database of its own.
set -eu

stepfast=${STEPFAST_BIN:-stepfast}
here=$(cd "$(dirname "$0")" && pwd)

"$stepfast" validate "$here"

"$stepfast" run "$here/order-fulfilment.yaml" --json --input '{
  "id": 7, "priority": "high", "coupon": "SPRING", "notify": ["mail", "text"],
  "items": [{"sku": "tea", "quantity": 2}, {"sku": "cup", "quantity": 1}, {"sku": "tea", "quantity": 1}]}' > order.json
grep -q '"state":"succeeded"' order.json
grep -q '"charged":{"articles":3,"order":7,"percent_off":10}' order.json

"$stepfast" run "$here/order-fulfilment.yaml" --json --input '{"id": 8, "items": []}' > empty.json
grep -q 'there is nothing to ship' empty.json

if "$stepfast" run "$here/order-fulfilment.yaml" --json \
    --input '{"id": 9, "card": "declined", "items": [{"sku": "tea", "quantity": 1}]}' > declined.json; then
    echo "an order with a declined card went through" >&2
    exit 1
fi
grep -q 'the card was declined' declined.json

"$stepfast" run "$here/thousand-items.yaml" > thousand.json
grep -q '"done": 1000' thousand.json

"$stepfast" run "$here/nested/checkout.yaml" --with "$here/nested/shipping.yaml" --input '{"id": 7}' > nested.json
grep -q '"parcel": "P-7"' nested.json

"$stepfast" graph "$here/order-fulfilment.yaml" > graph.txt
grep -q route graph.txt
echo "every example came to its end"

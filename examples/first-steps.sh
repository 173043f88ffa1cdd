#!/bin/sh
# Creates a parent with a block of two steps, runs them to their end, and asks the database whether all is well.
# STEPFAST_BIN is the binary to use, STEPFAST_DB the database; without it, everything happens in the current directory.
set -eu

stepfast=${STEPFAST_BIN:-stepfast}
db=${STEPFAST_DB:-sqlite:$PWD/first-steps.db}

# The parent's job runs first. Its children stand in one block: index 2 waits for index 1.
cat > tree.json <<'JSON'
{
  "steps": [
    {
      "action": "noop",
      "step_key": "order",
      "children": [
        { "action": "noop", "step_key": "reserve", "index": 1 },
        { "action": "echo", "step_key": "charge", "index": 2, "arguments": { "amount": 100 } }
      ]
    }
  ]
}
JSON

"$stepfast" --db "$db" steps create --file tree.json > created.txt
grep -qE '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' created.txt

# `dispatch --once` runs one tick with the built-in actions and exits; a few of them bring the tree to its end.
ticks=0
while :; do
    "$stepfast" --db "$db" steps list --all --json > steps.json
    ended=$(grep -c '"state":"completed"' steps.json || true)
    [ "$ended" -lt 3 ] || break
    ticks=$((ticks + 1))
    if [ "$ticks" -gt 20 ]; then
        echo "the steps did not end within 20 ticks:" >&2
        cat steps.json >&2
        exit 1
    fi
    "$stepfast" --db "$db" dispatch --once
done

for key in order reserve charge; do
    grep "\"step_key\":\"$key\"" steps.json | grep -q '"state":"completed"'
done

# Every invariant the engine knows, recounted from the rows.
"$stepfast" --db "$db" check
echo "three steps completed after $ticks ticks"

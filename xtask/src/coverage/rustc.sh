#!/bin/sh
# Stands before the compiler of the workspace's own crates. What the rules lend to others, such as closures, is compiled with those
# others, so all of them count; whatever comes from elsewhere stays as it is built for every other test.
exec "$@" -C instrument-coverage

#!/usr/bin/env bash
# Gives bursts of packets that libFuzzer makes up to the poll mode's code, for a time: pollfuzz.sh 1m.
# The inputs that it finds are kept only with a second argument: pollfuzz.sh 1m -keep.
set -euo pipefail
echo "fuzz: vrouter/poll for $1"
go test -count=1 -timeout 0 -v -run '^TestLibFuzzer$' ./vrouter/poll -libfuzzer "$@"

#!/usr/bin/env bash
# Gives frames and damaged tables that libFuzzer makes up to the vRouter's core, for a time:
# corefuzz.sh 3m. The inputs that it finds are kept only with a second argument: corefuzz.sh 3m -keep.
set -euo pipefail
echo "fuzz: vrouter/core for $1"
go test -count=1 -timeout 0 -v -run '^TestLibFuzzer$' ./vrouter/core -libfuzzer "$@"

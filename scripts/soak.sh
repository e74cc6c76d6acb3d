#!/usr/bin/env bash
# The slow, exhaustive parts: every fuzzer for a while, every unit test under the
# race detector, the end-to-end tests several times over.
set -euo pipefail
each=${FUZZTIME:-10m}
rounds=${ROUNDS:-3}
go test -race -count=1 ./...
while read -r package name; do
	echo "soak: $package $name for $each"
	go test -run '^$' -fuzz "^$name\$" -fuzztime "$each" "$package"
done < <(grep -rhoE '^func Fuzz[A-Za-z0-9_]+' --include='*_test.go' -l . | xargs -n1 dirname | sort -u | while read -r dir; do
	grep -hoE '^func Fuzz[A-Za-z0-9_]+' "$dir"/*_test.go | awk -v d="$dir" '{print d, $2}'
done)
for round in $(seq "$rounds"); do
	echo "soak: end-to-end round $round of $rounds"
	go test -count=1 -timeout 2h -tags e2e ./tests/...
done

#!/usr/bin/env bash
# Runs every fuzzer below a folder, and shares a time among them: fuzz.sh traffic 5m.
# With a third argument "each", every fuzzer gets the whole time.
set -euo pipefail
folder=$1 seconds=$(($(sed -E 's/^([0-9]+)m$/\1*60/; s/^([0-9]+)h$/\1*3600/; s/^([0-9]+)s$/\1/' <<<"$2")))
mapfile -t fuzzers < <(grep -roE '^func Fuzz[A-Za-z0-9_]+' --include='*_test.go' "$folder" | sed -E 's|/[^/]*:func | |' | sort -u)
[ ${#fuzzers[@]} -gt 0 ] || { echo "no fuzzer below $folder" >&2; exit 1; }
[ "${3:-}" = each ] || seconds=$((seconds / ${#fuzzers[@]}))
[ "$seconds" -gt 0 ] || seconds=1
for fuzzer in "${fuzzers[@]}"; do
	read -r package name <<<"$fuzzer"
	echo "fuzz: $package $name for ${seconds}s"
	log=$(mktemp)
	if ! go test -run '^$' -fuzz "^$name\$" -fuzztime "${seconds}s" "./$package" >"$log" 2>&1; then
		# A fuzzer whose worker is busy when the time ends may report the end as a failure
		#; a finding writes the input that shows it.
		if ! grep -q 'context deadline exceeded' "$log" || grep -q 'Failing input written' "$log"; then
			cat "$log" >&2
			rm -f "$log"
			exit 1
		fi
	fi
	tail -1 "$log"
	rm -f "$log"
done

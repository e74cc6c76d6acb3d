#!/usr/bin/env bash
# Runs every fuzzer below folders, and shares a time among them: fuzz.sh 'traffic foreign' 8m. Each has one worker,
# and as many run at once as there are CPUs: two fuzzers with a worker each try as many inputs in four seconds
# as one after the other with two workers each in five, because one fuzzer's workers wait for their coordinator.
# An input that reaches something new is made smaller by at most ten tries, not for up to a minute: of a few seconds each,
# nearly all would be spent on that.
# With a third argument "each", every fuzzer gets the whole time, and all CPUs.
set -euo pipefail
read -ra folders <<<"$1"
seconds=$(($(sed -E 's/^([0-9]+)m$/\1*60/; s/^([0-9]+)h$/\1*3600/; s/^([0-9]+)s$/\1/' <<<"$2")))
mapfile -t fuzzers < <(grep -roE '^func Fuzz[A-Za-z0-9_]+' --include='*_test.go' "${folders[@]}" | sed -E 's|/[^/]*:func | |' | sort -u)
[ ${#fuzzers[@]} -gt 0 ] || { echo "no fuzzer below $1" >&2; exit 1; }
workers=1 lanes=$(nproc)
if [ "${3:-}" = each ]; then
	workers=$lanes lanes=1
else
	seconds=$((seconds / ${#fuzzers[@]}))
fi
[ "$seconds" -gt 0 ] || seconds=1

fuzz() { # a package and a fuzzer's name
	local log said
	log=$(mktemp)
	echo "fuzz: $1 $2 for ${seconds}s"
	if go test -run '^$' -fuzz "^$2\$" -fuzztime "${seconds}s" -fuzzminimizetime 10x -parallel "$workers" "./$1" >"$log" 2>&1; then
		said=$(tail -1 "$log")
	elif grep -q 'context deadline exceeded' "$log" && ! grep -q 'Failing input written' "$log"; then
		# A fuzzer whose worker is busy when the time ends may report the end as a failure; a finding
		# writes the input that shows it.
		said="nothing found; its time ended in the middle of an input"
	else
		cat "$log" >&2
		rm -f "$log"
		return 255 # so xargs starts no other
	fi
	echo "fuzz: $1 $2: $said"
	rm -f "$log"
}
export -f fuzz
export seconds workers
printf '%s\n' "${fuzzers[@]}" | xargs -P "$lanes" -L 1 bash -c 'set -euo pipefail; fuzz "$@"' fuzz

#!/usr/bin/env bash
# The slow, exhaustive parts: every unit test under the race detector, every fuzzer
# for a while, the vRouter's routes in motion, the end-to-end tests several times over.
set -euo pipefail
each=${FUZZTIME:-10m}
rounds=${ROUNDS:-3}
go test -race -count=1 ./...
bash scripts/fuzz.sh traffic "${TRAFFIC_FUZZTIME:-1h}" each
for folder in $(git ls-files '*_test.go' | cut -d/ -f1 | sort -u); do
	[ "$folder" != traffic ] && grep -rqE '^func Fuzz' --include='*_test.go' "$folder" || continue
	bash scripts/fuzz.sh "$folder" "$each" each
done
bash scripts/corefuzz.sh "${CORE_FUZZTIME:-1h}"
echo "soak: 10,000 route changes a second among ${ROUTES:-1000000}, beside a TCP stream, for ${CHURN:-30s}"
CHURN=${CHURN:-30s} ROUTES=${ROUTES:-1000000} go test -count=1 -run '^TestRouteChurn$' ./vrouter
for round in $(seq "$rounds"); do
	echo "soak: end-to-end round $round of $rounds"
	go test -count=1 -timeout 2h -tags e2e ./tests/...
done

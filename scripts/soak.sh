#!/usr/bin/env bash
# The slow, exhaustive parts: every unit test under the race detector, every fuzzer
# for a while, the vRouter's routes in motion, the end-to-end tests several times over. Older kernels
# are `make kernels`' part.
set -euo pipefail
each=${FUZZTIME:-10m}
rounds=${ROUNDS:-3}
go test -race -count=1 ./...
echo "soak: what the statistics promise, on ${SUITES:-1000} seeded suites"
make promises SUITES="${SUITES:-1000}"
bash scripts/fuzz.sh traffic "${TRAFFIC_FUZZTIME:-1h}" each
for folder in $(git ls-files '*_test.go' | cut -d/ -f1 | sort -u); do
	[ "$folder" != traffic ] && grep -rqE '^func Fuzz' --include='*_test.go' "$folder" || continue
	bash scripts/fuzz.sh "$folder" "$each" each
done
bash scripts/corefuzz.sh "${CORE_FUZZTIME:-1h}"
echo "soak: 10,000 route changes a second among ${ROUTES:-1000000}, beside a TCP stream, for ${CHURN:-30s}"
CHURN=${CHURN:-30s} ROUTES=${ROUTES:-1000000} go test -count=1 -run '^TestRouteChurn$' ./vrouter
echo "soak: a million random frames, the same by both modes of the vRouter"
go test -count=1 -timeout 1h -run '^TestRandomPackets$' ./vrouter/parity -frames "${FRAMES:-1000000}" -seed "${SEED:-$RANDOM}"
echo "soak: the poll mode under the sanitizers: golden packets, and VMs that lie"
POLL_SANITIZED=1 go test -count=1 ./vrouter/poll
POLL_SANITIZED=1 go test -count=1 -run 'Poll|VM' ./vrouter
bash scripts/pollfuzz.sh "${POLL_FUZZTIME:-1h}"
echo "soak: the poll mode at full rate, for ${POLL_SOAK:-10m}"
POLL_SOAK=${POLL_SOAK:-10m} go test -count=1 -timeout 2h -v -run '^TestPollSoak$' ./vrouter
export SEARCH_SOAK=1 # three searches for one rate, which must agree
export CAUSES_SOAK=1 # every planted cause, tried
export PAGES_SOAK=1 # every golden page, in every light and width
export HOSTS_SOAK=1 # hosts' engines that die, and Podman, and a node of Windows, and Open vSwitch, virtual machines and teams there
export IDENTICAL_BUDGET=60s # of each of ten runs of two identical cells
bash scripts/pci.sh || [ $? = 3 ] # what it takes cannot be had here
bash scripts/cgroup2.sh || [ $? = 3 ]
bash scripts/bonding.sh || [ $? = 3 ]
bash scripts/nicqueues.sh || [ $? = 3 ]
for round in $(seq "$rounds"); do
	echo "soak: end-to-end round $round of $rounds"
	go test -count=1 -parallel 4 -timeout 2h -tags e2e ./tests/...
done

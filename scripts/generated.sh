#!/usr/bin/env bash
# Regenerates the BPF objects and compares: what is committed must be what the
# pinned compiler makes of the sources beside it.
set -euo pipefail
if ! command -v clang-19 >/dev/null; then
	echo "clang-19 is missing, so the generated files cannot be compared (Debian: apt-get install clang-19 llvm-19 libbpf-dev)" >&2
	exit 1
fi
before=$(mktemp -d)
trap 'rm -rf "$before"' EXIT
mapfile -t files < <(git ls-files 'vrouter/**/*_bpfel.go' 'vrouter/**/*_bpfel.o' 'vrouter/**/*_generated.go' \
	'traffic/frame/*_bpfel.go' 'traffic/frame/*_bpfel.o' 'measure/profile/*_bpfel.go' 'measure/profile/*_bpfel.o')
for f in "${files[@]}"; do mkdir -p "$before/$(dirname "$f")" && cp "$f" "$before/$f"; done
go generate ./vrouter/... ./traffic/frame/... ./measure/profile
stale=0
for f in "${files[@]}"; do
	cmp -s "$f" "$before/$f" || { echo "generated file is not current: $f (run make generate and commit)" >&2; stale=1; }
done
exit $stale

#!/usr/bin/env bash
# Format, vet, lint, the import rules, and that generated files are current.
set -euo pipefail
step() { printf '%s\n' "check: $1"; }

step "gofmt"
unformatted=$(gofmt -l $(git ls-files '*.go'))
[ -z "$unformatted" ] || { echo "not gofmt'ed: $unformatted (run gofmt -w)" >&2; exit 1; }

step "go vet"
go vet ./...
go vet -tags e2e ./tests/...

step "staticcheck"
go tool staticcheck ./...

step "imports and sizes"
go test -count=1 ./tests/layout

step "module file is tidy"
go mod tidy -diff >/dev/null || { echo "go.mod is not tidy (run go mod tidy)" >&2; exit 1; }

step "arm64 builds"
GOARCH=arm64 CGO_ENABLED=0 go build -o /dev/null ./cmd/windtunnel
GOARCH=arm64 CGO_ENABLED=0 go build -o /dev/null ./cmd/vrouter

step "Windows and macOS build"
# The socket kinds, the foreign protocols and one-off use run there, too; testbeds do not.
for system in windows/amd64 darwin/arm64; do
	GOOS=${system%/*} GOARCH=${system#*/} CGO_ENABLED=0 go build ./traffic/... ./oneoff ./cmd/windtunnel
	GOOS=${system%/*} GOARCH=${system#*/} CGO_ENABLED=0 go vet ./traffic/... ./oneoff ./cmd/windtunnel # their tests are built there, too
done

bash scripts/peers.sh
step "clang-format"
git ls-files '*.c' '*.h' | xargs --no-run-if-empty clang-format-19 --dry-run -Werror

step "generated files"
bash scripts/generated.sh

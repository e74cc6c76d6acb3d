#!/usr/bin/env bash
# Static binaries for Linux on amd64 and arm64, and windtunnel's agents for hosts that are Windows or macOS, with checksums.
set -euo pipefail
flags=$1
rm -rf dist && mkdir dist
for arch in amd64 arm64; do
	for program in windtunnel vrouter; do
		CGO_ENABLED=0 GOOS=linux GOARCH=$arch go build -trimpath -ldflags "$flags" -o "dist/$program-linux-$arch" "./cmd/$program"
	done
done
for system in windows/amd64 windows/arm64 darwin/amd64 darwin/arm64; do
	extension=
	[ "${system%/*}" != windows ] || extension=.exe
	CGO_ENABLED=0 GOOS=${system%/*} GOARCH=${system#*/} go build -trimpath -ldflags "$flags" -o "dist/windtunnel-${system%/*}-${system#*/}$extension" ./cmd/windtunnel
done
(cd dist && sha256sum -- * > SHA256SUMS && cat SHA256SUMS)

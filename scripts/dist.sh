#!/usr/bin/env bash
# Static binaries for Linux on amd64 and arm64, with checksums.
set -euo pipefail
flags=$1
rm -rf dist && mkdir dist
for arch in amd64 arm64; do
	for program in windtunnel vrouter; do
		CGO_ENABLED=0 GOOS=linux GOARCH=$arch go build -trimpath -ldflags "$flags" -o "dist/$program-linux-$arch" "./cmd/$program"
	done
done
(cd dist && sha256sum -- * > SHA256SUMS && cat SHA256SUMS)

#!/usr/bin/env bash
# Installs the programs that tests and checks run beside ours, those that are missing.
set -euo pipefail
missing=()
need() { command -v "$1" >/dev/null 2>&1 || missing+=("$2"); }
need iperf3 iperf3
need tshark tshark
need clang-19 clang-19
need llvm-strip-19 llvm-19
need clang-format-19 clang-format-19
need ip iproute2
need cc gcc
[ -e /usr/include/bpf/bpf_helpers.h ] || missing+=(libbpf-dev)
[ ${#missing[@]} -eq 0 ] && exit 0
if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
	echo "missing for the tests: ${missing[*]} (install them, or run this as root on Debian)" >&2
	exit 0 # the tests that need them say so and skip
fi
echo "installing ${missing[*]}"
if ! { apt-get update -qq &&
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null; }; then
	echo "could not install ${missing[*]}: the tests that need them say so and skip" >&2
fi

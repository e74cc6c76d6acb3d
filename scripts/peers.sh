#!/usr/bin/env bash
# Installs the programs that tests and checks run beside ours, those that are missing.
set -euo pipefail
missing=()
need() { command -v "$1" >/dev/null 2>&1 || missing+=("$2"); }
need iperf3 iperf3
[ -x /usr/sbin/sshd ] || missing+=(openssh-server)
need ssh openssh-client
need nuttcp nuttcp
need sockperf sockperf
need openssl openssl
need tshark tshark
need clang-19 clang-19
need llvm-strip-19 llvm-19
# libFuzzer and the sanitizers, which clang only recommends.
compgen -G '/usr/lib/llvm-19/lib/clang/19/lib/linux/libclang_rt.fuzzer-*.a' >/dev/null || missing+=(libclang-rt-19-dev)
need clang-format-19 clang-format-19
need ip iproute2
need ethtool ethtool # a second witness of what a device is set to
need ovs-vswitchd openvswitch-switch
need dockerd docker.io
need iptables iptables
need podman podman
need chromium chromium # opens the reports' pages
need dpdk-testpmd dpdk-dev # a parser of rte_flow's rules
need cc gcc
# An older kernel in a guest: scripts/kernels.sh; virtual machines as endpoints.
need qemu-system-x86_64 qemu-system-x86
need xz xz-utils
# What the poll mode is built with and on: scripts/poll.sh.
need meson meson
need ninja ninja-build
need pkg-config pkg-config
pkg-config --exists libdpdk 2>/dev/null || missing+=(libdpdk-dev)
[ -e /usr/include/bpf/bpf_helpers.h ] || missing+=(libbpf-dev)
[ -x /usr/lib/wine/wine64 ] || need wine64 wine64 # Debian keeps it off the PATH
[ ${#missing[@]} -eq 0 ] && exit 0
if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
	echo "missing for the tests: ${missing[*]} (install them, or run this as root on Debian)" >&2
	exit 0 # the tests that need them say so and skip
fi
echo "installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
install() { apt-get install -y -qq --no-install-recommends "$@" >/dev/null; }
# These packages start system-wide daemons, which nothing here uses.
quiet() {
	[[ " ${missing[*]} " != *" openvswitch-switch "* ]] || systemctl disable --now openvswitch-switch || true
	[[ " ${missing[*]} " != *" openssh-server "* ]] || systemctl disable --now ssh || true
	[[ " ${missing[*]} " != *" docker.io "* ]] || systemctl disable --now docker.socket docker containerd || true
	[[ " ${missing[*]} " != *" podman "* ]] || systemctl disable --now podman.socket podman-auto-update.timer podman-restart || true
} >/dev/null 2>&1
trap quiet EXIT
apt-get update -qq || true
install "${missing[@]}" 2>/dev/null && exit 0
# One that cannot be had must not keep the others away.
for package in "${missing[@]}"; do
	install "$package" || echo "could not install $package: the tests that need it say so and skip" >&2
done

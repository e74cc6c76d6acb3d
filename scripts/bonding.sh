#!/usr/bin/env bash
# Runs the tests of bonding devices in a guest (guest.sh), whose kernel has them as a module that nobody has loaded.
# Nothing of this machine's is touched.
#
#   bonding.sh [-kernel KERNEL] [-run REGEX] [-minutes N]
#
# KERNEL is a version, 6.6 or later, or a package's file. It ends with 3 where QEMU or the package cannot be had.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/guest.sh

usage() { sed -n '5,7s/^# \{0,3\}//p' "$0" >&2; exit 2; }
kernel=6.12 run='^TestBond' minutes=20
guest_options "-kernel -run -minutes" "$@"

guest_begin
guest_kernel "$kernel"
echo "bonding: building the tests"
CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o "$root/windtunnel/bin/" ./cmd/windtunnel ./cmd/vrouter
mkdir -p "$root/windtunnel/tests/e2e"
tags=e2e
guest_tests ./testbed/netns ./tests/e2e
ln -s bin "$root/sbin" # where the kernel looks for modprobe
cat >"$root/before" <<'BEFORE'
mount -t tmpfs tmpfs /run
rmmod bonding && ! ip link show bond0 2>/dev/null && echo "guest: bonds are a module that is not loaded"
where=/windtunnel/tests/e2e # whose programs are in ../../bin
BEFORE
# A CPU of a thousand million instructions a second: what the tests wait for is there in time on any machine. One without cmpxchg16b: with it
# the guest's kernel fell over in kmem_cache_alloc_node, which uses it, with flags that no CPU has (QEMU 7.2).
accelerator=tcg,thread=single
guest_boot "$minutes" "veth bridge bonding sch_ingress cls_bpf act_bpf" "BONDING_BUDGET=60s" "-test.run '$run'" \
	-m 2048 -cpu Nehalem,-cx16 -icount shift=0,sleep=off -rtc clock=vm -append "console=ttyS0 quiet panic=-1 mitigations=off"

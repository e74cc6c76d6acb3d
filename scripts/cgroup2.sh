#!/usr/bin/env bash
# Runs the end-to-end tests of a Docker engine's limits in a guest (guest.sh) that has control groups of version 2 alone.
# Nothing of this machine's is touched.
#
#   cgroup2.sh [-kernel KERNEL] [-run REGEX] [-minutes N]
#
# KERNEL is a version or a package's file. It ends with 3 where Docker, QEMU or the package cannot be had.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/guest.sh

usage() { sed -n '5,7s/^# \{0,3\}//p' "$0" >&2; exit 2; }
kernel=6.12 run='^(TestContainersHaveTheirLimits|TestAnEngineDiesWithItsRun)$' minutes=20
guest_options "-kernel -run -minutes" "$@"

for tool in dockerd containerd containerd-shim-runc-v2 runc docker-proxy docker-init iptables; do
	command -v "$tool" >/dev/null || guest_lacks "$tool is missing: install Debian's docker.io and iptables"
done
guest_begin
guest_kernel "$kernel"
echo "cgroup2: building the tests"
CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o "$root/windtunnel/bin/" ./cmd/windtunnel ./cmd/vrouter
mkdir -p "$root/windtunnel/tests/e2e"
tags=e2e
guest_tests ./tests/e2e
# iptables finds its matches and targets by itself.
extensions=$(echo /usr/lib/*/xtables)
guest_carry $(for tool in dockerd containerd containerd-shim-runc-v2 runc docker-proxy docker-init iptables ip6tables; do command -v "$tool"; done) \
	"$extensions"/*.so
ln -s bin "$root/sbin"
echo 'root:x:0:0:root:/tmp:/bin/sh' >"$root/etc/passwd"
echo 'root:x:0:' >"$root/etc/group"
cat >"$root/before" <<'BEFORE'
mount -t tmpfs tmpfs /run
mkdir -p /dev/pts /dev/shm /dev/mqueue /var
ln -s /run /var/run
mount -t devpts devpts /dev/pts
mount -t cgroup2 cgroup2 /sys/fs/cgroup
where=/windtunnel/tests/e2e # whose programs are in ../../bin
echo "guest: control groups of version 2 with $(cat /sys/fs/cgroup/cgroup.controllers)"
BEFORE
# A CPU of a thousand million instructions a second: what the tests wait for is there in time on any machine. It is one without
# cmpxchg16b, as bonding.sh's is and for its reason.
accelerator=tcg,thread=single
guest_boot "$minutes" "overlay crc32c_generic veth bridge br_netfilter macvlan nf_tables nft_compat nft_chain_nat xt_conntrack xt_MASQUERADE xt_addrtype
	xt_nat xt_tcpudp xt_mark ipt_REJECT nf_conntrack_netlink sch_ingress cls_bpf act_bpf" \
	"PATH=/bin:/usr/bin:/usr/sbin LIMITS_BUDGET=60s" "-test.run '$run'" \
	-m 4096 -cpu Nehalem,-cx16 -icount shift=0,sleep=off -rtc clock=vm -append "console=ttyS0 quiet panic=-1 mitigations=off"

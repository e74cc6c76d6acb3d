#!/usr/bin/env bash
# Runs the vRouter's tests in a guest with another kernel (guest.sh).
#
#   kernels.sh KERNEL [-run REGEX] [-minutes N] [-packages "kernel vrouter"]
#
# KERNEL is a Debian package of a kernel (a file), or a version such as 6.1, of which the newest
# package that apt knows is taken; it ends with 3 when there is none.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/guest.sh

usage() { sed -n '4,7s/^# \{0,3\}//p' "$0" >&2; exit 2; }
[ $# -ge 1 ] || usage
kernel=$1 run=. minutes=30 packages="kernel vrouter"
shift
guest_options "-run -minutes -packages" "$@"

# What the guest's tests may ask the kernel for. One that a kernel has not got is a skip there.
modules="veth tun bridge vxlan tcp_bbr sch_ingress cls_bpf act_bpf cls_matchall act_tunnel_key
	fou fou6 ip_gre ip6_gre ipip ip6_tunnel mpls_router mpls_iptunnel bareudp"

guest_begin
guest_kernel "$kernel"
echo "kernels: building the tests"
CGO_ENABLED=0 go build -o "$root/tests/vrouter" ./cmd/vrouter
for package in $packages; do
	folder=./vrouter/$package
	[ "$package" = vrouter ] && folder=./vrouter
	guest_tests "$folder"
done
# Tests find their data by the path that they were compiled in.
mkdir -p "$root$PWD/vrouter/core"
cp -r vrouter/core/testdata "$root$PWD/vrouter/core"
cp vrouter/README.md "$root$PWD/vrouter"
cp vrouter/core/*.h "$root$PWD/vrouter/core"
guest_boot "$minutes" "$modules" "VROUTER_PROGRAM=/tests/vrouter BULK=2000000" "-test.run '$run'" \
	-m 3072 -append "console=ttyS0 quiet panic=-1 mitigations=off"

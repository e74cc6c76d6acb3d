#!/usr/bin/env bash
# Runs the test of what hosts' interfaces are set to by their own drivers in a guest (guest.sh), at virtio-net with several queues, with
# and without a table by which it spreads flows over them. Nothing of this machine's is touched.
#
#   nicqueues.sh [-kernel KERNEL] [-minutes N]
#
# KERNEL is a version, 5.18 or later, or a package's file. It ends with 3 where QEMU or the package cannot be had.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/guest.sh

usage() { sed -n '5,7s/^# \{0,3\}//p' "$0" >&2; exit 2; }
kernel=6.1 minutes=10
guest_options "-kernel -minutes" "$@"

guest_begin
guest_kernel "$kernel"
echo "nicqueues: building the test"
guest_tests ./testbed/netns
cat >"$root/before" <<'BEFORE'
mount -t tmpfs tmpfs /run
ip link set eth0 name data && ip address add 10.0.0.2/24 dev data && ip link set data up
BEFORE
# Of QEMU's networks only taps have several queues; theirs are in a network namespace that ends with it.
mkdir "$work/bin"
printf '#!/bin/sh\nexec unshare -n %s "$@"\n' "$(command -v qemu-system-x86_64)" >"$work/bin/qemu-system-x86_64"
chmod +x "$work/bin/qemu-system-x86_64"
export PATH=$work/bin:$PATH
for rss in on off; do
	echo "nicqueues: virtio-net, its table $rss"
	guest_boot "$minutes" "virtio_pci virtio_net veth bridge" "NIC_QUEUES=1" "-test.run '^TestQueuesOfADriver$'" \
		-m 1024 -netdev tap,id=n,ifname=t0,script=no,downscript=no,queues=2 \
		-device "virtio-net-pci,netdev=n,mq=on,vectors=6,hash=$rss,rss=$rss" \
		-append "console=ttyS0 quiet panic=-1 mitigations=off no_timer_check"
done

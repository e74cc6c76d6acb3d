#!/usr/bin/env bash
# Runs the tests of PCI ports in a guest (guest.sh) that has NICs of the models e1000e and vmxnet3: both of
# a wire the kernel's, both DPDK's by vfio-pci, or one and one. An IOMMU is between them and the
# guest's memory. Nothing of this machine's is touched.
#
#   pci.sh [-kernel KERNEL] [-run REGEX] [-minutes N] [-packages "vrouter frame"]
#
# KERNEL is a version, 6.6 or later, or a package's file. It ends with 3
# where QEMU, DPDK or the package cannot be had.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/guest.sh

usage() { sed -n '6,9s/^# \{0,3\}//p' "$0" >&2; exit 2; }
kernel=6.12 run=PCI minutes=20 packages="vrouter frame"
guest_options "-kernel -run -minutes -packages" "$@"

bash scripts/poll.sh || {
	code=$?
	[ $code != 77 ] || code=3
	exit $code
}
guest_begin
guest_kernel "$kernel"

# Programs of DPDK's, and drivers that they find.
drivers=$(echo "$(pkg-config --variable=libdir libdpdk)"/dpdk/pmds-*)
programs=("$PWD/bin/vrouter-poll" "$PWD/bin/frame-poll")
for driver in bus_pci bus_vdev mempool_ring net_e1000 net_vmxnet3; do
	programs+=("$drivers/librte_$driver.so")
done
guest_carry "${programs[@]}"
cp bin/vrouter-poll bin/frame-poll "$root/tests"

echo "pci: building the tests"
CGO_ENABLED=0 go build -o "$root/tests/vrouter" ./cmd/vrouter
for package in $packages; do
	case $package in
	vrouter) guest_tests ./vrouter ;;
	frame) guest_tests ./traffic/frame ;;
	*) usage ;;
	esac
done

# Wires of two NICs each: QEMU's hubs pass frames on as they are.
nics=() wires= bind= slot=2
wire() { # MODEL DRIVER-A DRIVER-B
	local ends= driver address
	for driver in "$2" "$3"; do
		address=$(printf '%02x' $slot)
		nics+=(-netdev "hubport,id=n$slot,hubid=$((slot / 2))" -device "$1,netdev=n$slot,addr=0x$address,mac=52:54:00:00:00:$address")
		[ "$driver" = "$1" ] || bind+=" 0000:00:$address.0"
		ends+=,0000:00:$address.0
		slot=$((slot + 1))
	done
	wires+=" $1$ends"
}
for model in e1000e vmxnet3; do
	wire $model $model $model
	wire $model vfio-pci $model
	wire $model vfio-pci vfio-pci
done
# And one that no IOMMU keeps, so that vfio-pci does not take it, behind a port of a root of its own: that
# port's bus has the next number.
alone=0000:21:00.0
nics+=(-device pxb-pcie,id=beside,bus_nr=0x20,bus=pcie.0,bypass_iommu=on -device pcie-root-port,id=away,bus=beside,chassis=1
	-device e1000e,bus=away)
bind+=" $alone"
cat >"$root/before" <<BEFORE
for device in$bind; do
	at=/sys/bus/pci/devices/\$device
	echo vfio-pci >\$at/driver_override
	[ ! -e \$at/driver ] || echo \$device >\$at/driver/unbind
	echo \$device >/sys/bus/pci/drivers_probe 2>/dev/null
	driver=\$(readlink \$at/driver) group=\$(readlink \$at/iommu_group)
	echo "guest: \$device has the driver \${driver##*/} and the IOMMU group \${group##*/}"
done
BEFORE
# The kernel gives its timer few ticks to show up behind an IOMMU, and a busy machine is late (no_timer_check).
guest_boot "$minutes" "e1000e vmxnet3 vfio_pci vfio_iommu_type1 veth tun vxlan tcp_bbr sch_ingress cls_bpf act_bpf" \
	"VROUTER_PROGRAM=/tests/vrouter POLL_PROGRAMS=/tests BULK=500000 NIC_ALONE=$alone 'NIC_WIRES=${wires# }'" "-test.run '$run'" \
	-m 4096 -append "console=ttyS0 quiet panic=-1 mitigations=off intel_iommu=on no_timer_check hugepages=200" \
	-device intel-iommu,aw-bits=48 "${nics[@]}"

package datapath

import (
	"cmp"
	"fmt"
	"net/netip"
	"runtime"
	"slices"

	"windtunnel/result"
	"windtunnel/testbed"
)

// FactVM is what each virtual machine of a cell has.
const FactVM = "vm"

// QEMU is what runs them on a machine of an architecture, by Go's name for it; "": this one's.
func QEMU(architecture string) Program {
	if cmp.Or(architecture, runtime.GOARCH) == "arm64" {
		return Program{Name: "qemu-system-aarch64", Install: "apt-get install qemu-system-arm"}
	}
	return Program{Name: "qemu-system-x86_64", Install: "apt-get install qemu-system-x86"}
}

// tapped adds an interface of a virtual machine whose other end is a tap of its node's. What comes out of a tap
// is worked on by whose thread brings it, vhost's or QEMU's, and these are on the node's own CPUs.
func (l *Layout) tapped(place result.Place, subnet netip.Prefix, address netip.Addr, mtu int) *testbed.Interface {
	inside := l.inside(place, subnet, address, mtu)
	l.vm(place).NICs = append(l.vm(place).NICs, testbed.VNIC{Place: place.Container})
	outside := testbed.Interface{
		Place: place.Node, Device: HostDevice(place.Container), MAC: MAC(1, address), MTU: mtu, Queues: inside.Queues,
	}
	l.Graph.Links = append(l.Graph.Links, testbed.Link{
		Name: "endpoint-" + place.Container, Role: result.RoleEndpoint, Ends: [2]testbed.Interface{inside, outside},
	})
	l.Reach(place.Container, address)
	return &l.Graph.Links[len(l.Graph.Links)-1].Ends[1]
}

// AtSocket adds an interface of a virtual machine at a vhost-user socket, {dir:NAME} being the folder of the
// daemon that listens there.
func (l *Layout) AtSocket(place result.Place, subnet netip.Prefix, address netip.Addr, mtu int, socket string) {
	inside := l.inside(place, subnet, address, mtu)
	v := l.vm(place)
	v.NICs = append(v.NICs, testbed.VNIC{Place: place.Container, Socket: socket, Inside: &inside})
	l.Reach(place.Container, address)
}

// BehindUser adds an interface of a virtual machine with a user-mode network behind it, by which the machine reaches
// everybody.
func (l *Layout) BehindUser(place result.Place, subnet netip.Prefix, address netip.Addr, mtu int, user testbed.UserNetwork) {
	inside := l.inside(place, subnet, address, mtu)
	inside.Routes = []testbed.Route{{Prefix: l.subnet(place.Node).String(), Gateway: user.Gateway}}
	v := l.vm(place)
	v.NICs = append(v.NICs, testbed.VNIC{Place: place.Container, User: &user, Inside: &inside})
}

// inside is an interface as the guest has it.
func (l *Layout) inside(place result.Place, subnet netip.Prefix, address netip.Addr, mtu int) testbed.Interface {
	i := testbed.Interface{
		Place: place.Container, Device: fmt.Sprintf("eth%d", place.NIC), MAC: MAC(0, address),
		Addresses: []string{Within(subnet, address)}, MTU: mtu,
	}
	if l.Request.VM.Queues > 1 {
		i.Queues = l.Request.VM.Queues
	}
	return i
}

// vm is the virtual machine of a place, which is added if it is not there yet.
func (l *Layout) vm(place result.Place) *testbed.VM {
	i := slices.IndexFunc(l.Graph.VMs, func(v testbed.VM) bool { return v.Name == place.VM })
	if i < 0 {
		want := l.Request.VM
		i = len(l.Graph.VMs)
		l.Graph.VMs = append(l.Graph.VMs, testbed.VM{Name: place.VM, Node: place.Node, CPUs: want.CPUs, MemoryBytes: want.MemoryBytes})
		node, _ := l.Graph.Node(place.Node)
		l.NeedAt(place.Node, QEMU(node.Architecture))
		l.Fact(FactVM, fmt.Sprintf("%d CPUs, %d MiB of memory, %d queues", want.CPUs, want.MemoryBytes>>20, want.Queues))
	}
	return &l.Graph.VMs[i]
}

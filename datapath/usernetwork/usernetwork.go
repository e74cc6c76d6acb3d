// Package usernetwork is the path through QEMU's own network stack: what a virtual machine sends is sent anew by
// sockets of its node, which needs no rights there, and ports of the node lead into the machine.
package usernetwork

import (
	"cmp"
	"net/netip"

	"windtunnel/datapath"
	"windtunnel/result"
	"windtunnel/testbed"
)

// Path lays virtual machines behind their own QEMU's network stack.
type Path struct{}

var _ datapath.Path = Path{}

// Name is the suite's word.
func (Path) Name() string { return "user-network" }

// Says describes it.
func (Path) Says() string {
	return "virtual machines behind QEMU's user-mode NAT: out by their node's sockets, in by its ports"
}

const (
	optionPort = "port"
	firstPort  = 5201
	// maxMTU is the largest that QEMU's stack has: IF_MTU_MAX in libslirp's slirp.h.
	maxMTU = 65521
)

// Options are where the node's ports begin.
func (Path) Options() []result.Option {
	return []result.Option{{
		Name: optionPort, Type: result.Count, Min: 1, Max: 65000, Default: int64(firstPort),
		Says: "the first port of a node that leads into a virtual machine",
	}}
}

// What QEMU gives a guest by itself (its option -netdev user): the network, the guest's address, and the gateway, which is
// QEMU's stack.
var (
	subnet  = netip.MustParsePrefix("10.0.2.0/24")
	gateway = netip.MustParseAddr("10.0.2.2")
	guest   = netip.MustParseAddr("10.0.2.15")
)

// Lay joins the nodes by the wire, and gives each machine an interface of QEMU's stack.
func (p Path) Lay(r datapath.Request) (datapath.Laid, error) {
	l, err := datapath.Begin(p.Name(), r)
	if err != nil {
		return datapath.Laid{}, err
	}
	if err := check(l); err != nil {
		return datapath.Laid{}, err
	}
	if err := l.Joins(); err != nil {
		return datapath.Laid{}, err
	}
	mtu := min(r.Wire.MTU, maxMTU)
	forward := map[string][]int{}
	next := int(cmp.Or(r.Options.Int(optionPort), firstPort))
	for i, pair := range r.Pairs {
		if pair.To.VM == "" {
			l.Reach(pair.To.Name(), l.Node(pair.To.Node))
			continue
		}
		forward[pair.To.VM] = append(forward[pair.To.VM], next, next+1)
		l.Publish(i, datapath.Published{Address: l.Node(pair.To.Node), Port: next, Beside: next + 1})
		next += 2
	}
	if next > 65536 {
		return datapath.Laid{}, l.Errorf("its pairs need the ports up to %d, and 65535 is the last: begin lower", next-1)
	}
	laid := map[string]bool{}
	for _, pair := range r.Pairs {
		for _, place := range []result.Place{pair.From, pair.To} {
			if place.VM != "" && !laid[place.VM] {
				laid[place.VM] = true
				l.BehindUser(place, subnet, guest, mtu, testbed.UserNetwork{Subnet: subnet.String(), Gateway: gateway.String(), Forward: forward[place.VM]})
			}
		}
	}
	return l.Finish(mtu)
}

// check refuses what QEMU's stack does not carry.
func check(l *datapath.Layout) error {
	r := l.Request
	if r.Frames {
		return l.Errorf("raw frames do not pass QEMU's stack, which sends everything anew: take the traffic stream, datagram or ping")
	}
	if r.VM.Queues > 1 {
		return l.Errorf("QEMU's stack has one queue: take `vm: {queues: 1}`")
	}
	machines := 0
	for _, pair := range r.Pairs {
		for _, place := range []result.Place{pair.From, pair.To} {
			switch {
			case place.VM == "" && place.Container != "":
				return l.Errorf("%s is a container, and it joins virtual machines and nodes: write {vm: %s, on: %s}", place.Container, place.Container, place.Node)
			case place.NIC > 0:
				return l.Errorf("%s is a second interface, and both would have the same address: take the first", place.Name())
			case place.VM != "":
				machines++
			}
		}
		if (pair.To.VM == "") != (r.Pairs[0].To.VM == "") {
			return l.Errorf("%s receives in a machine, or in a node's own stack, and others do not: make a cell of each", pair.To.Name())
		}
	}
	if machines == 0 {
		return l.Errorf("no end is a virtual machine, and it is about those: write {vm: NAME, on: NODE}, or take the path wire")
	}
	return nil
}

// Package usernetwork is the path through a network that a program makes for a virtual machine, QEMU itself or passt: what the
// machine sends is sent anew by sockets of its node, which needs no rights there, and ports of the node lead into the machine.
package usernetwork

import (
	"cmp"
	"net/netip"

	"windtunnel/datapath"
	"windtunnel/result"
	"windtunnel/testbed"
)

// Path lays virtual machines behind user-mode networks.
type Path struct{}

var _ datapath.Path = Path{}

// OverHosts says that real hosts will do.
func (Path) OverHosts() {}

// Name is the suite's word.
func (Path) Name() string { return "user-network" }

// Says describes it.
func (Path) Says() string {
	return "virtual machines behind user-mode NAT, QEMU's or passt's: out by their node's sockets, in by its ports"
}

const (
	optionPort = "port"
	firstPort  = 5201

	optionBy = "by"
	byQEMU   = "qemu"
	byPasst  = "passt"
)

// largest is the largest MTU of each: IF_MTU_MAX in libslirp's slirp.h, and passt's own default, which leaves room for Ethernet's
// header in a frame whose length its sockets tell (its option --mtu).
var largest = map[string]int{byQEMU: 65521, byPasst: 65520}

// Options are who makes the network, and where the node's ports begin.
func (Path) Options() []result.Option {
	return []result.Option{{
		Name: optionPort, Type: result.Count, Min: 1, Max: 65000, Default: int64(firstPort),
		Says: "the first port of a node that leads into a virtual machine",
	}, {
		Name: optionBy, Type: result.Word, Words: []string{byQEMU, byPasst}, Default: byQEMU,
		Says: "who sends anew what a machine sends: QEMU's own stack, or passt, a program beside it",
	}}
}

// subnets are where guests are: the first is what QEMU gives them by itself (its option -netdev user), and others are for hosts
// that have addresses of it.
var subnets = []netip.Prefix{netip.MustParsePrefix("10.0.2.0/24"), netip.MustParsePrefix("192.168.2.0/24"), netip.MustParsePrefix("172.30.2.0/24")}

// The host numbers there, as QEMU has them: of the gateway, which is its own stack, and of the guest. passt is told the same.
const (
	gateway = 2
	guest   = 15
)

// Lay joins the nodes by the wire, and gives each machine an interface of a user-mode network.
func (p Path) Lay(r datapath.Request) (datapath.Laid, error) {
	l, err := datapath.Begin(p.Name(), r)
	if err != nil {
		return datapath.Laid{}, err
	}
	if err := check(l); err != nil {
		return datapath.Laid{}, err
	}
	return lay(l, cmp.Or(r.Options.Text(optionBy), byQEMU), func(string, []int) {})
}

// lay puts every machine behind a network of by's, and publishes two ports of its node for each of its receivers. Inside adds
// what else is to be in a machine to which these ports lead.
func lay(l *datapath.Layout, by string, inside func(machine string, ports []int)) (datapath.Laid, error) {
	if err := l.Joins(); err != nil {
		return datapath.Laid{}, err
	}
	mtu := min(l.Request.Wire.MTU, largest[by])
	subnet, err := l.Apart(subnets...)
	if err != nil {
		return datapath.Laid{}, err
	}
	forward, err := publish(l, func(pair result.Pair) netip.Addr { return l.Node(pair.To.Node) })
	if err != nil {
		return datapath.Laid{}, err
	}
	for _, place := range machines(l.Request) {
		l.BehindUser(place, subnet, datapath.Host(subnet, guest), mtu, network(l, by, place.Node, subnet, forward[place.VM]))
		inside(place.VM, forward[place.VM])
	}
	return l.Finish(mtu)
}

// network is the user-mode network of a machine.
func network(l *datapath.Layout, by, node string, subnet netip.Prefix, forward []int) testbed.UserNetwork {
	u := testbed.UserNetwork{Subnet: subnet.String(), Gateway: datapath.Host(subnet, gateway).String(), Forward: forward}
	if by == byPasst {
		u.By, u.Device = testbed.UserByPasst, l.NIC(node)
		l.NeedAt(node, datapath.Program{Name: "passt", Install: "apt-get install passt"})
	}
	l.Fact("user-mode network", by)
	return u
}

// publish deals out the ports of machines that receive, by their names, and notes where each pair's receiver is reached, a
// machine's at ports of that address.
func publish(l *datapath.Layout, at func(result.Pair) netip.Addr) (map[string][]int, error) {
	forward := map[string][]int{}
	next := int(cmp.Or(l.Request.Options.Int(optionPort), firstPort))
	for i, pair := range l.Request.Pairs {
		if pair.To.VM == "" {
			l.Reach(pair.To.Name(), at(pair))
			continue
		}
		forward[pair.To.VM] = append(forward[pair.To.VM], next, next+1)
		l.Publish(i, datapath.Published{Address: at(pair), Port: next, Beside: next + 1})
		next += 2
	}
	if next > 65536 {
		return nil, l.Errorf("its pairs need the ports up to %d, and 65535 is the last: begin lower", next-1)
	}
	return forward, nil
}

// machines are those of the pairs, each once.
func machines(r datapath.Request) (all []result.Place) {
	laid := map[string]bool{}
	for _, pair := range r.Pairs {
		for _, place := range []result.Place{pair.From, pair.To} {
			if place.VM != "" && !laid[place.VM] {
				laid[place.VM] = true
				all = append(all, place)
			}
		}
	}
	return all
}

// check refuses what such a network does not carry.
func check(l *datapath.Layout) error {
	r := l.Request
	if r.Frames {
		return l.Errorf("raw frames do not pass a user-mode network, which sends everything anew: take the traffic stream, datagram or ping")
	}
	if r.VM.Queues > 1 {
		return l.Errorf("a user-mode network has one queue: take `vm: {queues: 1}`")
	}
	return ends(l)
}

// ends refuses pairs whose ends it does not join.
func ends(l *datapath.Layout) error {
	r := l.Request
	for _, pair := range r.Pairs {
		for _, place := range []result.Place{pair.From, pair.To} {
			switch {
			case place.VM == "" && place.Container != "":
				return l.Errorf("%s is a container, and it joins virtual machines and nodes: write {vm: %s, on: %s}", place.Container, place.Container, place.Node)
			case place.NIC > 0:
				return l.Errorf("%s is a second interface, and both would have the same address: take the first", place.Name())
			}
		}
		if (pair.To.VM == "") != (r.Pairs[0].To.VM == "") {
			return l.Errorf("%s receives in a machine, or in a node's own stack, and others do not: make a cell of each", pair.To.Name())
		}
	}
	if len(machines(r)) == 0 {
		return l.Errorf("no end is a virtual machine, and it is about those: write {vm: NAME, on: NODE}, or take the path wire")
	}
	return nil
}

package datapath

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"windtunnel/result"
	"windtunnel/testbed"
)

// PollPort is an endpoint of raw frames at a vhost-user socket, where a data plane listens.
type PollPort struct {
	Place   result.Place
	Address netip.Prefix // with its subnet's length
	NextHop string       // the MAC that its frames are addressed to
	MTU     int
	Socket  string         // with {dir:NAME} of the data plane's daemon
	MAC     string         // the endpoint's, if it is not made of the address
	Tunnel  *result.Tunnel // of the far end of a fabric; nil: a port of the endpoint's own
}

// SegmentPort is the i-th container at a port, with an address of the nodes' own subnet; what it
// sends is for the container of number peer.
func SegmentPort(place result.Place, i, peer, mtu int, socket string) PollPort {
	return PollPort{Place: place, Address: netip.PrefixFrom(containerHost(i), Underlay.Bits()),
		NextHop: SegmentMAC(peer), MTU: mtu, Socket: socket}
}

// testerProgram sends and counts frames at vhost-user sockets.
const testerProgram = "frame-poll"

// AtPorts adds a node's endpoints at vhost-user sockets and, behind the daemons that
// are there, the process that has those ports, on the first of the node's CPUs. It returns
// that process, if there is one, valid until the next piece is added.
func (l *Layout) AtPorts(node testbed.Node, ports []PollPort) *testbed.Daemon {
	if len(ports) == 0 {
		return nil
	}
	tester, socket := "tester-"+node.Name, "{dir}/tester.sock"
	args := []string{socket, "0"}
	if len(node.CPUs) > 0 {
		args[1] = strconv.Itoa(node.CPUs[0])
	}
	if flag := l.yields(node, ports); flag != "" {
		args = append([]string{flag}, args...)
	}
	counts := false
	for _, p := range ports {
		if l.generates(p.Place) {
			l.atSocket(node, p)
			continue
		}
		counts = true
		name, mac := p.Place.Container, cmp.Or(p.MAC, MAC(0, p.Address.Addr()))
		args = append(args, fmt.Sprintf("%s=%s,%s", name, mac, p.Socket))
		l.Graph.Containers = append(l.Graph.Containers, testbed.Container{Name: name, Node: node.Name})
		l.Graph.Ports = append(l.Graph.Ports, testbed.Port{
			Name: "endpoint-" + name, Place: name, Tester: tester,
			MAC: mac, NextHop: p.NextHop, Address: p.Address.String(), MTU: p.MTU, Tunnel: p.Tunnel,
		})
		l.Reach(name, p.Address.Addr())
	}
	if !counts {
		return nil
	}
	l.Graph.Daemons = append(l.Graph.Daemons, testbed.Daemon{
		Name: tester, Node: node.Name, Program: testerProgram, Args: args, Socket: socket,
	})
	l.NeedAt(node.Name, Program{Name: testerProgram, Install: "build it with `make poll`"})
	return &l.Graph.Daemons[len(l.Graph.Daemons)-1]
}

// generates tells whether a program of others sends at a place.
func (l *Layout) generates(place result.Place) bool {
	return l.Request.Generator.Name != "" && slices.ContainsFunc(l.Request.Pairs, func(p result.Pair) bool { return p.From == place })
}

// generatorCPU is where a generator runs: on the second of the node's CPUs, if the data plane has the last one for
// itself then; else with what counts, on the first.
func generatorCPU(node testbed.Node) []int {
	switch len(node.CPUs) {
	case 0:
		return nil
	case 1, 2:
		return node.CPUs[:1]
	}
	return node.CPUs[1:2]
}

// yields is how a tester lets others have its CPU: to a data plane it gives it as often as it finds nothing, and
// beside a generator, which never rests, it sleeps.
func (l *Layout) yields(node testbed.Node, ports []PollPort) string {
	beside := slices.ContainsFunc(ports, func(p PollPort) bool { return l.generates(p.Place) })
	switch {
	case beside && len(node.CPUs) < 3:
		return "--sleeps"
	case len(node.CPUs) < 2:
		return "--shares"
	}
	return ""
}

// atSocket adds an endpoint at whose port a generator of others will be.
func (l *Layout) atSocket(node testbed.Node, p PollPort) {
	name := p.Place.Container
	l.Graph.Containers = append(l.Graph.Containers, testbed.Container{Name: name, Node: node.Name})
	l.Graph.Ports = append(l.Graph.Ports, testbed.Port{
		Name: "endpoint-" + name, Place: name, Socket: p.Socket, CPUs: generatorCPU(node),
		MAC: cmp.Or(p.MAC, MAC(0, p.Address.Addr())), NextHop: p.NextHop, Address: p.Address.String(), MTU: p.MTU, Tunnel: p.Tunnel,
	})
	l.Reach(name, p.Address.Addr())
	l.NeedAt(node.Name, l.Request.Generator)
}

package datapath

import (
	"cmp"
	"fmt"
	"net/netip"
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
	if len(node.CPUs) < 2 {
		args = append([]string{"--shares"}, args...)
	}
	for _, p := range ports {
		name, mac := p.Place.Container, cmp.Or(p.MAC, MAC(0, p.Address.Addr()))
		args = append(args, fmt.Sprintf("%s=%s,%s", name, mac, p.Socket))
		l.Graph.Containers = append(l.Graph.Containers, testbed.Container{Name: name, Node: node.Name})
		l.Graph.Ports = append(l.Graph.Ports, testbed.Port{
			Name: "endpoint-" + name, Place: name, Tester: tester,
			MAC: mac, NextHop: p.NextHop, Address: p.Address.String(), MTU: p.MTU, Tunnel: p.Tunnel,
		})
		l.Reach(name, p.Address.Addr())
	}
	l.Graph.Daemons = append(l.Graph.Daemons, testbed.Daemon{
		Name: tester, Node: node.Name, Program: testerProgram, Args: args, Socket: socket,
	})
	l.Need(Program{Name: testerProgram, Install: "build it with `make poll`"})
	return &l.Graph.Daemons[len(l.Graph.Daemons)-1]
}

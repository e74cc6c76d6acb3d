//go:build linux

package agent

import (
	"slices"

	"windtunnel/agent/proto"
	"windtunnel/testbed"
)

// atPort tells a request for a place what port that has, if it has one, and lets the port choose the
// CPUs.
func (n *node) atPort(ask *proto.Request) {
	port := n.config.Backend.Port(ask.Cell, ask.Place)
	if ask.Order != nil {
		order := *ask.Order
		if order.Port = port; port != nil && len(port.CPUs) > 0 {
			order.CPUs = port.CPUs
		}
		ask.Order = &order
	}
	if ask.Probe != nil {
		probe := *ask.Probe
		probe.Port = port
		ask.Probe = &probe
	}
}

// What testers may take of huge pages, together. The kernel makes them when a tester asks and
// takes them back when it ends, however it does (nr_overcommit_hugepages in
// Documentation/admin-guide/mm/hugetlbpage.rst), so nothing is reserved and only the limit is a
// setting that could be left behind. It is the same for all agents of a host, of which the
// first one raises it and puts it back.
const (
	hugeLimitFile  = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_overcommit_hugepages"
	hugeLimitPages = 2048
)

// polled reports whether a tester of this node is in the graph, or a virtual machine at a socket.
func (n *node) polled(g testbed.Graph) bool {
	for _, p := range g.Ports {
		if g.NodeOf(p.Place) == n.config.Name && p.Tester != "" {
			return true
		}
	}
	for _, v := range g.Part(n.config.Name).VMs {
		if slices.ContainsFunc(v.NICs, func(nic testbed.VNIC) bool { return nic.Socket != "" }) {
			return true
		}
	}
	return false
}

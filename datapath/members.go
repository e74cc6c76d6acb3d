package datapath

import (
	"net/netip"
	"slices"

	"windtunnel/result"
	"windtunnel/testbed"
)

// Links is by how many links a path with these options joins two nodes, so many interfaces real hosts have to have for it: paths that take
// several say so by a method Links.
func Links(p Path, o result.Options) int {
	if several, does := p.(interface{ Links(result.Options) int }); does {
		return several.Links(o)
	}
	return 1
}

// takeMembers has real hosts' nodes use so many of their interfaces for data.
func (l *Layout) takeMembers(count int) error {
	for i := range l.Graph.Nodes {
		n := &l.Graph.Nodes[i]
		asked := l.Request.Nodes[slices.IndexFunc(l.Request.Nodes, func(r testbed.Node) bool { return r.Name == n.Name })]
		if have := len(asked.NICs()); have < count {
			return l.Errorf("node %s has %d interfaces for data, and %d links join the nodes: name an address of each", n.Name, have, count)
		}
		n.Members = slices.Clone(asked.Members[:count-1])
		for _, nic := range n.Members {
			if address, err := netip.ParsePrefix(nic.Address); err != nil || !address.Addr().Is4() {
				return l.Errorf("node %s: its data address %q is no IPv4 address with its prefix length, like 10.0.0.1/24", n.Name, nic.Address)
			}
		}
	}
	return nil
}

// MemberNIC is a node's end of the n-th of several links, from 0. Wires has been called.
func (l *Layout) MemberNIC(node string, member int) string {
	if found, ok := l.HostNIC(node, member); ok {
		return found.Device
	}
	return nic(member)
}

// HostNIC is that end of a real host, as it was found; false of a simulated node.
func (l *Layout) HostNIC(node string, member int) (testbed.NIC, bool) {
	n, _ := l.Graph.Node(node)
	if found := n.NICs(); member < len(found) {
		return found[member], true
	}
	return testbed.NIC{}, false
}

// networksOf are those of a node's ends of wires.
func networksOf(n testbed.Node) []netip.Prefix {
	all := []netip.Prefix{subnetOf(n)}
	for _, nic := range n.Members {
		all = append(all, netip.MustParsePrefix(nic.Address).Masked()) // takeMembers has read it
	}
	return all
}

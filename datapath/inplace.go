package datapath

import (
	"fmt"
	"net/netip"
	"slices"

	"windtunnel/result"
	"windtunnel/testbed"
)

// OnHosts tells whether the layout's nodes are real hosts' own stacks.
func (l *Layout) OnHosts() bool { return l.inPlace }

// NotHere notes why the hosts are not as the cell asks. The first reason stays.
func (l *Layout) NotHere(format string, args ...any) {
	if l.notHere == "" {
		l.notHere = fmt.Sprintf(format, args...)
	}
}

// Doubt notes one about the cell, once.
func (l *Layout) Doubt(kind, says string) {
	if doubt := (result.Doubt{Kind: kind, Says: says}); !slices.Contains(l.doubts, doubt) {
		l.doubts = append(l.doubts, doubt)
	}
}

// asFound gives the wire the smaller MTU of the hosts' interfaces, which stay as they are.
func (l *Layout) asFound() {
	if l.Joined() && slices.ContainsFunc(l.Graph.Nodes, func(n testbed.Node) bool { return n.NIC.Virtual }) {
		l.Doubt("virtual-wire",
			"the hosts' interfaces are ends of a virtual pair, and are not made to be as a NIC here, as they are for cells that take them: of the two kinds of cells, each has another wire")
	}
	asked := l.Request.Wire.MTU
	found := 0
	for _, n := range l.Graph.Nodes {
		if mtu := n.NIC.MTU; found == 0 || mtu > 0 && mtu < found {
			found = mtu
		}
	}
	if found == 0 || found == asked {
		return
	}
	l.Request.Wire.MTU = found
	if l.Joined() {
		l.Doubt("mtu", fmt.Sprintf("the wire's MTU is %d and not %d: the hosts' interfaces stay as they are here, since %s", found, asked, l.whyInPlace()))
	}
}

// whyInPlace is why hosts' interfaces stay as they are.
func (l *Layout) whyInPlace() string {
	if l.Request.InPlace {
		return "hosts that are no Linux, and more than two, are measured as they are"
	}
	return "engines use them"
}

// EngineMTU is the largest packet that passes both the wire and the default bridges of the layout's engines.
func (l *Layout) EngineMTU() int {
	mtu := l.Request.Wire.MTU
	for _, e := range l.Graph.Engines {
		n, _ := l.Graph.Node(e.Node)
		if bridge := hostEngine(n).MTU; l.inPlace && bridge > 0 {
			mtu = min(mtu, bridge)
		}
	}
	return mtu
}

// HostProxy is whether a host's engine has the userland proxy, "" where that is not known, or the engine is the
// testbed's, which is started as it is asked for.
func (l *Layout) HostProxy(node string) string {
	n, _ := l.Graph.Node(node)
	if !n.InPlace {
		return ""
	}
	return hostEngine(n).Proxy
}

// DataSubnet is the network of the hosts' data addresses.
func (l *Layout) DataSubnet() netip.Prefix {
	return netip.MustParsePrefix(l.Graph.Nodes[0].NIC.Address).Masked() // Begin has read it
}

// Spare are so many addresses of a network, from its end on, that are no node's and not among those taken. Whoever
// uses one asks first whether somebody has it.
func (l *Layout) Spare(network netip.Prefix, count int, taken ...netip.Addr) ([]netip.Addr, error) {
	for _, n := range l.Graph.Nodes {
		taken = append(taken, l.Node(n.Name))
	}
	var spare []netip.Addr
	for a := last(network).Prev(); len(spare) < count; a = a.Prev() { // the last is for broadcasts
		if !a.IsValid() || !network.Contains(a) || a == network.Addr() {
			return nil, l.Errorf("the network %s has no room for %d more addresses", network, count)
		}
		if !slices.Contains(taken, a) {
			spare = append(spare, a)
		}
	}
	return spare, nil
}

// last is a network's last address.
func last(network netip.Prefix) netip.Addr {
	bytes := network.Masked().Addr().As4()
	for i := network.Bits(); i < 32; i++ {
		bytes[i/8] |= 0x80 >> (i % 8)
	}
	return netip.AddrFrom4(bytes)
}

// found is a real host's end of the wire, as it is but for the MTU; in a host's own stack that stays, too. One end of a
// virtual pair is made to be as a NIC.
func (l *Layout) found(node testbed.Node, member int) testbed.Interface {
	nic := node.NICs()[member]
	end := testbed.Interface{Place: node.Name, Device: nic.Device, MTU: l.Request.Wire.MTU, Offloads: map[string]bool{}}
	if nic.Virtual && !node.InPlace {
		asWire(&end, WireNIC)
	}
	return end
}

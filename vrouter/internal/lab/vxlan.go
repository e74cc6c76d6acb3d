package lab

import (
	"net"

	"github.com/vishvananda/netlink"
)

// VXLAN makes the kernel's own VXLAN device over an interface, to one far end, and gives its MAC. Over
// IPv6 it takes packets without an outer checksum in any case (RFC 6935, section 5).
func VXLAN(n *Namespace, name, under string, vni int, local, remote string, checksum bool) string {
	n.t.Helper()
	attributes := netlink.NewLinkAttrs()
	attributes.Name = name
	device := &netlink.Vxlan{
		LinkAttrs: attributes, VxlanId: vni, VtepDevIndex: n.Link(under).Attrs().Index, Port: 4789,
		SrcAddr: net.ParseIP(local), Group: net.ParseIP(remote), UDPCSum: checksum, UDP6ZeroCSumTx: !checksum, UDP6ZeroCSumRx: true,
	}
	n.Must("making the VXLAN device "+name, n.links.LinkAdd(device))
	n.Up(name)
	return n.Link(name).Attrs().HardwareAddr.String()
}

// Neighbour tells an interface who has an address, so that nobody is asked.
func Neighbour(n *Namespace, name, address, hardware string) {
	n.t.Helper()
	n.Must("adding a neighbour", n.links.NeighSet(&netlink.Neigh{
		LinkIndex: n.Link(name).Attrs().Index, State: netlink.NUD_PERMANENT, IP: net.ParseIP(address), HardwareAddr: mac(hardware),
	}))
}

// ForgetNeighbour is the reverse of Neighbour.
func ForgetNeighbour(n *Namespace, name, address string) {
	n.t.Helper()
	n.Must("forgetting a neighbour", n.links.NeighDel(&netlink.Neigh{LinkIndex: n.Link(name).Attrs().Index, IP: net.ParseIP(address)}))
}

// NeighbourOf is the MAC address that an interface knows of an address, "" if it knows none.
func NeighbourOf(n *Namespace, name, address string) string {
	n.t.Helper()
	neighbours, err := n.links.NeighList(n.Link(name).Attrs().Index, netlink.FAMILY_ALL)
	n.Must("listing neighbours", err)
	for _, neighbour := range neighbours {
		if neighbour.IP.Equal(net.ParseIP(address)) {
			return neighbour.HardwareAddr.String()
		}
	}
	return ""
}

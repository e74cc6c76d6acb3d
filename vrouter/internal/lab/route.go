package lab

import "github.com/vishvananda/netlink"

// Route leads a prefix such as 10.0.2.0/24 through a gateway.
func Route(n *Namespace, name, prefix, gateway string) {
	n.t.Helper()
	to, err := netlink.ParseIPNet(prefix)
	n.Must("reading a prefix", err)
	via, err := netlink.ParseIPNet(gateway + "/32")
	n.Must("reading a gateway", err)
	n.Must("adding a route", n.links.RouteAdd(&netlink.Route{LinkIndex: n.Link(name).Attrs().Index, Dst: to, Gw: via.IP}))
}

// Down sets an interface down, and so takes the carrier from its other end.
func Down(n *Namespace, name string) {
	n.t.Helper()
	n.Must("setting down "+name, n.links.LinkSetDown(n.Link(name)))
}

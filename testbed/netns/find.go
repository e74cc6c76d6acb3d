package netns

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"windtunnel/ethtool"
)

// Way is by which interface of a host its data goes.
type Way struct {
	// Address is the host's own on that interface; none: the one by which Toward is reached.
	Address netip.Addr
	Toward  netip.Addr // the other node's, if it is known
	// Near and Far are the ends of the connection that controls this host, which must not go that way.
	Near, Far netip.Addr
}

// FindNIC finds the interface for data on the host's own stack, without touching it. It refuses one that carries the control
// connection. Of one that is in other use it says why it cannot be taken.
func FindNIC(way Way) (n NIC, err error) {
	err = withLinks(func(h *handle) error {
		n, err = findNIC(h, way)
		if err != nil {
			return err
		}
		return refuseDetour(h, n, way.Toward)
	})
	return n, err
}

// FindNICs finds several, each of a network of its own.
func FindNICs(ways []Way) (all []NIC, err error) {
	err = withLinks(func(h *handle) error {
		for _, way := range ways {
			n, err := findNIC(h, way)
			if err != nil {
				return err
			}
			all = append(all, n)
		}
		if err := refuseTwins(all); err != nil { // of two in one network one has the route
			return err
		}
		for i, n := range all {
			if err := refuseDetour(h, n, ways[i].Toward); err != nil {
				return err
			}
		}
		return nil
	})
	return all, err
}

// refuseTwins refuses interfaces for data that are one, or in one network.
func refuseTwins(all []NIC) error {
	for i, n := range all {
		network, err := netip.ParsePrefix(n.Data.Address)
		for _, other := range all[:i] {
			theirs, bad := netip.ParsePrefix(other.Data.Address)
			switch {
			case n.Device == other.Device:
				return fmt.Errorf("the data addresses %s and %s are both of the interface %s: name one address of each interface", other.Data.Address, n.Data.Address, n.Device)
			case errors.Join(err, bad) == nil && network.Overlaps(theirs):
				return fmt.Errorf("the data addresses %s of %s and %s of %s are of one network: each link between two nodes has a network of its own", other.Data.Address, other.Device, n.Data.Address, n.Device)
			}
		}
	}
	return nil
}

func findNIC(h *handle, way Way) (n NIC, err error) {
	if !way.Address.IsValid() {
		if way.Address, err = sourceFor(h, way.Toward); err != nil {
			return n, err
		}
	}
	if !way.Address.Is4() {
		return n, fmt.Errorf("the data address %s is no IPv4 address: paths are laid over IPv4 data addresses", way.Address)
	}
	link, err := ownerOf(h, way.Address)
	if err != nil {
		return n, err
	}
	if err := refuseControl(h, link, way); err != nil {
		return n, err
	}
	if n, err = lookAt(h, link); err != nil {
		return n, err
	}
	if n.Data.Fixed, err = inUse(h, link); err != nil {
		return n, err
	}
	if bound, err := bound(n.Device); err != nil {
		return n, err
	} else if bound {
		n.Data.Fixed = fmt.Sprintf("the interface %s, of the driver %s, cannot be moved to a network namespace: name the address of another one", n.Device, n.Driver)
	}
	n.Data.Address = n.prefixOf(way.Address)
	return n, nil
}

// bound tells whether an interface says that it stays in its network namespace, as one could before Linux 6.12.
func bound(device string) (is bool, err error) {
	err = withEthtool(func(tool *ethtool.Socket) error {
		have, err := tool.Features(device)
		is = have["netns-local"]
		return err
	})
	return is, err
}

func sourceFor(h *handle, toward netip.Addr) (netip.Addr, error) {
	if !toward.IsValid() {
		return netip.Addr{}, errors.New("no data address was given: say ?data=ADDRESS, the host's own in the network for data")
	}
	found, err := h.RouteGet(net.IP(toward.AsSlice()))
	if err != nil || len(found) == 0 {
		return netip.Addr{}, fmt.Errorf("there is no route to the other node's data address %s (%v): say ?data=ADDRESS, this host's own in the network for data", toward, err)
	}
	source, _ := netip.AddrFromSlice(found[0].Src)
	return source.Unmap(), nil
}

// ownerOf is the interface that has an address.
func ownerOf(h *handle, address netip.Addr) (netlink.Link, error) {
	all, err := h.AddrList(nil, netlink.FAMILY_ALL)
	if err != nil {
		return nil, fmt.Errorf("reading the host's addresses: %w", err)
	}
	var have []string
	for _, a := range all {
		if ip, _ := netip.AddrFromSlice(a.IP); ip.Unmap() == address {
			return h.LinkByIndex(a.LinkIndex)
		}
		have = append(have, a.IP.String())
	}
	return nil, fmt.Errorf("no interface has the address %s; this host has %s", address, strings.Join(have, ", "))
}

// refuseControl refuses the interface by which this host is controlled, one on which that stands or
// which stands on it, and one by which it answers.
func refuseControl(h *handle, link netlink.Link, way Way) error {
	name := link.Attrs().Name
	refusal := func(why string) error {
		return fmt.Errorf("data would go over the management network: the interface %s of the data address %s %s; name one of another interface", name, way.Address, why)
	}
	if link.Attrs().Flags&net.FlagLoopback != 0 {
		return refusal("is the loopback interface, which leaves no host")
	}
	if !way.Near.IsValid() || way.Near.IsLoopback() {
		return nil
	}
	control, err := ownerOf(h, way.Near)
	if err != nil {
		return fmt.Errorf("finding the interface of the control connection: %w", err)
	}
	below, err := standsOn(h, control)
	if err != nil {
		return err
	}
	if below[link.Attrs().Index] {
		return refusal(fmt.Sprintf("carries the control connection from %s to %s", way.Far, way.Near))
	}
	answers, err := h.RouteGet(net.IP(way.Far.AsSlice()))
	if err != nil {
		return fmt.Errorf("finding the route of the control connection to %s: %w", way.Far, err)
	}
	for _, r := range answers {
		if r.LinkIndex == link.Attrs().Index {
			return refusal(fmt.Sprintf("has the route to %s, from where this host is controlled", way.Far))
		}
	}
	return nil
}

// standsOn are the indices of a link and of all those that it is made of: ports of a bridge or a bond,
// what a VLAN or a macvlan is on.
func standsOn(h *handle, top netlink.Link) (map[int]bool, error) {
	all, err := h.LinkList()
	if err != nil {
		return nil, fmt.Errorf("listing the host's interfaces: %w", err)
	}
	found := map[int]bool{top.Attrs().Index: true}
	for grown := true; grown; {
		grown = false
		for _, l := range all {
			a := l.Attrs()
			if found[a.Index] && a.ParentIndex > 0 && a.NetNsID < 0 && !found[a.ParentIndex] {
				found[a.ParentIndex], grown = true, true
			}
			if found[a.MasterIndex] && !found[a.Index] {
				found[a.Index], grown = true, true
			}
		}
	}
	return found, nil
}

// inUse says why an interface cannot be taken: the host uses it for more than addresses and routes, which would
// be lost, or missed, meanwhile.
func inUse(h *handle, link netlink.Link) (string, error) {
	a := link.Attrs()
	refusal := func(format string, values ...any) (string, error) {
		return fmt.Sprintf("the interface %s cannot be taken for data: "+format, append([]any{a.Name}, values...)...), nil
	}
	if a.MasterIndex != 0 {
		return refusal("it is a port of another one: name an interface that is free")
	}
	if a.Xdp != nil && a.Xdp.Attached {
		return refusal("an XDP program is attached to it: take that off first")
	}
	all, err := h.LinkList()
	if err != nil {
		return "", fmt.Errorf("listing the host's interfaces: %w", err)
	}
	for _, l := range all {
		if up := l.Attrs(); up.ParentIndex == a.Index && up.Index != a.Index && l.Type() != "veth" {
			return refusal("%s (%s) stands on it: name an interface that is free", up.Name, l.Type())
		}
	}
	qdiscs, err := h.QdiscList(link)
	if err != nil {
		return "", fmt.Errorf("reading the qdiscs of %s: %w", a.Name, err)
	}
	for _, q := range qdiscs {
		if q.Attrs().Handle != 0 { // 0 is the kernel's own default
			return refusal("it has a qdisc of somebody's, %s, which moving it would remove: remove it first", q.Type())
		}
	}
	routed, err := h.RouteListFiltered(netlink.FAMILY_V4, &netlink.Route{LinkIndex: a.Index}, netlink.RT_FILTER_OIF)
	if err != nil {
		return "", fmt.Errorf("reading the routes of %s: %w", a.Name, err)
	}
	for _, r := range routed {
		if r.Type == unix.RTN_UNICAST && (r.Dst == nil || lengthOf(r.Dst) == 0) {
			return refusal("the host's default route goes over it: name an interface of a network for data alone")
		}
	}
	shared, err := overSeveral(h, a.Index)
	if err == nil && shared != "" {
		return refusal("the route to %s goes over it and others, and would be lost: remove that first", shared)
	}
	return "", err
}

// overSeveral is the destination of a route that goes over an interface and others, "" if there is none. It is none of the interface's
// own, and what the kernel leaves of it when one of its interfaces goes nobody could put back.
func overSeveral(h *handle, index int) (string, error) {
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		all, err := h.RouteListFiltered(family, &netlink.Route{}, netlink.RT_FILTER_TABLE) // table 0: all of them
		if err != nil {
			return "", fmt.Errorf("reading the host's routes: %w", err)
		}
		for _, r := range all {
			if len(r.MultiPath) > 1 && slices.ContainsFunc(r.MultiPath, func(hop *netlink.NexthopInfo) bool { return hop.LinkIndex == index }) {
				if r.Dst == nil {
					return "anywhere", nil
				}
				return r.Dst.String(), nil
			}
		}
	}
	return "", nil
}

func lengthOf(prefix *net.IPNet) int {
	bits, _ := prefix.Mask.Size()
	return bits
}

// refuseDetour refuses a data address from which the other node's is not reached directly.
func refuseDetour(h *handle, n NIC, toward netip.Addr) error {
	if !toward.IsValid() {
		return nil
	}
	link, err := h.LinkByName(n.Device)
	if err != nil {
		return err
	}
	found, err := h.RouteGet(net.IP(toward.AsSlice()))
	if err != nil || len(found) == 0 {
		return fmt.Errorf("there is no route to the other node's data address %s: %v", toward, err)
	}
	if out := found[0].LinkIndex; out != link.Attrs().Index {
		name := fmt.Sprintf("interface %d", out)
		if other, err := h.LinkByIndex(out); err == nil {
			name = other.Attrs().Name
		}
		return fmt.Errorf("data to %s would leave by %s and not by %s, which has the data address %s: give both nodes data addresses of one network", toward, name, n.Device, n.Data.Address)
	}
	if subnet, err := netip.ParsePrefix(n.Data.Address); err != nil || !subnet.Contains(toward) {
		return fmt.Errorf("the data addresses %s and %s are not in one subnet: paths join nodes on one segment", n.Data.Address, toward)
	}
	return nil
}

package frame

import (
	"fmt"
	"net/netip"
	"strconv"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"windtunnel/ethtool"
)

// device is an Ethernet interface of this namespace.
type device struct {
	index    int
	name     string
	kind     string // veth, bridge; "device" for hardware
	mtu      int
	queues   int // for receiving; 0: not known
	address  [6]byte
	loopback bool
}

func deviceOf(link netlink.Link) (device, error) {
	a := link.Attrs()
	d := device{index: a.Index, name: a.Name, kind: link.Type(), mtu: a.MTU, queues: queuesOf(a.Name), loopback: a.EncapType == "loopback"}
	if !d.loopback && (a.EncapType != "ether" || len(a.HardwareAddr) != len(d.address)) {
		return device{}, fmt.Errorf("%s is no Ethernet device (%s): frames need one", a.Name, a.EncapType)
	}
	copy(d.address[:], a.HardwareAddr)
	return d, nil
}

// queuesOf asks the driver, 0 if it does not say.
func queuesOf(name string) int {
	tool, err := ethtool.Open()
	if err != nil {
		return 0
	}
	defer tool.Close()
	c, err := tool.Channels(name)
	if err != nil {
		return 0
	}
	return int(c.Receive + c.Combined)
}

func family(ip netip.Addr) int {
	if ip.Is6() {
		return unix.AF_INET6
	}
	return unix.AF_INET
}

// zoned is the interface that a link-local address is of (RFC 4007, section 11: fe80::1%eth0); nil where it names none.
func zoned(ip netip.Addr) (netlink.Link, error) {
	zone := ip.Zone()
	if zone == "" {
		return nil, nil
	}
	link, err := netlink.LinkByName(zone)
	if index, number := strconv.Atoi(zone); err != nil && number == nil {
		link, err = netlink.LinkByIndex(index)
	}
	if err != nil {
		return nil, fmt.Errorf("finding the interface of %s: %w", ip, err)
	}
	return link, nil
}

// deviceWith finds the interface that has an address.
func deviceWith(ip netip.Addr) (device, error) {
	zone, err := zoned(ip)
	if err != nil {
		return device{}, err
	}
	addresses, err := netlink.AddrList(nil, family(ip))
	if err != nil {
		return device{}, fmt.Errorf("listing addresses: %w", err)
	}
	for _, a := range addresses {
		if have, ok := netip.AddrFromSlice(a.IP); !ok || have.Unmap() != ip.WithZone("") {
			continue
		}
		if zone != nil && zone.Attrs().Index != a.LinkIndex {
			continue
		}
		link, err := netlink.LinkByIndex(a.LinkIndex)
		if err != nil {
			return device{}, fmt.Errorf("finding the interface with %s: %w", ip, err)
		}
		return deviceOf(link)
	}
	return device{}, fmt.Errorf("no interface here has the address %s: give the endpoint's own", ip)
}

// way is how frames get from here to a receiver.
type way struct {
	device  device
	from    netip.Addr
	nextHop [6]byte
}

// wayTo asks the kernel's routes and neighbours. The neighbour is known already:
// the control connection goes the same way.
func wayTo(from, to netip.Addr) (way, error) {
	zone, err := zoned(to)
	if err != nil {
		return way{}, err
	}
	var by netlink.RouteGetOptions
	if zone != nil {
		by.OifIndex = zone.Attrs().Index
	}
	routes, err := netlink.RouteGetWithOptions(to.AsSlice(), &by)
	if err != nil || len(routes) == 0 {
		return way{}, fmt.Errorf("asking for the route to %s: %w", to, err)
	}
	link, err := netlink.LinkByIndex(routes[0].LinkIndex)
	if err != nil {
		return way{}, fmt.Errorf("finding the interface to %s: %w", to, err)
	}
	w := way{from: from}
	if w.device, err = deviceOf(link); err != nil || w.device.loopback {
		return w, err
	}
	w.nextHop, err = neighbour(w.device, nextHop(routes[0], to).WithZone(""))
	return w, err
}

// nextHop is the router of a route, which may have an address of the other family (RFC 5549), or the receiver itself.
func nextHop(r netlink.Route, to netip.Addr) netip.Addr {
	gateway := r.Gw
	if via, is := r.Via.(*netlink.Via); is && len(gateway) == 0 {
		gateway = via.Addr
	}
	if hop, ok := netip.AddrFromSlice(gateway); ok {
		return hop.Unmap()
	}
	return to
}

func neighbour(d device, hop netip.Addr) (address [6]byte, err error) {
	known, err := netlink.NeighList(d.index, family(hop))
	if err != nil {
		return address, fmt.Errorf("listing the neighbours at %s: %w", d.name, err)
	}
	const useless = netlink.NUD_INCOMPLETE | netlink.NUD_FAILED
	for _, n := range known {
		ip, ok := netip.AddrFromSlice(n.IP)
		if ok && ip.Unmap() == hop && n.State&useless == 0 && len(n.HardwareAddr) == len(address) {
			return [6]byte(n.HardwareAddr), nil
		}
	}
	return address, fmt.Errorf("the neighbour %s at %s has no known Ethernet address: check `ip neigh`", hop, d.name)
}

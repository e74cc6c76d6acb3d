package control

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/kernel"
)

// A machine answers, by netlink, what the configuration leaves open. /sys/class/net would not do:
// sysfs shows the namespace that it was mounted in.
type machine struct {
	handle *netlink.Handle
	peer   bool // bpf_redirect_peer is there
}

func openMachine() (machine, error) {
	handle, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return machine{}, fmt.Errorf("opening netlink: %w", err)
	}
	return machine{handle: handle, peer: kernel.HaveRedirectPeer()}, nil
}

func (m machine) close() { m.handle.Close() }

// facts gathers what an image needs. Interfaces of ports that are not there are left out.
func (m machine) facts(c config.Config) (config.Facts, error) {
	fabric, err := m.handle.LinkByName(c.Fabric.Interface)
	if err != nil {
		return config.Facts{}, fmt.Errorf("finding the fabric's interface %q in this network namespace: %w; `ip link` lists what there is", c.Fabric.Interface, err)
	}
	attributes := fabric.Attrs()
	if len(attributes.HardwareAddr) != 6 {
		return config.Facts{}, fmt.Errorf("the fabric's interface %q is no Ethernet interface", c.Fabric.Interface)
	}
	facts := config.Facts{
		FabricIfindex: uint32(attributes.Index), FabricMTU: uint32(attributes.MTU), FabricMAC: config.MAC(attributes.HardwareAddr),
		Interfaces: make(map[string]config.Interface), Neighbours: m.neighbours(c, fabric),
	}
	return facts, m.ports(c, &facts)
}

// hasAddresses says what is missing of the node's addresses. The tables do not depend on it, but other
// nodes would not find this one.
func (m machine) hasAddresses(c config.Config) error {
	fabric, err := m.handle.LinkByName(c.Fabric.Interface)
	if err != nil {
		return fmt.Errorf("finding the fabric's interface %q: %w", c.Fabric.Interface, err)
	}
	return errors.Join(m.hasAddress(fabric, c.Fabric.Address), m.hasAddress(fabric, c.Fabric.Address6))
}

func (m machine) hasAddress(fabric netlink.Link, address netip.Addr) error {
	if !address.IsValid() {
		return nil
	}
	name, length := fabric.Attrs().Name, 24
	if address.Is6() {
		length = 64
		if mtu := fabric.Attrs().MTU; mtu < minMTU6 {
			return fmt.Errorf("the fabric's interface %s has an MTU of %d, and no IPv6 below %d (RFC 8200, section 5); `ip link set %s mtu 1500`", name, mtu, minMTU6, name)
		}
	}
	addresses, err := m.handle.AddrList(fabric, familyOf(address))
	if err != nil {
		return fmt.Errorf("listing the addresses of %s: %w", name, err)
	}
	for _, a := range addresses {
		if !a.IP.Equal(net.IP(address.AsSlice())) {
			continue
		}
		if a.Flags&unix.IFA_F_DADFAILED != 0 { // RFC 4862, section 5.4.5
			return fmt.Errorf("the address %s of %s is another node's, too: duplicate address detection has failed; give one of the nodes another", address, name)
		}
		return nil
	}
	return fmt.Errorf("the fabric's interface %s has no address %s; `ip address add %s/%d dev %s`", name, address, address, length, name)
}

// minMTU6: with a smaller one, the kernel takes IPv6 off an interface.
const minMTU6 = 1280

func familyOf(a netip.Addr) int {
	if a.Is4() {
		return netlink.FAMILY_V4
	}
	return netlink.FAMILY_V6
}

// addressOf is an address as the kernel gives it.
func addressOf(ip net.IP) (netip.Addr, bool) {
	a, ok := netip.AddrFromSlice(ip)
	return a.Unmap(), ok
}

func (m machine) ports(c config.Config, facts *config.Facts) error {
	links, err := m.handle.LinkList()
	if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) {
		return fmt.Errorf("listing the interfaces: %w", err)
	}
	byName := make(map[string]netlink.Link, len(links))
	for _, l := range links {
		byName[l.Attrs().Name] = l
	}
	for _, p := range c.Ports {
		if l := byName[p.Interface]; l != nil {
			facts.Interfaces[p.Interface] = config.Interface{
				Ifindex: uint32(l.Attrs().Index), MTU: uint32(l.Attrs().MTU), Peer: m.peer && elsewhere(l),
			}
		}
	}
	return nil
}

// elsewhere: a veth whose other end is in another namespace; bpf_redirect_peer drops otherwise.
func elsewhere(l netlink.Link) bool {
	return l.Type() == "veth" && l.Attrs().NetNsID >= 0
}

// known are the states of a neighbour whose address may be used.
const known = netlink.NUD_PERMANENT | netlink.NUD_NOARP | netlink.NUD_REACHABLE | netlink.NUD_STALE | netlink.NUD_DELAY | netlink.NUD_PROBE

// sure are those of one that need not be asked for.
const sure = netlink.NUD_PERMANENT | netlink.NUD_NOARP | netlink.NUD_REACHABLE | netlink.NUD_DELAY | netlink.NUD_PROBE

// neighbours are the far ends whose MAC is known: their own, or the gateway's on the way to them.
func (m machine) neighbours(c config.Config, fabric netlink.Link) map[netip.Addr]config.MAC {
	found := make(map[netip.Addr]config.MAC)
	entries := m.entries(fabric)
	for _, remote := range remotes(c) {
		n, ok := entries[m.hop(remote, fabric)]
		if ok && n.State&known != 0 && len(n.HardwareAddr) == 6 {
			found[remote] = config.MAC(n.HardwareAddr)
		}
	}
	return found
}

func remotes(c config.Config) []netip.Addr {
	seen := make(map[netip.Addr]bool)
	var list []netip.Addr
	ways := c.BridgeWays()
	for _, r := range c.Routes {
		ways = append(ways, r.Via.Ways()...)
	}
	for _, via := range ways {
		if via.Tunnel.IsValid() && !seen[via.Tunnel] {
			seen[via.Tunnel] = true
			list = append(list, via.Tunnel)
		}
	}
	return list
}

// entries is the kernel's neighbour table of the fabric, of both families: ARP's, and neighbour
// discovery's.
func (m machine) entries(fabric netlink.Link) map[netip.Addr]netlink.Neigh {
	entries := make(map[netip.Addr]netlink.Neigh)
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		list, err := m.handle.NeighList(fabric.Attrs().Index, family)
		if err != nil {
			continue // asked again at the next event
		}
		for _, n := range list {
			if address, ok := addressOf(n.IP); ok {
				entries[address] = n
			}
		}
	}
	return entries
}

// hop is whom to ask on the way to an address: itself, or the gateway that the host's routes name. An
// IPv4 route's may be an IPv6 address (RFC 8950; RTA_VIA), as where links have no IPv4 of their own.
func (m machine) hop(remote netip.Addr, fabric netlink.Link) netip.Addr {
	routes, err := m.handle.RouteGet(net.IP(remote.AsSlice()))
	if err != nil || len(routes) == 0 || routes[0].LinkIndex != fabric.Attrs().Index {
		return remote
	}
	if gateway, ok := addressOf(routes[0].Gw); ok {
		return gateway
	}
	if via, ok := routes[0].Via.(*netlink.Via); ok {
		if gateway, ok := addressOf(via.Addr); ok {
			return gateway
		}
	}
	return remote
}

// probe has the kernel ask for every neighbour that it is not sure of. Packets that BPF sends do not
// touch the kernel's entries, so those grow stale under full traffic. It tells whether all are known.
func (m machine) probe(c config.Config) bool {
	fabric, err := m.handle.LinkByName(c.Fabric.Interface)
	if err != nil {
		return false
	}
	entries, all := m.entries(fabric), true
	for _, remote := range remotes(c) {
		hop := m.hop(remote, fabric)
		n := entries[hop]
		all = all && n.State&known != 0
		if n.State&sure == 0 {
			// NTF_USE is "a packet wants to go there": net/core/neighbour.c, neigh_add.
			_ = m.handle.NeighSet(&netlink.Neigh{LinkIndex: fabric.Attrs().Index, Family: familyOf(hop), Flags: netlink.NTF_USE, IP: net.IP(hop.AsSlice())})
		}
	}
	return all
}

// awaitNeighbours asks for the far ends until they are known, or the time is up.
func (m machine) awaitNeighbours(ctx context.Context, c config.Config, limit time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for !m.probe(c) {
		select {
		case <-ctx.Done():
			return
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// subscribe gives a sign whenever neighbours, interfaces or addresses changed; several changes may share one.
func (m machine) subscribe(ctx context.Context) <-chan struct{} {
	signs := make(chan struct{}, 1)
	sign := func() {
		select {
		case signs <- struct{}{}:
		default:
		}
	}
	neighbours, links, addresses := make(chan netlink.NeighUpdate), make(chan netlink.LinkUpdate), make(chan netlink.AddrUpdate)
	// Without a subscription the tick alone keeps the tables true, a second late.
	if netlink.NeighSubscribe(neighbours, ctx.Done()) == nil {
		go forward(neighbours, sign)
	}
	if netlink.LinkSubscribe(links, ctx.Done()) == nil {
		go forward(links, sign)
	}
	if netlink.AddrSubscribe(addresses, ctx.Done()) == nil {
		go forward(addresses, sign)
	}
	context.AfterFunc(ctx, kernel.XDPChanges(sign))
	return signs
}

// forward ends when the subscription closes the channel, which it does when its context ends.
func forward[T any](from <-chan T, sign func()) {
	for range from {
		sign()
	}
}

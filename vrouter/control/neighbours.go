package control

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink"

	"windtunnel/vrouter/config"
)

// known are the states of a neighbour whose address may be used.
const known = netlink.NUD_PERMANENT | netlink.NUD_NOARP | netlink.NUD_REACHABLE | netlink.NUD_STALE | netlink.NUD_DELAY | netlink.NUD_PROBE

// sure are those of one that need not be asked for.
const sure = netlink.NUD_PERMANENT | netlink.NUD_NOARP | netlink.NUD_REACHABLE | netlink.NUD_DELAY | netlink.NUD_PROBE

// neighbours are the far ends whose MAC is known: their own, or the gateway's on the way to them.
func (m machine) neighbours(c config.Config, fabric netlink.Link) (map[netip.Addr]config.MAC, error) {
	found := make(map[netip.Addr]config.MAC)
	entries, err := entriesOf(fabric, m.handle.NeighList)
	if err != nil {
		return nil, err
	}
	for _, remote := range remotes(c) {
		n, ok := entries[m.hop(remote, fabric)]
		if ok && n.State&known != 0 && len(n.HardwareAddr) == 6 {
			found[remote] = config.MAC(n.HardwareAddr)
		}
	}
	return found, nil
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

// entriesOf is the kernel's neighbour table of the fabric, of both families: ARP's, and neighbour
// discovery's. One that cannot be read is not one without entries: tunnels would be cut off.
func entriesOf(fabric netlink.Link, list func(ifindex, family int) ([]netlink.Neigh, error)) (map[netip.Addr]netlink.Neigh, error) {
	entries := make(map[netip.Addr]netlink.Neigh)
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		all, err := whole(func() ([]netlink.Neigh, error) { return list(fabric.Attrs().Index, family) })
		if err != nil {
			return nil, fmt.Errorf("listing the neighbours of %s: %w", fabric.Attrs().Name, err)
		}
		for _, n := range all {
			if address, ok := addressOf(n.IP); ok {
				entries[address] = n
			}
		}
	}
	return entries, nil
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
	entries, err := entriesOf(fabric, m.handle.NeighList)
	if err != nil {
		return false
	}
	all := true
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

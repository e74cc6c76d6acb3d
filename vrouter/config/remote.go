package config

import (
	"iter"
	"net/netip"
)

// remoteRoutes gives a network's routes to other nodes, in the order of their addresses.
type remoteRoutes struct {
	network string
	ways    map[uint32]Via // by the nexthop's slot
	pull    func() (RouteEntry, bool)
	stop    func()
}

func (m Image) remotesOf(network string) *remoteRoutes {
	r := &remoteRoutes{network: network, ways: make(map[uint32]Via, len(m.ways))}
	for via, slot := range m.ways {
		r.ways[slot] = via
	}
	r.pull, r.stop = iter.Pull(m.tables[m.vrfs[network]].all())
	if _, there := m.vrfs[network]; !there { // slot 0 is the fabric's own table
		r.stop()
	}
	return r
}

// next gives the next one; those to ports and the gateway of this node are left out.
func (r *remoteRoutes) next() (Route, bool) {
	for {
		entry, ok := r.pull()
		if !ok {
			return Route{}, false
		}
		if via, remote := r.ways[entry.Route.Ref()]; remote {
			via.Label = entry.Route.Label()
			return Route{r.network, entry.Prefix, via}, true
		}
	}
}

// comparePrefixes is the order in which a table lists its routes.
func comparePrefixes(a, b netip.Prefix) int {
	if order := a.Addr().Compare(b.Addr()); order != 0 {
		return order // IPv4 is before IPv6
	}
	return a.Bits() - b.Bits()
}

// NetworkKey is a network's name.
func NetworkKey(n Network) string { return n.Name }

// PortKey is a port's name.
func PortKey(p Port) string { return p.Name }

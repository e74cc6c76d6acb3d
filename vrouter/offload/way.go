package offload

import (
	"net/netip"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
)

// A way is the end of a route: a nexthop that sends packets out, and the label to push.
type way struct {
	nexthop core.Nexthop
	label   uint32
}

// follow does what vr_route_nh of vr_decide_way.h does. Without a hash it is about all flows at once, and a
// choice among several ways, or another network's routes, which may be many, have no single end.
func follow(m config.Image, route core.Route, to netip.Addr, hash *uint32) (way, *Refusal) {
	record := m.Nexthops[route.Ref()]
	if record.Type == core.NexthopTranslate {
		if hash == nil {
			return way{}, refuse(NeedsFlow, "another network's routes say where to; name the flow")
		}
		vrf := record.Vif
		route = m.Lookup(vrf, to)
		if record = m.Nexthops[route.Ref()]; route == 0 || vrf == core.FabricVRF || record.Type == core.NexthopTranslate {
			return way{}, refuse(NotForwarded, "the other network has no way to it")
		}
	}
	if record.Type == core.NexthopECMP {
		if hash == nil {
			return way{}, refuse(NeedsFlow, "each flow has one of several ways; name the flow")
		}
		group := m.Groups[record.Vif]
		member := group.Buckets[core.AnyMember][bucket(*hash)]
		if member >= core.GroupMembers || group.Members[member] == 0 {
			return way{}, refuse(NotForwarded, "none of several ways can be used")
		}
		route = core.Route(group.Members[member])
		record = m.Nexthops[route.Ref()]
	}
	return way{record, route.Label()}, usable(record)
}

// usable refuses what forwards nothing, or what a record is needed for at its end.
func usable(r core.Nexthop) *Refusal {
	switch {
	case r.Type != core.NexthopEncap && r.Type != core.NexthopTunnel:
		return refuse(NotForwarded, "the route ends here: software answers, or drops by name")
	case r.Dmac&core.MACKnown == 0:
		return refuse(Unresolved, "the MAC address of %s is not known yet", r.Far())
	case r.Flags&core.NexthopFlow != 0:
		return refuse(FlowMode, "the port that it goes to is in flow mode: its flows are kept in software")
	}
	return nil
}

// unicast tells whether a prefix holds no group's address: those are lost (vr_is_multicast).
func unicast(p netip.Prefix) bool {
	groups := netip.MustParsePrefix("224.0.0.0/3") // and what is above: never a host's
	if p.Addr().Is6() {
		groups = netip.MustParsePrefix("ff00::/8")
	}
	return !p.Overlaps(groups)
}

// leaves are the routes of a network inside of which no other one lies; with all others a device would
// need an order of rules, which not all of them have.
func leaves(m config.Image, vrf uint32) (entries []config.RouteEntry, leaf []bool) {
	for entry := range m.Routes(vrf) {
		if last := len(entries) - 1; last >= 0 && entries[last].Prefix.Contains(entry.Prefix.Addr()) {
			leaf[last] = false // in their order, the first one inside comes next
		}
		entries, leaf = append(entries, entry), append(leaf, true)
	}
	return entries, leaf
}

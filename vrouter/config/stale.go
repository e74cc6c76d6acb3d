package config

import (
	"maps"
	"net/netip"

	"windtunnel/vrouter/core"
)

// Routes that clients set while a vRouter runs are in no configuration, but their words say so
// ([core.RouteSet]), and their nexthops hold the whole way. A process that takes tables over keeps them,
// as stale, until they are set again or swept: the way of BGP's graceful restart (RFC 4724, section 4.2).
// A shorter route that longer ones hide wholly left no trace in the tables, and is gone.

// Recognise finds out what tables that an earlier process left have to do with the configuration: which
// networks there are, and which routes of clients may be kept. [Config.Resume] goes on from there.
func (r *Rules) Recognise(left Image) Image {
	c := r.checker.config
	left.vrfs, left.ways, left.dropped, left.kept = make(map[string]uint32), make(map[Via]uint32), make(map[uint32][]netip.Prefix), make(map[uint32]int)
	byID := make(map[uint64]string)
	for _, n := range c.Networks {
		byID[ID(n.Name)] = n.Name
	}
	for slot, vrf := range left.VRFs {
		if name, known := byID[vrf.ID]; known {
			left.vrfs[name] = slot
		}
	}
	tell := teller{image: left, networks: byID, ports: make(map[uint64]string)}
	for _, p := range c.Ports {
		tell.ports[ID(p.Name)] = p.Name
	}
	room := c.Limits.routes() - len(c.Routes)
	for _, network := range sortedKeys(left.vrfs) {
		keep := keeper{rules: r, tell: tell, network: network, ways: make(map[keptWay]Via)}
		slot := left.vrfs[network]
		for entry := range left.tables[slot].all() {
			via, may := keep.route(entry)
			if !may || room == 0 {
				left.dropped[slot] = append(left.dropped[slot], entry.Prefix)
				continue
			}
			room--
			left.kept[slot]++
			left.ways[via] = entry.Route.Ref()
		}
	}
	return left
}

// A keeper decides about a network's routes, and remembers the ways that it has seen: there are few.
type keeper struct {
	rules   *Rules
	tell    teller
	network string
	ways    map[keptWay]Via // those that are not allowed are empty
}

type keptWay struct {
	nexthop uint32
	v6      bool
}

// route tells whether a route may be kept: a client set it, and it could set it now.
func (k keeper) route(e RouteEntry) (Via, bool) {
	if e.Route&core.RouteSet == 0 {
		return Via{}, false
	}
	key := keptWay{e.Route.Ref(), e.Prefix.Addr().Is6()}
	via, seen := k.ways[key]
	if !seen {
		via = k.way(e)
		k.ways[key] = via
	}
	return via, via != Via{} && k.rules.checker.routeTarget("", k.network, e.Prefix) == nil
}

// way is a route's way without its label, if it is allowed. What a nexthop leads to does not hang on the
// prefix, but on its family.
func (k keeper) way(e RouteEntry) Via {
	via, told := k.tell.via(e.Route)
	if !told || k.rules.allowWay(k.network, e.Prefix, via) != nil {
		return Via{}
	}
	via.Label = 0
	return via
}

// A teller reads ways out of tables: what [builder.way] made of them, the other way round.
type teller struct {
	image    Image
	networks map[uint64]string // by ID
	ports    map[uint64]string
}

// vxlanInner is where a template has the inner frame's destination, behind UDP and VXLAN.
const vxlanInner = 16

// via is the way of a route to another node, or on from here.
func (t teller) via(route core.Route) (Via, bool) {
	n := t.image.Nexthops[route.Ref()]
	switch {
	case n.Type == core.NexthopTunnel && int(n.Outer)+vxlanInner+6 <= len(n.Header):
		via := Via{Tunnel: n.Far(), Encapsulation: EncapsulationOf(n), Label: route.Label()}
		if via.Encapsulation == VXLAN {
			via.VNI, via.MAC = n.VNI(), MAC(n.Header[int(n.Outer)+vxlanInner:])
		}
		return via, true
	case n.Type == core.NexthopEncap && n.Flags&core.NexthopFabric != 0:
		return Via{Tunnel: n.Far(), Encapsulation: NoEncapsulation}, true
	case n.Type == core.NexthopTranslate:
		name, known := t.networks[t.image.VRFs[n.Vif].ID]
		return Via{Network: name}, known
	case n.Type == core.NexthopECMP:
		return t.group(t.image.Groups[n.Vif])
	}
	return Via{}, false
}

// group are several ways. A group's ID says whether they are all told rightly: a port whose interface was
// gone left nothing of its name.
func (t teller) group(g core.Group) (Via, bool) {
	var ways []Via
	for _, word := range g.Members {
		if word == 0 {
			break
		}
		n := t.image.Nexthops[core.Route(word).Ref()]
		way, _ := t.via(core.Route(word))
		if n.Type == core.NexthopEncap && n.Flags&core.NexthopFabric == 0 {
			way = Via{Port: t.ports[t.image.Vifs[n.Vif].ID]}
		}
		ways = append(ways, way)
	}
	members := MakeMembers(ways...)
	return Via{ECMP: members}, g.ID != 0 && ID(string(members)) == g.ID
}

// Resume is [Config.Image] for tables that an earlier process left, once they are recognised: the
// routes there that may be kept are kept, where the configuration has none, and are stale.
func (c Config) Resume(facts Facts, left Image) (Image, error) {
	b := newBuilder(c, facts, left)
	b.next.stale = make(map[uint32]routeTable)
	for slot := range left.kept {
		// Twice, because each has blocks of its own, and changes them.
		b.next.tables[slot], b.next.stale[slot] = left.keptOf(slot), left.keptOf(slot)
	}
	return b.build(b.addPeers, b.addNetworks, b.leaveGone, b.addVNIs, b.addPolicies, b.addPorts, b.addRoutes, b.countStale, b.moveWays, b.addBridges, b.addTables)
}

func (m Image) keptOf(slot uint32) routeTable {
	t := m.tables[slot]
	for _, prefix := range m.dropped[slot] {
		t.set(prefix, 0)
	}
	return t
}

// leaveGone leaves the routes of networks that are others now.
func (b *builder) leaveGone() error {
	for slot := range b.next.stale {
		if _, here := b.next.VRFs[slot]; !here {
			delete(b.next.tables, slot)
			delete(b.next.stale, slot)
		}
	}
	return nil
}

// countStale takes the configuration's routes out of those that are stale, and counts the rest.
func (b *builder) countStale() error {
	for slot := range b.next.stale {
		b.next.stales += b.previous.kept[slot]
	}
	for _, r := range b.config.Routes {
		b.next.unstale(b.next.vrfs[r.Network], r.Prefix)
	}
	for _, t := range b.next.stale {
		t.freeze()
	}
	b.next.routes += b.next.stales
	return nil
}

// unstale notes that a route, if it was stale, is not any more. The image's map of them must be its own.
func (m *Image) unstale(vrf uint32, prefix netip.Prefix) {
	t, some := m.stale[vrf]
	if !some || t.find(prefix) == 0 {
		return
	}
	t.set(prefix, 0)
	m.stale[vrf] = t
	m.stales--
}

// freeze keeps changes from reaching what an image has that may be read: they copy numbered blocks.
func (t routeTable) freeze() {
	t.v4.freeze()
	t.v6.freeze()
}

func (b *block) freeze() {
	if b == nil || b.number != 0 {
		return
	}
	b.number = embedded
	for _, child := range b.below {
		child.freeze()
	}
}

// StaleCount is how many routes are stale.
func (m Image) StaleCount() int { return m.stales }

// Stale tells whether a route of a VRF is.
func (m Image) Stale(vrf uint32, prefix netip.Prefix) bool {
	return m.stales > 0 && m.stale[vrf].find(prefix) != 0
}

// Sweep makes the image without its stale routes, and the plan that leads to it.
func (m Image) Sweep(rules *Rules, facts Facts) (Image, Plan, error) {
	b := m.changing(rules, facts)
	touched := make(map[uint32]bool)
	for slot, stale := range m.stale {
		t := b.next.tables[slot]
		for entry := range stale.all() {
			t.set(entry.Prefix, 0)
		}
		b.next.tables[slot], touched[slot] = t, true
	}
	b.next.routes, b.next.stale, b.next.stales = m.routes-m.stales, nil, 0
	if err := b.addTables(); err != nil {
		return Image{}, Plan{}, err
	}
	return b.next, b.changed(touched), nil
}

// changing begins a change of some routes.
func (m Image) changing(rules *Rules, facts Facts) *builder {
	b := &builder{config: rules.checker.config, facts: facts, networks: rules.checker.networks, place: newPlacers(), previous: m, next: m, borrowed: true}
	b.next.tables, b.next.VRFs, b.next.stale = maps.Clone(m.tables), maps.Clone(m.VRFs), maps.Clone(m.stale)
	return b
}

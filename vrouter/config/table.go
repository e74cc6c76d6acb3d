package config

import (
	"iter"
	"net/netip"

	"windtunnel/vrouter/core"
)

// routeTable is a VRF's routes: one trie for each family, nil without routes. It is a value: a change
// gives another table, and both share what they have in common.
type routeTable struct {
	v4, v6 *block
	hosts  int // IPv4 routes of single addresses
	others int // and of longer prefixes
}

// mostlyHosts tells whether packets had better look for a single address first.
func (t routeTable) mostlyHosts() bool { return t.hosts > 0 && t.hosts >= t.others }

// count notes that there are so many more routes of a prefix's kind.
func (t *routeTable) count(prefix netip.Prefix, more int) {
	switch {
	case prefix.Addr().Is6():
	case prefix.IsSingleIP():
		t.hosts += more
	default:
		t.others += more
	}
}

func (t *routeTable) root(v4 bool) **block {
	if v4 {
		return &t.v4
	}
	return &t.v6
}

// find is the route of exactly this prefix, or 0.
func (t routeTable) find(prefix netip.Prefix) core.Route {
	return (*t.root(prefix.Addr().Is4())).find(core.AddrOf(prefix.Addr()), prefix.Bits())
}

// set makes the route of a prefix another one; 0 takes it away.
func (t *routeTable) set(prefix netip.Prefix, route core.Route) {
	root, at := t.root(prefix.Addr().Is4()), core.AddrOf(prefix.Addr())
	old := (*root).find(at, prefix.Bits())
	switch {
	case old == route:
		return
	case route == 0:
		t.count(prefix, -1)
		*root = (*root).without(at, prefix.Bits())
		if (*root).spots == 0 && len((*root).below) == 0 {
			*root = nil
		}
		return
	case *root == nil:
		*root = &block{}
	}
	if old == 0 {
		t.count(prefix, 1)
	}
	*root = (*root).with(at, prefix.Bits(), route)
}

// lookup finds the route of an address as the data path does; 0 if there is none.
func (t routeTable) lookup(address netip.Addr) core.Route {
	var best core.Route
	at := core.AddrOf(address)
	for b := *t.root(address.Is4()); b != nil; {
		if b.otherwise != 0 {
			best = b.otherwise
		}
		if !b.leadsTo(at) {
			break
		}
		entry := nextBits(at, int(b.length))
		if b.forks>>entry&1 == 0 {
			if route := b.covering(entry); route != 0 {
				best = route
			}
			break
		}
		b = b.child(entry)
	}
	return best
}

// RouteEntry is one route of a table, for reading.
type RouteEntry struct {
	Prefix netip.Prefix
	Route  core.Route
}

// all lists the routes in the order of their addresses, shorter prefixes first.
func (t routeTable) all() iter.Seq[RouteEntry] {
	return func(yield func(RouteEntry) bool) {
		_ = t.v4.walk(1, true, yield) && t.v6.walk(1, false, yield)
	}
}

// walk gives what is at a spot of the block, and at all that are longer.
func (b *block) walk(p spot, v4 bool, yield func(RouteEntry) bool) bool {
	if b == nil {
		return true
	}
	first, _ := p.entries()
	if route := b.routeAt(p); route != 0 {
		length := int(b.length) + p.bits()
		if !yield(RouteEntry{prefixOf(withBits(b.prefix, int(b.length), first), length, v4), route}) {
			return false
		}
	}
	if p >= core.BlockEntries {
		return b.child(first).walk(1, v4, yield)
	}
	return b.walk(2*p, v4, yield) && b.walk(2*p+1, v4, yield)
}

// count is how many routes there are.
func (b *block) count() int {
	if b == nil {
		return 0
	}
	n := len(b.routes)
	for _, child := range b.below {
		n += child.count()
	}
	return n
}

// nexthops marks those that the trie's routes have.
func (b *block) nexthops(used *[core.MaxNexthops]bool) {
	if b == nil {
		return
	}
	for _, route := range b.routes {
		used[route.Ref()%core.MaxNexthops] = true
	}
	for _, child := range b.below {
		child.nexthops(used)
	}
}

// mapped is the trie with every route exchanged for what f makes of it, which is none for none.
func (b *block) mapped(f func(core.Route) core.Route) *block {
	if b == nil {
		return nil
	}
	c := &block{prefix: b.prefix, otherwise: f(b.otherwise), spots: b.spots, forks: b.forks, length: b.length}
	for _, route := range b.routes {
		c.routes = append(c.routes, f(route))
	}
	for _, child := range b.below {
		c.below = append(c.below, child.mapped(f))
	}
	return c
}

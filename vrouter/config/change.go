package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"strings"

	"windtunnel/vrouter/core"
)

// Change is a change of one route of a running vRouter: a way to a prefix, new or instead of another
// one, or the removal of the route, if there is one.
type Change struct {
	Network string       `json:"network"`
	Prefix  netip.Prefix `json:"prefix"`
	Via     *Via         `json:"via,omitempty"`
	Remove  bool         `json:"remove,omitempty"`
}

// ParseChanges reads a list of changes, strictly.
func ParseChanges(text []byte) ([]Change, error) {
	var changes []Change
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&changes); err != nil {
		return nil, fmt.Errorf("reading changes of routes: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, errors.New("reading changes of routes: more text after the list")
	}
	return changes, nil
}

// Rules are a configuration's, for changes of its routes.
type Rules struct{ checker *checker }

// Rules validates the configuration, and gives its rules.
func (c Config) Rules() (*Rules, error) {
	k, err := c.check()
	if err != nil {
		return nil, err
	}
	return &Rules{k}, nil
}

// allow says what is wrong with a change, if anything is.
func (r *Rules) allow(c Change) *Error {
	k := r.checker
	switch err := k.routeTarget("", c.Network, c.Prefix); {
	case err != nil:
		return err
	case c.Remove && c.Via == nil:
		return nil
	case c.Remove || c.Via == nil:
		return bad(".via", `a change has either a "via" or "remove":true`)
	}
	return r.allowWay(c.Network, c.Prefix, *c.Via)
}

// allowWay says what is wrong with a way from a network that is there.
func (r *Rules) allowWay(network string, prefix netip.Prefix, via Via) *Error {
	k := r.checker
	if via.isBare() && !k.flat[network] {
		return bad(".via.encapsulation", "%s is not reached without encapsulation; that takes a route without in its configuration", network)
	}
	return k.via(".via", k.networks[network], prefix, via)
}

// Change makes the image with other routes, all of the changes or, after an error, none, and the plan
// that leads to it; it has nothing to retire but blocks. What it takes does not grow with the number
// of routes there are.
func (m Image) Change(rules *Rules, facts Facts, changes []Change) (Image, Plan, error) {
	c, b := rules.checker.config, m.changing(rules, facts)
	touched := make(map[uint32]bool)
	for i, change := range changes {
		if err := rules.allow(change); err != nil {
			err.Path = fmt.Sprintf("routes[%d]%s", i, err.Path)
			return Image{}, Plan{}, err
		}
		if err := b.change(change, touched); err != nil {
			return Image{}, Plan{}, fmt.Errorf("routes[%d]: %w", i, err)
		}
	}
	if limit := c.Limits.routes(); b.next.routes > limit {
		return Image{}, Plan{}, fmt.Errorf("%w: %d routes are more than the limit of %d; raise limits.routes and start the vRouter anew", ErrFull, b.next.routes, limit)
	}
	if err := b.addTables(); err != nil {
		return Image{}, Plan{}, err
	}
	for vrf := range touched {
		b.next.stale[vrf].freeze()
	}
	if b.peers {
		touched[core.PeersVRF] = true
	}
	return b.next, b.changed(touched), nil
}

func (b *builder) change(c Change, touched map[uint32]bool) error {
	vrf := b.next.vrfs[c.Network]
	t := b.next.tables[vrf]
	old, route := t.find(c.Prefix), core.Route(0)
	if c.Via != nil {
		slot, err := b.way(c.Via.filled(b.networks[c.Network]))
		if err != nil {
			return err
		}
		route = core.MakeRoute(slot, c.Via.Label, c.Prefix.Bits()) | core.RouteSet
	}
	switch {
	case old == 0 && route != 0:
		b.next.routes++
	case old != 0 && route == 0:
		b.next.routes--
	}
	t.set(c.Prefix, route)
	b.next.tables[vrf] = t
	b.next.unstale(vrf, c.Prefix)
	touched[vrf] = true
	return nil
}

// changed is the plan of a change of routes: what is the same by construction is not compared.
func (b *builder) changed(vrfs map[uint32]bool) Plan {
	var p Plan
	for slot := range vrfs {
		p.routes(slot, b.previous.tables[slot], b.next.tables[slot])
		p.words(TableVRFs, slot*core.SizeVRF, encode(b.previous.VRFs[slot]), encode(b.next.VRFs[slot]))
	}
	for _, slot := range b.made {
		if record := encode(b.next.Nexthops[slot]); b.previous.Nexthops[slot] != b.next.Nexthops[slot] {
			p.Prepare = append(p.Prepare, Write{TableNexthops, slot * core.SizeNexthop, record})
		}
	}
	for _, slot := range b.madeGroups {
		if b.previous.Groups[slot] != b.next.Groups[slot] {
			p.Prepare = append(p.Prepare, Write{TableGroups, slot * core.SizeGroup, encode(b.next.Groups[slot])})
		}
	}
	return p
}

// Refresh makes the image of the same configuration on a machine that is another one now: the routes
// are those of the image, also those that were changed since.
func (m Image) Refresh(rules *Rules, facts Facts) (Image, error) {
	c := rules.checker.config
	b := newBuilder(c, facts, m)
	b.next.tables, b.next.routes = maps.Clone(m.tables), m.routes
	b.next.stale, b.next.stales = m.stale, m.stales
	return b.build(b.addPeers, b.addNetworks, b.addVNIs, b.addPolicies, b.addPorts, b.moveWays, b.addBridges, b.addTables)
}

// moveWays gives routes to other nodes the nexthops that they have now, and forgets those that no route
// has. They are others only when the fabric's interface itself has changed.
func (b *builder) moveWays() error {
	var used [core.MaxNexthops]bool
	for _, t := range b.next.tables {
		t.v4.nexthops(&used)
		t.v6.nexthops(&used)
	}
	moved := make(map[uint32]uint32)
	for via, old := range b.previous.ways {
		if !used[old] {
			continue
		}
		slot, err := b.way(via)
		if err != nil {
			return fmt.Errorf("the way %s: %w", MakeMembers(via), err)
		}
		if slot != old {
			moved[old] = slot
		}
	}
	if len(moved) == 0 {
		return nil
	}
	move := func(r core.Route) core.Route {
		if slot, ok := moved[r.Ref()]; ok {
			return core.MakeRoute(slot, r.Label(), r.PrefixBits()) | r&core.RouteSet
		}
		return r
	}
	for slot, t := range b.next.tables {
		t.v4, t.v6 = t.v4.mapped(move), t.v6.mapped(move)
		b.next.tables[slot] = t
	}
	return nil
}

// Ways is the configuration with one route for each way to other nodes that the image's routes have:
// all that has to be asked of the machine.
func (m Image) Ways(c Config) Config {
	c.Routes = nil
	for via := range m.ways {
		c.Routes = append(c.Routes, Route{Via: via})
	}
	return c
}

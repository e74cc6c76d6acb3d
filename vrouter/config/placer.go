package config

import (
	"fmt"

	"windtunnel/vrouter/core"
)

// A placer gives the records of one table their slots. It finds them by key, because a look through a
// full table for each of its records takes seconds.
type placer[K comparable, R any] struct {
	what  string
	limit uint32
	key   func(R) K
	slots map[K]uint32 // nil before the first record
	free  uint32       // no slot below it is
}

// placers are those of a change. They begin when its tables are its own.
type placers struct {
	networks placer[core.VRF, core.VRF]
	vifs     placer[core.Vif, core.Vif]
	nexthops placer[core.Nexthop, core.Nexthop]
	groups   placer[uint64, core.Group]
	policies placer[core.Policy, core.Policy]
	floods   placer[core.Flood, core.Flood]
}

func newPlacers() placers {
	return placers{
		networks: placer[core.VRF, core.VRF]{what: "networks", limit: core.MaxVRFs, key: sameVRF},
		vifs:     placer[core.Vif, core.Vif]{what: "vifs", limit: core.MaxVifs, key: sameVif},
		nexthops: placer[core.Nexthop, core.Nexthop]{what: "nexthops", limit: core.MaxNexthops, key: sameNexthop},
		groups:   placer[uint64, core.Group]{what: "groups of ways", limit: core.MaxGroups, key: func(g core.Group) uint64 { return g.ID }},
		policies: placer[core.Policy, core.Policy]{what: "policies", limit: core.MaxPolicies, key: func(p core.Policy) core.Policy { return p }},
		floods:   placer[core.Flood, core.Flood]{what: "flood lists", limit: core.MaxFloods, key: func(f core.Flood) core.Flood { return f }},
	}
}

// place puts a record into next: at the slot that its like has there or had before, or at one that
// nobody has.
func (p *placer[K, R]) place(previous, next map[uint32]R, record R) (uint32, error) {
	if p.slots == nil {
		p.begin(previous, next)
	}
	key := p.key(record)
	slot, there := p.slots[key]
	if !there {
		var err error
		if slot, err = p.take(previous, next); err != nil {
			return 0, err
		}
		p.slots[key] = slot
	}
	next[slot] = record
	return slot, nil
}

// begin learns what there is. Where two are alike, which no image of ours has, the lowest slot counts.
func (p *placer[K, R]) begin(previous, next map[uint32]R) {
	p.slots, p.free = make(map[K]uint32, len(previous)), 1
	for _, table := range []map[uint32]R{next, previous} {
		for _, slot := range sortedSlots(table) {
			if _, there := p.slots[p.key(table[slot])]; !there {
				p.slots[p.key(table[slot])] = slot
			}
		}
	}
}

func (p *placer[K, R]) take(previous, next map[uint32]R) (uint32, error) {
	for ; p.free < p.limit; p.free++ {
		_, old := previous[p.free]
		if _, new := next[p.free]; !old && !new {
			return p.free, nil
		}
	}
	return 0, fmt.Errorf("%w: %d %s, counting those that are being replaced", ErrFull, p.limit-1, p.what)
}

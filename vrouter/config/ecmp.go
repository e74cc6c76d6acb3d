package config

import (
	"encoding/binary"
	"fmt"
	"maps"

	"windtunnel/vrouter/core"
)

// leadsOn is the nexthop of a way that is not the last: to another network's routes, or to one of
// several ways.
func (b *builder) leadsOn(via Via) (core.Nexthop, error) {
	if via.Network != "" {
		return core.Nexthop{Type: core.NexthopTranslate, Vif: b.next.vrfs[via.Network]}, nil
	}
	group, err := b.group(via.ECMP)
	return core.Nexthop{Type: core.NexthopECMP, Vif: group}, err
}

// usable are a group's members that packets may be sent to, a bit each, for each kind of choice.
type usable [2]uint16

// group makes the record of several ways. All routes that have the same ways share it, and it keeps
// its slot while some of them cannot be used; so that only who has which bucket changes.
func (b *builder) group(members Members) (uint32, error) {
	ways, record := members.Ways(), core.Group{ID: ID(string(members))}
	ids, can := make([]uint64, len(ways)), usable{}
	for i, way := range ways {
		slot, err := b.member(way)
		if err != nil {
			return 0, err
		}
		record.Members[i], ids[i] = uint64(core.MakeRoute(slot, way.Label, 0)), ID(string(MakeMembers(way)))
		if b.next.Nexthops[slot].Dmac&core.MACKnown != 0 {
			can[core.AnyMember] |= 1 << i
			if way.Port != "" {
				can[core.LocalMember] |= 1 << i
			}
		}
	}
	slot, err := b.place.groups.place(b.previous.Groups, b.next.Groups, record)
	if err != nil {
		return 0, err
	}
	if old, there := b.previous.Groups[slot]; there && b.previous.usable[slot] == can && can != (usable{}) {
		record.Buckets = old.Buckets
	} else {
		record.Buckets = buckets(ids, can)
	}
	b.next.Groups[slot], b.next.usable[slot] = record, can
	b.madeGroups = append(b.madeGroups, slot)
	return slot, nil
}

// member is the nexthop of one of several ways.
func (b *builder) member(way Via) (uint32, error) {
	if way.Port == "" {
		return b.way(way)
	}
	slot, there := b.next.ports[way.Port]
	if !there {
		return 0, fmt.Errorf("there is no port %s", way.Port)
	}
	return slot, nil
}

/*
buckets says which member has which bucket: of those that can be used, the one with the highest weight
in it ("highest random weight": Thaler and Ravishankar, IEEE/ACM Transactions on Networking 6(1), 1998).
Weights hang on the member and the bucket alone, so a member that goes leaves its buckets to the others
and changes nothing else, one that comes takes no more than its share, and all nodes, and a node that
is started anew, choose alike without a word about it. The price is that shares are not quite equal.
Where no member can be used, all stay: the data path names the loss.
*/
func buckets(ids []uint64, can usable) (table [2][core.GroupBuckets]uint8) {
	if can[core.AnyMember] == 0 {
		can[core.AnyMember] = 1<<len(ids) - 1
	}
	for choice, allowed := range can {
		for bucket := range core.GroupBuckets {
			best, member := uint64(0), uint8(core.NoMember)
			for i, id := range ids {
				if w := weight(id, uint64(bucket)); allowed>>i&1 != 0 && (member == core.NoMember || w > best) {
					best, member = w, uint8(i)
				}
			}
			table[choice][bucket] = member
		}
	}
	return table
}

// weight is the finishing step of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), over both.
func weight(member, bucket uint64) uint64 {
	z := member + (bucket+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// readGroups finds the groups in their table, which is large and has few.
func readGroups(memory []byte) map[uint32]core.Group {
	found := make(map[uint32]core.Group)
	for slot := 0; (slot+1)*core.SizeGroup <= len(memory); slot++ {
		if data := memory[slot*core.SizeGroup:]; binary.LittleEndian.Uint64(data) != 0 { // its ID is the first
			var g core.Group
			decodeRecord(data[:core.SizeGroup], &g)
			found[uint32(slot)] = g
		}
	}
	return found
}

// own lets next have ways of its own, before there is a new one.
func (b *builder) own() {
	if !b.borrowed {
		return
	}
	b.next.ways, b.next.Nexthops = maps.Clone(b.next.ways), maps.Clone(b.next.Nexthops)
	b.next.Groups, b.next.usable, b.borrowed = maps.Clone(b.next.Groups), maps.Clone(b.next.usable), false
}

// UsedGroups are the groups that some route leads to. One that no route leads to any more keeps its place
// until the next [Image.Refresh] that has to change something.
func (m Image) UsedGroups() []uint32 {
	if len(m.Groups) == 0 {
		return nil
	}
	var used [core.MaxNexthops]bool
	for _, t := range m.tables {
		t.v4.nexthops(&used)
		t.v6.nexthops(&used)
	}
	var groups []uint32
	for slot, n := range m.Nexthops {
		if n.Type == core.NexthopECMP && used[slot] {
			groups = append(groups, n.Vif)
		}
	}
	return groups
}

// A Share is a member of a group, as the tables have it.
type Share struct {
	Nexthop, Label uint32
	Buckets        int // of core.GroupBuckets
}

// Shares lists a group's members.
func (m Image) Shares(group uint32) []Share {
	var shares []Share
	record := m.Groups[group]
	for _, way := range record.Members {
		if way != 0 {
			shares = append(shares, Share{Nexthop: core.Route(way).Ref(), Label: core.Route(way).Label()})
		}
	}
	for _, member := range record.Buckets[core.AnyMember] {
		if int(member) < len(shares) {
			shares[member].Buckets++
		}
	}
	return shares
}

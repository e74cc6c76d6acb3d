package config

import (
	"encoding/binary"
	"math/bits"
	"sync/atomic"
	"unsafe"

	"windtunnel/vrouter/core"
)

// Hosts is the memory of the table of single IPv4 addresses' routes, struct vr_hosts: what the route
// tables have, once more. It may lack any, and must not have what they have not.
type Hosts []byte

// Single is an address of a VRF whose route is another one.
type Single struct {
	VRF, Address uint32
	had          bool // a route before
}

func (s Single) key() uint64 { return uint64(s.VRF)<<32 | uint64(s.Address) }

const hostSlot = core.SizeHosts / core.HostWays

// HostBuckets is the table's size: with room for the limit of routes and half as many again, one in
// twenty finds its bucket full.
func (l Limits) HostBuckets() uint32 {
	return 1 << bits.Len(uint(max(l.routes()*3/2/core.HostWays, 1)-1))
}

// find looks for an address in its bucket (VR_HOST_BUCKET), and for a slot that is free there; both are
// negative if there is none.
func (h Hosts) find(key uint64) (at, free int) {
	at, free = -1, -1
	begin := int(uint32(key*core.HostHash>>32)&uint32(len(h)/core.SizeHosts-1)) * core.SizeHosts
	for slot := begin; slot < begin+core.SizeHosts; slot += hostSlot {
		switch binary.LittleEndian.Uint64(h[slot:]) {
		case key:
			at = slot
		case 0:
			free = slot
		}
	}
	return at, free
}

// store is one store of an aligned word, which packets may read at any time.
func (h Hosts) store(at int, word uint64) {
	atomic.StoreUint64((*uint64)(unsafe.Pointer(&h[at])), word)
}

// Forget takes addresses out, before their routes change: packets find those in the route tables then.
func (h Hosts) Forget(hosts []Single) {
	for _, host := range hosts {
		if !host.had {
			continue
		}
		if at, _ := h.find(host.key()); at >= 0 {
			h.store(at, 0)
			h.store(at+8, 0)
		}
	}
}

// Remember puts addresses in that were taken out for changes which led to the image. No packet may be
// under way that began before: it could have seen another address in the same place.
func (m Image) Remember(into Hosts, hosts []Single) {
	for _, host := range hosts {
		route := m.tables[host.VRF].v4.find(core.Addr{Hi: uint64(host.Address) << 32}, 32)
		at, free := into.find(host.key())
		if route != 0 && at < 0 && free >= 0 {
			into.store(free+8, uint64(route))
			into.store(free, host.key())
		}
	}
}

// RememberAll puts all addresses in, as Remember.
func (m Image) RememberAll(into Hosts) {
	for vrf, t := range m.tables {
		var p Plan
		p.hosts(vrf, nil, t.v4)
		m.Remember(into, p.Hosts)
	}
}

// hosts adds the addresses whose own routes differ between two tries, by position. Equal numbers are
// equal blocks, and so are all below them.
func (p *Plan) hosts(vrf uint32, old, new *block) {
	switch {
	case old == new || old != nil && new != nil && old.number == new.number && old.number != 0 && old.number != embedded:
	case old == nil || new == nil || old.length == new.length && old.prefix == new.prefix:
		p.hostsAt(vrf, old, new)
	case new.length < old.length && new.leadsTo(old.prefix):
		p.hostsAmong(new, old, func(at, other *block) { p.hosts(vrf, other, at) })
	case old.length < new.length && old.leadsTo(new.prefix):
		p.hostsAmong(old, new, func(at, other *block) { p.hosts(vrf, at, other) })
	default:
		p.hosts(vrf, old, nil)
		p.hosts(vrf, nil, new)
	}
}

// hostsAt compares two blocks of one prefix; one may be none.
func (p *Plan) hostsAt(vrf uint32, old, new *block) {
	some := old
	if some == nil {
		some = new
	}
	for entry := range core.BlockEntries {
		was, is := old.hostAt(entry), new.hostAt(entry)
		if was != is {
			address := withBits(some.prefix, int(some.length), entry)
			p.Hosts = append(p.Hosts, Single{VRF: vrf, Address: uint32(address.Hi >> 32), had: was != 0})
		}
		p.hosts(vrf, old.childOf(entry), new.childOf(entry))
	}
}

// hostsAmong compares a block that stands below another one's prefix with what is there, and what else
// is below that with nothing.
func (p *Plan) hostsAmong(outer, inner *block, compare func(at, other *block)) {
	at := nextBits(inner.prefix, int(outer.length))
	for entry := range core.BlockEntries {
		if entry == at {
			compare(outer.child(entry), inner)
		} else if child := outer.child(entry); child != nil {
			compare(child, nil)
		}
	}
}

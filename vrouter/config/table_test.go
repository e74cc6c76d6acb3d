package config

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"windtunnel/vrouter/core"
)

// A model is the definition of the longest prefix match: look at every route.
type model map[netip.Prefix]core.Route

func (m model) lookup(a netip.Addr) (best core.Route) {
	longest := -1
	for prefix, route := range m {
		if prefix.Bits() > longest && prefix.Contains(a) {
			longest, best = prefix.Bits(), route
		}
	}
	return best
}

// testVRF is that of the tests' tables.
const testVRF = 7

// A memory is a table of blocks as packets see it, kept by the plans.
type memory struct {
	pool  *pool
	table routeTable
	bytes []byte
}

func newMemory(blocks uint32) *memory {
	return &memory{pool: newPool(blocks), bytes: make([]byte, blocks*core.SizeBlock)}
}

// commit brings a changed table into the memory.
func (m *memory) commit(t interface{ Fatal(...any) }, next routeTable) Plan {
	m.pool.begin()
	for _, root := range []*block{next.v4, next.v6} {
		if err := root.settle(m.pool); err != nil {
			t.Fatal(err)
		}
	}
	var p Plan
	p.routes(testVRF, m.table, next)
	for _, w := range p.Prepare {
		copy(m.bytes[w.Offset:], w.Data)
	}
	m.table = next
	return p
}

// release gives back what nobody looks at any more.
func (m *memory) release(retired []uint32) { m.pool.free = append(m.pool.free, retired...) }

// lookup is vr_route_lookup of vr_lookup.h.
func (m *memory) lookup(a netip.Addr) (best core.Route) {
	root := m.table.v6.settled()
	if a.Is4() {
		root = m.table.v4.settled()
	}
	at := core.AddrOf(a)
	for entry := core.MakeChild(root, 0); root != 0; {
		block := m.bytes[entry.Ref()*core.SizeBlock:]
		word := func(i int) uint64 { return binary.LittleEndian.Uint64(block[8*i:]) }
		length := entry.PrefixBits()
		if otherwise := core.Route(word(2)); otherwise != 0 {
			best = otherwise
		}
		if sharedBits(core.Addr{Hi: word(0), Lo: word(1)}, at) < length {
			return best
		}
		entry = core.Route(word(4 + nextBits(at, length)))
		if entry&core.RouteTail != 0 {
			if b := embed(firstBits(at, length+core.BlockBits), length+core.BlockBits, entry); b.prefix == firstBits(at, int(b.length)) {
				entry = b.covering(nextBits(at, int(b.length)))
			} else {
				entry = 0
			}
		}
		if entry&core.RouteChild == 0 {
			if entry != 0 {
				best = entry
			}
			return best
		}
	}
	return best
}

// drawAddress makes addresses that often share their first bits with others.
func drawAddress(t *rapid.T, v4 bool) netip.Addr {
	size := 16
	if v4 {
		size = 4
	}
	b := make([]byte, size)
	for i := range b {
		b[i] = rapid.SampledFrom([]byte{0, 0, 1, 0x10, 0x80, 0xff}).Draw(t, "byte")
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}

// TestTable: whatever is put in, changed and taken away, an address finds what the definition says,
// in the trie and in the memory; and everything else is as if the routes that are left had been alone.
func TestTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, want := newMemory(4096), model{}
		var known []netip.Prefix
		for range rapid.IntRange(1, 12).Draw(t, "changes") {
			next := m.table
			for range rapid.IntRange(1, 8).Draw(t, "routes of a change") {
				prefix := drawPrefix(t, known)
				known = append(known, prefix)
				route := core.Route(0)
				if rapid.IntRange(0, 3).Draw(t, "removed") > 0 {
					route = core.MakeRoute(uint32(rapid.IntRange(1, 5).Draw(t, "nexthop")), 0, prefix.Bits())
				}
				next.set(prefix, route)
				if want[prefix] = route; route == 0 {
					delete(want, prefix)
				}
			}
			before := m.table
			plan := m.commit(t, next)
			for _, root := range []*block{before.v4, before.v6} {
				stands(t, root, m.bytes) // packets may still be in it
			}
			m.release(plan.Retired)
			for range 8 {
				checkTable(t, m, want, drawAddress(t, rapid.Bool().Draw(t, "IPv4")))
			}
			for _, prefix := range known {
				checkTable(t, m, want, prefix.Addr())
			}
		}
		sameAsNew(t, m, want)
	})
}

func drawPrefix(t *rapid.T, known []netip.Prefix) netip.Prefix {
	if len(known) > 0 && rapid.Bool().Draw(t, "a known prefix") {
		return rapid.SampledFrom(known).Draw(t, "prefix")
	}
	a := drawAddress(t, rapid.Bool().Draw(t, "IPv4"))
	prefix, _ := a.Prefix(rapid.IntRange(0, a.BitLen()).Draw(t, "length"))
	return prefix
}

func checkTable(t *rapid.T, m *memory, want model, a netip.Addr) {
	if got := m.table.lookup(a); got != want.lookup(a) {
		t.Fatalf("%s: %x, not %x", a, uint64(got), uint64(want.lookup(a)))
	}
	if got := m.lookup(a); got != want.lookup(a) {
		t.Fatalf("%s: %x in the memory, not %x", a, uint64(got), uint64(want.lookup(a)))
	}
}

// stands checks that the memory holds a trie.
func stands(t *rapid.T, b *block, memory []byte) {
	if b == nil || b.number == embedded {
		return
	}
	at := int(b.number) * core.SizeBlock
	if !slices.Equal(b.encode(nil), memory[at:at+core.SizeBlock]) {
		t.Fatalf("block %d is not what the memory holds", b.number)
	}
	for _, child := range b.below {
		stands(t, child, memory)
	}
}

// sameAsNew: what many changes led to is what the same routes give at once, block by block; so is what
// is read back; and no block is lost.
func sameAsNew(t *rapid.T, m *memory, want model) {
	var once routeTable
	for prefix, route := range want {
		once.set(prefix, route)
	}
	if !once.v4.adopt(m.table.v4) || !once.v6.adopt(m.table.v6) {
		t.Fatal("many changes led to another table than their sum")
	}
	entries := 0
	for e := range m.table.all() {
		if want[e.Prefix] != e.Route {
			t.Fatalf("%s is listed as %x, not %x", e.Prefix, uint64(e.Route), uint64(want[e.Prefix]))
		}
		entries++
	}
	if entries != len(want) || m.table.v4.count()+m.table.v6.count() != entries {
		t.Fatalf("%d routes are listed, there are %d", entries, len(want))
	}
	used := make(map[uint32]bool)
	m.table.v4.mark(used)
	m.table.v6.mark(used)
	if total := int(m.pool.next) - 1 - len(m.pool.free); total != len(used) || total > 2*len(want)+2 {
		t.Fatalf("%d blocks are held, %d used, for %d routes", total, len(used), len(want))
	}
	for _, root := range []*block{m.table.v4, m.table.v6} {
		if root != nil {
			stands(t, readBlock(m.bytes, root.number, 0), m.bytes)
		}
	}
}

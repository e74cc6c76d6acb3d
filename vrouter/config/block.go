package config

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"windtunnel/vrouter/core"
)

// A block is struct vr_block with what the agent has to know besides: the block's routes, also those
// that longer ones hide. Once it has a number, packets may be in it, and it never changes again; a
// change copies it, and all blocks above it. A block without a number belongs to whoever made it.
type block struct {
	prefix    core.Addr
	otherwise core.Route   // the route of the block above, at the entry that leads here
	routes    []core.Route // in the order of their spots
	below     []*block     // in the order of their entries
	spots     uint32       // which spots have a route
	forks     uint16       // which entries have a block below
	length    uint8        // of the prefix, a multiple of core.BlockBits
	number    uint32       // in the table, or embedded
}

// embedded is instead of a number when the block stands in the entry that would lead to it.
const embedded = ^uint32(0)

// The spot of a route in its block: a 1, then those bits of its prefix that the block's lacks. So
// spot p's two longer prefixes are at 2p and 2p+1, as in a heap.
type spot uint

func spotOf(prefix core.Addr, length int, blockLength uint8) spot {
	extra := length - int(blockLength)
	return 1<<extra | spot(nextBits(prefix, int(blockLength))>>(core.BlockBits-extra))
}

// bits is how much longer than the block's a route's prefix is.
func (p spot) bits() int { return bits.Len(uint(p)) - 1 }

// entries are those that a spot covers: from first, up to but not with end.
func (p spot) entries() (first, end int) {
	shift := core.BlockBits - p.bits()
	return int(p)<<shift - core.BlockEntries, int(p+1)<<shift - core.BlockEntries
}

// homeLength is the length of the block that holds routes of a prefix length.
func homeLength(length int) uint8 {
	return uint8(max(length-1, 0) / core.BlockBits * core.BlockBits)
}

func (b *block) routeAt(p spot) core.Route {
	if b.spots>>p&1 == 0 {
		return 0
	}
	return b.routes[bits.OnesCount32(b.spots&(1<<p-1))]
}

// setRoute puts a route at a spot, or takes away what is there (0).
func (b *block) setRoute(p spot, route core.Route) {
	at, has := bits.OnesCount32(b.spots&(1<<p-1)), b.spots>>p&1 != 0
	switch {
	case has && route == 0:
		b.routes = slices.Delete(b.routes, at, at+1)
		b.spots &^= 1 << p
	case has:
		b.routes[at] = route
	case route != 0:
		b.routes = slices.Insert(b.routes, at, route)
		b.spots |= 1 << p
	}
}

// covering is the longest of the block's routes that covers an entry.
func (b *block) covering(entry int) core.Route {
	for p := spot(core.BlockEntries + entry); p > 0; p >>= 1 {
		if b.spots>>p&1 != 0 {
			return b.routeAt(p)
		}
	}
	return 0
}

func (b *block) child(entry int) *block {
	if b.forks>>entry&1 == 0 {
		return nil
	}
	return b.below[bits.OnesCount16(b.forks&(1<<entry-1))]
}

// childOf is child, also of no block.
func (b *block) childOf(entry int) *block {
	if b == nil {
		return nil
	}
	return b.child(entry)
}

// hostAt is the route of an entry's single IPv4 address, in a trie of those.
func (b *block) hostAt(entry int) core.Route {
	if b == nil || int(b.length) != 32-core.BlockBits {
		return 0
	}
	return b.routeAt(spot(core.BlockEntries + entry))
}

// hang puts a block below an entry, or takes away what is there (nil).
func (b *block) hang(entry int, child *block) {
	at, has := bits.OnesCount16(b.forks&(1<<entry-1)), b.forks>>entry&1 != 0
	if child != nil {
		child = child.under(b.covering(entry))
	}
	switch {
	case has && child == nil:
		b.below = slices.Delete(b.below, at, at+1)
		b.forks &^= 1 << entry
	case has:
		b.below[at] = child
	case child != nil:
		b.below = slices.Insert(b.below, at, child)
		b.forks |= 1 << entry
	}
}

// under is the block where the route above it is another one.
func (b *block) under(route core.Route) *block {
	if b.otherwise == route {
		return b
	}
	b = b.mine()
	b.otherwise = route
	return b
}

// mine is the block itself while it may change, or a copy.
func (b *block) mine() *block {
	if b.number == 0 {
		return b
	}
	c := *b
	c.number, c.routes, c.below = 0, slices.Clone(b.routes), slices.Clone(b.below)
	return &c
}

// leadsTo tells whether an address begins with the block's prefix.
func (b *block) leadsTo(a core.Addr) bool { return sharedBits(b.prefix, a) >= int(b.length) }

// with is the trie below with another route for a prefix that begins with the block's.
func (b *block) with(prefix core.Addr, length int, route core.Route) *block {
	b = b.mine()
	home := homeLength(length)
	if b.length == home {
		b.change(spotOf(prefix, length, home), route)
		return b
	}
	entry := nextBits(prefix, int(b.length))
	child := b.child(entry)
	if child == nil {
		child = &block{prefix: firstBits(prefix, int(home)), length: home}
	}
	shared := min(sharedBits(child.prefix, prefix), int(home)) &^ (core.BlockBits - 1)
	if shared < int(child.length) {
		fork := &block{prefix: firstBits(prefix, shared), length: uint8(shared)}
		fork.hang(nextBits(child.prefix, shared), child)
		child = fork
	}
	b.hang(entry, child.with(prefix, length, route))
	return b
}

// change sets a route of the block itself, and tells the blocks below.
func (b *block) change(p spot, route core.Route) {
	b.setRoute(p, route)
	for entry, end := p.entries(); entry < end; entry++ {
		if child := b.child(entry); child != nil {
			b.hang(entry, child)
		}
	}
}

// without is the trie below without the route of a prefix, which is there.
func (b *block) without(prefix core.Addr, length int) *block {
	b = b.mine()
	if home := homeLength(length); b.length == home {
		b.change(spotOf(prefix, length, home), 0)
		return b
	}
	entry := nextBits(prefix, int(b.length))
	child := b.child(entry).without(prefix, length)
	switch {
	case child.spots == 0 && len(child.below) == 0:
		child = nil
	case child.spots == 0 && len(child.below) == 1:
		child = child.below[0]
	}
	b.hang(entry, child)
	return b
}

// find is the route of exactly this prefix, or 0.
func (b *block) find(prefix core.Addr, length int) core.Route {
	home := homeLength(length)
	for b != nil && b.length < home {
		b = b.child(nextBits(prefix, int(b.length)))
	}
	if b == nil || b.length != home || !b.leadsTo(prefix) {
		return 0
	}
	return b.routeAt(spotOf(prefix, length, home))
}

// mayEmbed tells whether the entry above, so many bits of prefix behind it, can say all of the block: a
// lone route, when there is none above to fall back to.
func (b *block) mayEmbed(above int) bool {
	return len(b.routes) == 1 && len(b.below) == 0 && b.otherwise == 0 && b.routes[0].MayHaveTail() &&
		b.routes[0].PrefixBits()-above <= core.RouteTailBits
}

// tail is what a lone route's prefix has behind so many bits.
func (b *block) tail(above int) uint32 {
	first, _ := spot(bits.Len32(b.spots) - 1).entries()
	a, length := withBits(b.prefix, int(b.length), first), b.routes[0].PrefixBits()
	var value uint32
	for at := above; at < length; at += core.BlockBits {
		value = value<<core.BlockBits | uint32(nextBits(a, at))
	}
	return value >> ((above - length) & (core.BlockBits - 1))
}

// embed is the reverse: the block of a lone route whose prefix begins with so many bits of an address.
func embed(a core.Addr, above int, entry core.Route) *block {
	route, tail := entry.Tail()
	length := route.PrefixBits()
	if length <= above || length-above > core.RouteTailBits || length > 128 {
		return nil
	}
	for at, left := above, length-above; left > 0; at, left = at+core.BlockBits, left-core.BlockBits {
		a = withBits(a, at, int(tail<<core.BlockBits>>left&(core.BlockEntries-1)))
	}
	b := &block{prefix: firstBits(a, int(homeLength(length))), length: homeLength(length), number: embedded}
	b.setRoute(spotOf(a, length, b.length), route)
	return b
}

// encode appends the block as it stands in the table.
func (b *block) encode(to []byte) []byte {
	to = binary.LittleEndian.AppendUint64(to, b.prefix.Hi)
	to = binary.LittleEndian.AppendUint64(to, b.prefix.Lo)
	to = binary.LittleEndian.AppendUint64(to, uint64(b.otherwise))
	to = binary.LittleEndian.AppendUint64(to, uint64(b.length))
	for entry := range core.BlockEntries {
		route := b.covering(entry)
		switch child := b.child(entry); {
		case child == nil:
		case child.number == embedded:
			route = child.routes[0].WithTail(child.tail(int(b.length) + core.BlockBits))
		default:
			route = core.MakeChild(child.number, int(child.length))
		}
		to = binary.LittleEndian.AppendUint64(to, uint64(route))
	}
	return to
}

// readBlock makes a block of its table, and all below it. Routes that longer ones hide left no trace
// there. What is no trie, as a damaged table's, ends where it stops being one.
func readBlock(table []byte, number uint32, length int) *block {
	if uint64(number+1)*core.SizeBlock > uint64(len(table)) {
		return nil
	}
	word := func(i int) uint64 {
		return binary.LittleEndian.Uint64(table[int(number)*core.SizeBlock+8*i:])
	}
	b := &block{prefix: core.Addr{Hi: word(0), Lo: word(1)}, otherwise: core.Route(word(2)), length: uint8(length), number: number}
	if word(3) != uint64(length) {
		return nil
	}
	for entry := range core.BlockEntries {
		route := core.Route(word(4 + entry))
		if route&core.RouteTail != 0 {
			if child := embed(withBits(b.prefix, length, entry), length+core.BlockBits, route); child != nil {
				b.below = append(b.below, child)
				b.forks |= 1 << entry
			}
			continue
		}
		if route&core.RouteChild != 0 {
			below := route.PrefixBits()
			if below <= length || below > 128-core.BlockBits || below%core.BlockBits != 0 {
				continue
			}
			child := readBlock(table, route.Ref(), below)
			if child == nil {
				continue
			}
			route = child.otherwise
			b.below = append(b.below, child)
			b.forks |= 1 << entry
		}
		extra := route.PrefixBits() - length
		if route != 0 && extra >= 0 && extra <= core.BlockBits {
			b.setRoute(spot(core.BlockEntries+entry)>>(core.BlockBits-extra), route)
		}
	}
	return b
}

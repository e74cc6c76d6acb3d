package config

import (
	"errors"
	"fmt"

	"windtunnel/vrouter/core"
)

// ErrFull: the tables have no room for a change, or more routes than their limit. What is being replaced
// takes room, too, until no packet can meet it any more: see [Image.Release]; and so does what no route
// needs any more, until [Image.Refresh].
var ErrFull = errors.New("the tables are full")

// Limits say how much the tables have room for. They hold memory from the start.
type Limits struct {
	Routes int `json:"routes,omitempty"` // DefaultRoutes if 0
	Flows  int `json:"flows,omitempty"`  // DefaultFlows if 0
}

const (
	// DefaultRoutes is the limit of routes of a configuration that names none.
	DefaultRoutes = 65536
	// MaxRoutes is the largest limit.
	MaxRoutes = 2_000_000
	// DefaultFlows is the limit of flows of a configuration that names none.
	DefaultFlows = 65536
	// MaxFlows is the largest limit.
	MaxFlows = 2_000_000
	// spareBlocks are for ports' and gateways' routes, for peers, for roots, and for what a change replaces.
	spareBlocks = 16384
)

// Blocks is the size of the table: a route has one block at most that is not there for another one,
// and a trie of so many ends has fewer forks than ends.
func (l Limits) Blocks() uint32 { return uint32(2*l.routes() + spareBlocks) }

// Same tells whether two limits are alike: one that is left out is the default.
func (l Limits) Same(other Limits) bool {
	return l.routes() == other.routes() && l.FlowTable() == other.FlowTable()
}

// FlowTable is how many flows there is room for.
func (l Limits) FlowTable() uint32 {
	if l.Flows == 0 {
		return DefaultFlows
	}
	return uint32(l.Flows)
}

func (l Limits) routes() int {
	if l.Routes == 0 {
		return DefaultRoutes
	}
	return l.Routes
}

// A pool hands out the numbers of the route tables' blocks. Number 0 means "none".
type pool struct {
	size  uint32
	next  uint32   // the lowest that nobody ever had
	free  []uint32 // given back
	taken []uint32 // since begin
}

func newPool(size uint32) *pool { return &pool{size: size, next: 1} }

// begin starts a change, which rollback ends as if it had not been.
func (p *pool) begin() { p.taken = p.taken[:0] }

func (p *pool) rollback() {
	p.free = append(p.free, p.taken...)
	p.taken = p.taken[:0]
}

func (p *pool) take() (number uint32, err error) {
	switch last := len(p.free) - 1; {
	case last >= 0:
		number = p.free[last]
		p.free = p.free[:last]
	case p.next < p.size:
		number = p.next
		p.next++
	default:
		return 0, fmt.Errorf("%w: %d blocks of routes, counting those that are being replaced", ErrFull, p.size-1)
	}
	p.taken = append(p.taken, number)
	return number, nil
}

// readPool is the pool of a table that holds some tries already.
func readPool(size uint32, roots []*block) *pool {
	used := make(map[uint32]bool)
	for _, root := range roots {
		root.mark(used)
	}
	p := newPool(size)
	for number := range used {
		p.next = max(p.next, number+1)
	}
	for number := p.next - 1; number > 0; number-- {
		if !used[number] {
			p.free = append(p.free, number)
		}
	}
	return p
}

func (b *block) mark(used map[uint32]bool) {
	if b == nil || b.number == embedded {
		return
	}
	used[b.number] = true
	for _, child := range b.below {
		child.mark(used)
	}
}

// settle numbers the blocks that have no number yet. After an error the pool must be rolled back.
func (b *block) settle(p *pool) (err error) {
	if b == nil || b.number != 0 {
		return nil
	}
	for i, child := range b.below {
		switch above := int(b.length) + core.BlockBits; {
		case child.number == 0 && child.mayEmbed(above):
			child.number = embedded
			continue
		case child.number == embedded && !child.mayEmbed(above):
			child = child.mine()
			b.below[i] = child
		}
		if err := child.settle(p); err != nil {
			return err
		}
	}
	b.number, err = p.take()
	return err
}

func (b *block) settled() uint32 {
	if b == nil {
		return 0
	}
	return b.number
}

// adopt gives a new trie's blocks the numbers of those in an old one that hold the same, so that
// nothing of them is written again. It tells whether that is the whole trie.
func (b *block) adopt(old *block) bool {
	switch {
	case b == nil || old == nil:
		return b == nil && old == nil
	case b.number != 0:
		return b.number == old.number
	case b.length < old.length:
		if b.leadsTo(old.prefix) {
			b.child(nextBits(old.prefix, int(b.length))).adopt(old)
		}
		return false
	case b.length > old.length:
		if old.leadsTo(b.prefix) {
			b.adopt(old.child(nextBits(b.prefix, int(old.length))))
		}
		return false
	case b.prefix != old.prefix:
		return false
	}
	same := b.otherwise == old.otherwise && b.forks == old.forks
	for entry := range core.BlockEntries {
		if child := b.child(entry); child != nil {
			same = child.adopt(old.child(entry)) && same
		} else {
			same = b.covering(entry) == old.covering(entry) && same
		}
	}
	if same {
		b.number = old.number
	}
	return same
}

// A difference between two tries: the blocks that only the new one has, and the numbers of those that
// only the old one has.
type difference struct {
	made []*block
	gone []uint32
}

// between compares tries by position. Equal numbers are equal blocks, and so are all below them.
func (d *difference) between(old, new *block) {
	if old != nil && old.number == embedded { // it is a part of the block above
		old = nil
	}
	if new != nil && new.number == embedded {
		new = nil
	}
	switch {
	case old == new || old != nil && new != nil && old.number == new.number:
	case old == nil:
		d.made = append(d.made, new)
		for _, child := range new.below {
			d.between(nil, child)
		}
	case new == nil:
		d.gone = append(d.gone, old.number)
		for _, child := range old.below {
			d.between(child, nil)
		}
	case old.length == new.length && old.prefix == new.prefix:
		d.made, d.gone = append(d.made, new), append(d.gone, old.number)
		for entry := range core.BlockEntries {
			d.between(old.child(entry), new.child(entry))
		}
	case new.length < old.length && new.leadsTo(old.prefix):
		d.made = append(d.made, new)
		d.among(new, old, func(at, other *block) { d.between(other, at) })
	case old.length < new.length && old.leadsTo(new.prefix):
		d.gone = append(d.gone, old.number)
		d.among(old, new, d.between)
	default:
		d.between(old, nil)
		d.between(nil, new)
	}
}

// among compares a block that stands below another one's prefix with what is there, and what else is
// below that with nothing.
func (d *difference) among(outer, inner *block, compare func(at, other *block)) {
	at := nextBits(inner.prefix, int(outer.length))
	for entry := range core.BlockEntries {
		switch {
		case entry == at:
			compare(outer.child(entry), inner)
		case outer.child(entry) != nil:
			compare(outer.child(entry), nil)
		}
	}
}

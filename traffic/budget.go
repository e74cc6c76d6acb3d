package traffic

import (
	"sync/atomic"
	"time"
)

// Budget is what flows may still move, in bytes or in datagrams, as their engine
// counts. Nil is without a bound.
type Budget struct {
	left  atomic.Int64
	first int64       // what there was in the beginning
	waits atomic.Bool // for Bound, when nothing is left
}

// unbounded is more than anything moves.
const unbounded = 1 << 62

// Allowance is what flows may move, in bytes or in datagrams.
type Allowance struct {
	Limit uint64 // 0: none
	Each  bool   // it is that of each flow, not of all
	Later bool   // it counts what is moved after Bound
	// First is what may be moved before Bound, where Later is set: whoever has moved so much waits for that. 0: no limit.
	First uint64
}

// Budgets are those of n flows: one that they share, or one for each.
func Budgets(n int, a Allowance) []*Budget {
	all := make([]*Budget, n)
	limit, waits := a.Limit, a.Later && a.First > 0
	switch {
	case waits:
		limit = a.First
	case limit == 0:
		return all
	case a.Later:
		limit = unbounded
	}
	for i := range all {
		if i > 0 && !a.Each {
			all[i] = all[0]
			continue
		}
		all[i] = &Budget{first: int64(min(limit, unbounded))}
		all[i].left.Store(all[i].first)
		all[i].waits.Store(waits)
	}
	return all
}

// Bound ends budgets of a limit that counts from now on, nil for a flow that has none, once so much more has been moved than
// a reading of their flows told: what was moved since it, or is under way, is taken from that, to the last byte. A limit of 0
// is none.
func Bound(budgets []*Budget, moved []uint64, limit uint64) {
	sums := map[*Budget]uint64{}
	for i, b := range budgets {
		if b != nil {
			sums[b] += moved[i]
		}
	}
	if limit == 0 {
		limit = unbounded
	}
	for b, sum := range sums {
		b.left.Add(int64(min(limit, unbounded)) + int64(sum) - b.first)
		b.waits.Store(false) // behind what there is now to take: see Await
	}
}

// awaitTick is how late who waits for Bound goes on.
const awaitTick = 100 * time.Microsecond

// Await is for a sender of whose budget nothing could be taken: it waits a moment for Bound where that is due, or for a stop,
// and tells whether there may be something again.
func (b *Budget) Await(stop *Stop) (again bool) {
	if b == nil {
		return false
	}
	if b.waits.Load() {
		stop.Sleep(awaitTick.Nanoseconds())
		return true
	}
	return b.left.Load() > 0
}

// Take returns how much of what is wanted may be moved; 0: the budget is spent.
//
//go:nosplit
func (b *Budget) Take(want int64) int64 {
	if b == nil {
		return want
	}
	left := b.left.Add(-want)
	if left >= 0 {
		return want
	}
	over := min(-left, want)
	b.left.Add(over)
	return want - over
}

// IsSpent tells whether nothing is left to take.
func (b *Budget) IsSpent() bool { return b != nil && b.left.Load() <= 0 }

// GiveBack returns what was taken and not moved.
//
//go:nosplit
func (b *Budget) GiveBack(n int64) {
	if b != nil {
		b.left.Add(n)
	}
}

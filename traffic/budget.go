package traffic

import "sync/atomic"

// Budget is what flows may still move, in bytes or in datagrams, as their engine
// counts. Nil is without a bound.
type Budget struct{ left atomic.Int64 }

// unbounded is more than anything moves.
const unbounded = 1 << 62

// Budgets are those of n flows that may move so much: one that they share, or one
// for each. A limit of 0 is none. Those of a limit that counts only later have no bound before Bound.
func Budgets(n int, limit uint64, each, later bool) []*Budget {
	all := make([]*Budget, n)
	if limit == 0 {
		return all
	}
	if later {
		limit = unbounded
	}
	for i := range all {
		if i > 0 && !each {
			all[i] = all[0]
			continue
		}
		all[i] = &Budget{}
		all[i].left.Store(int64(min(limit, unbounded)))
	}
	return all
}

// Bound ends budgets of a limit that counts from now on, nil for a flow that has none, once so much more has been moved than
// a reading of their flows told: what was moved since it, or is under way, is taken from that, to the last byte.
func Bound(budgets []*Budget, moved []uint64, limit uint64) {
	sums := map[*Budget]uint64{}
	for i, b := range budgets {
		if b != nil {
			sums[b] += moved[i]
		}
	}
	for b, sum := range sums {
		b.left.Add(int64(min(limit, unbounded)) + int64(sum) - unbounded)
	}
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

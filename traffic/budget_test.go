package traffic

import (
	"sync"
	"sync/atomic"
	"testing"
)

func TestBudgets(t *testing.T) {
	for name, c := range map[string]struct {
		limit uint64
		each  bool
		want  int64 // that three senders may send together, of 3,000 each
	}{
		"none":   {0, false, 9000},
		"shared": {1001, false, 1001},
		"each":   {1001, true, 3003},
		"ample":  {1 << 63, false, 9000},
	} {
		t.Run(name, func(t *testing.T) {
			var sent atomic.Int64
			var senders sync.WaitGroup
			budgets := Budgets(3, Allowance{Limit: c.limit, Each: c.each})
			for _, b := range budgets {
				senders.Go(func() {
					for range 1000 {
						n := b.Take(4)
						sent.Add(min(n, 3)) // a socket takes three of them
						b.GiveBack(max(0, n-3))
					}
				})
			}
			senders.Wait()
			if b := budgets[0]; b.IsSpent() != (b.Take(1) == 0) {
				t.Errorf("a budget that is spent: %t", b.IsSpent())
			}
			if sent.Load() != c.want {
				t.Errorf("sent %d, want %d", sent.Load(), c.want)
			}
		})
	}
}

// TestAwait: whoever has moved what may be moved before the bound goes on behind it; nobody goes on where nothing is left.
func TestAwait(t *testing.T) {
	for _, limit := range []uint64{0, 7} {
		var stop Stop
		b := Budgets(1, Allowance{Limit: limit, Later: true, First: 100})[0]
		if b.Take(1000) != 100 || b.Take(1) != 0 || !b.Await(&stop) || b.Take(1) != 0 {
			t.Error("it does not stop before the bound")
		}
		Bound([]*Budget{b}, []uint64{100}, limit)
		if !b.Await(&stop) {
			t.Error("it does not go on behind the bound")
		}
		if got := b.Take(1000); limit == 0 && got != 1000 || limit > 0 && (got != int64(limit) || b.Await(&stop)) {
			t.Errorf("%d may be moved behind the bound, the limit is %d", got, limit)
		}
	}
	var none *Budget
	if none.Await(new(Stop)) {
		t.Error("without a budget there is nothing to wait for")
	}
}

// TestBound: budgets end when so much more was moved than the reading told, whatever was moved between it and the bound, and
// while something is under way that comes back.
func TestBound(t *testing.T) {
	for name, c := range map[string]struct {
		each bool
		want int64
	}{"shared": {false, 1001}, "each": {true, 2 * 1001}} {
		t.Run(name, func(t *testing.T) {
			const told, since = 4000, 500
			budgets := append(Budgets(2, Allowance{Limit: 1001, Each: c.each, Later: true}), nil) // the last one's is of the other role
			moved := []uint64{told, told, 1 << 40}
			for _, b := range budgets[:2] {
				if b.Take(told+since) != told+since {
					t.Fatal("an unbounded budget has an end")
				}
			}
			underWay := budgets[0].Take(300)
			Bound(budgets, moved, 1001)
			budgets[0].GiveBack(underWay)
			sum := int64(2 * since)
			for _, b := range budgets[:2] {
				for range 1000 {
					n := b.Take(4)
					sum += min(n, 3)
					b.GiveBack(max(0, n-3))
				}
				if !b.IsSpent() {
					t.Error("it has something left")
				}
			}
			if sum != c.want {
				t.Errorf("%d were moved since the reading, want %d", sum, c.want)
			}
		})
	}
}

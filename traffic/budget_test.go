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
			budgets := Budgets(3, c.limit, c.each)
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

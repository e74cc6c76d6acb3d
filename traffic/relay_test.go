package traffic

import (
	"testing"
	"time"

	"windtunnel/result"
)

// TestAWatcherHoldsNothingUp: one that never returns misses what has no room, and is not waited for without end.
func TestAWatcherHoldsNothingUp(t *testing.T) {
	never := make(chan struct{})
	defer close(never)
	w := NewWatcher(func(result.Interval) { <-never })
	began := time.Now()
	for range 3 * waitingIntervals {
		w.Tell(result.Interval{})
	}
	w.Close()
	if took := time.Since(began); took < relayPatience || took > 10*relayPatience {
		t.Errorf("it took %s", took)
	}
	var seen []float64
	w = NewWatcher(func(i result.Interval) { seen = append(seen, i.From) })
	for i := range waitingIntervals {
		w.Tell(result.Interval{From: float64(i)})
	}
	if w.Close(); len(seen) != waitingIntervals || seen[1] != 1 {
		t.Errorf("%v", seen)
	}
	w = NewWatcher(nil)
	w.Tell(result.Interval{})
	w.Close()
}

package traffic

import (
	"sync"
	"testing"
	"time"
)

// TestAStopWakesWhoSleeps, whoever came first.
func TestAStopWakesWhoSleeps(t *testing.T) {
	var s Stop
	if s.Load() {
		t.Fatal("nobody asked")
	}
	s.Sleep(time.Millisecond.Nanoseconds())
	s.Sleep(0)
	s.Sleep(-1)
	var sleepers sync.WaitGroup
	for range 8 {
		sleepers.Go(func() {
			for !s.Load() { // a signal may wake it, too
				s.Sleep(time.Hour.Nanoseconds())
			}
		})
	}
	s.Ask()
	s.Ask()
	sleepers.Wait()
	s.Sleep(time.Hour.Nanoseconds())
}

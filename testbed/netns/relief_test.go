package netns

import (
	"testing"
	"time"
)

// TestAnOverloadedReceiveThreadSharesItsCPU: it becomes ordinary when it takes all,
// stays so at an even share, and is as before when there is little to do.
func TestAnOverloadedReceiveThreadSharesItsCPU(t *testing.T) {
	var used time.Duration
	var calls string
	r := &receiveThread{
		clock:  func() time.Duration { return used },
		prefer: func() error { calls += "p"; return nil },
		demote: func() error { calls += "d"; return nil },
	}
	now := time.Now()
	r.read = now
	for i, step := range []struct {
		share    float64
		ordinary bool
	}{{0.6, false}, {0.9, false}, {0.99, true}, {0.5, true}, {0.99, true}, {0.4, true}, {0.2, false}, {0.6, false}} {
		used += time.Duration(step.share * float64(reliefEvery))
		now = now.Add(reliefEvery)
		r.judge(now)
		if r.ordinary != step.ordinary {
			t.Errorf("step %d: ordinary is %v at a share of %g", i, r.ordinary, step.share)
		}
	}
	if calls != "dp" {
		t.Errorf("the priorities were set in the order %q", calls)
	}
}

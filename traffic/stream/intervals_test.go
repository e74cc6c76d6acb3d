package stream

import (
	"math"
	"testing"
	"time"

	"windtunnel/result"
)

// TestIntervalsCoverTheRun runs again, for longer, where a busy machine let a window go by, or began and read it too late.
func TestIntervalsCoverTheRun(t *testing.T) {
	for window := 200 * time.Millisecond; window < 5*time.Second; window *= 2 {
		send, receive := pair(t, result.Options{"direction": "both"})
		when := soon()
		when.WarmUp, when.Window, when.Interval = window/4, window, window/5
		var live []result.Interval
		when.Observe = func(i result.Interval) { live = append(live, i) } // one goroutine, which ends before Run
		silent := when
		silent.Observe = nil
		var s, r outcome
		done := make(chan struct{})
		go func() { defer close(done); r.end, r.err = receive.Run(t.Context(), silent) }()
		s.end, s.err = send.Run(t.Context(), when)
		<-done
		if s.err != nil || r.err != nil || s.end.Error+r.end.Error != "" {
			t.Logf("a run failed: %+v %+v", s, r)
			continue
		}
		inPlace := true
		for name, intervals := range map[string][]result.Interval{
			"sent": s.end.Intervals, "received": r.end.Intervals, "sent back": r.end.Opposite.Intervals, "received back": s.end.Opposite.Intervals,
		} {
			inPlace = checkIntervals(t, name, intervals, window.Seconds()) && inPlace
		}
		kept := s.end.Intervals[0]
		kept.BackBytes = s.end.Opposite.Intervals[0].Bytes
		if len(live) != len(s.end.Intervals) || live[0] != kept {
			t.Errorf("told %d intervals live, kept %d", len(live), len(s.end.Intervals))
		}
		sum := uint64(0)
		for _, i := range s.end.Intervals {
			if i.From > -1e-3 {
				sum += i.Bytes
			}
		}
		if ratio := float64(sum) / float64(s.end.Bytes); inPlace && ratio > 0.8 && ratio < 1.2 {
			return
		}
		t.Logf("the window's intervals hold %d bytes, the window %d", sum, s.end.Bytes)
	}
	t.Error("the intervals never were where they belong")
}

// checkIntervals wants them without gaps, and tells whether they go from the warm-up to the
// end of the window, which has so many seconds.
func checkIntervals(t *testing.T, name string, intervals []result.Interval, window float64) (inPlace bool) {
	t.Helper()
	if len(intervals) == 0 {
		t.Fatalf("%s: no intervals", name)
	}
	bytes := uint64(0)
	for n, i := range intervals {
		bytes += i.Bytes
		if i.To <= i.From {
			t.Errorf("%s: interval %d goes from %g to %g", name, n, i.From, i.To)
		}
		if n > 0 && i.From != intervals[n-1].To {
			t.Errorf("%s: interval %d begins at %g, the one before ended at %g", name, n, i.From, intervals[n-1].To)
		}
	}
	first, last := intervals[0], intervals[len(intervals)-1]
	inPlace = len(intervals) > 1 && first.From < -0.001 && first.From > -2.5*window && math.Abs(last.To-window) < window && bytes > 0
	if !inPlace {
		t.Logf("%s: %d bytes from %g to %g in %d intervals", name, bytes, first.From, last.To, len(intervals))
	}
	return inPlace
}

package stream

import (
	"math"
	"testing"
	"time"

	"windtunnel/result"
)

func TestIntervalsCoverTheRun(t *testing.T) {
	send, receive := pair(t, result.Options{"direction": "both"})
	when := soon()
	when.WarmUp, when.Window, when.Interval = 50*time.Millisecond, 200*time.Millisecond, 40*time.Millisecond
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
		t.Fatalf("a run failed: %+v %+v", s, r)
	}
	for name, intervals := range map[string][]result.Interval{
		"sent": s.end.Intervals, "received": r.end.Intervals, "sent back": r.end.Opposite.Intervals, "received back": s.end.Opposite.Intervals,
	} {
		checkIntervals(t, name, intervals)
	}
	if len(live) != len(s.end.Intervals) || live[0] != s.end.Intervals[0] {
		t.Errorf("told %d intervals live, kept %d", len(live), len(s.end.Intervals))
	}
	sum := uint64(0)
	for _, i := range s.end.Intervals {
		if i.From > -1e-3 {
			sum += i.Bytes
		}
	}
	if ratio := float64(sum) / float64(s.end.Bytes); ratio < 0.8 || ratio > 1.2 {
		t.Errorf("the window's intervals hold %d bytes, the window %d", sum, s.end.Bytes)
	}
}

// checkIntervals wants them without gaps, from the warm-up to the window's end.
func checkIntervals(t *testing.T, name string, intervals []result.Interval) {
	t.Helper()
	if len(intervals) < 2 {
		t.Fatalf("%s: %d intervals", name, len(intervals))
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
	if first.From > -0.001 || first.From < -0.5 || math.Abs(last.To-0.2) > 0.2 || bytes == 0 {
		t.Errorf("%s: %d bytes from %g to %g", name, bytes, first.From, last.To)
	}
}

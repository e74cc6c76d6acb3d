package iperf3

import (
	"encoding/json"
	"testing"
	"time"
)

// TestHowLongAnEndStoodStill is told to the other one, but for what was omitted.
func TestHowLongAnEndStoodStill(t *testing.T) {
	streams := []*dataStream{{id: 1}}
	zero := reading{at: time.Now(), streams: make([]counts, 1)}
	s := &trial{test: Test{Protocol: TCP, Length: 1, Omit: time.Second}, streams: streams, tally: newTally(Test{Omit: time.Second}, streams, zero.at)}
	s.tally.still.Woke(700 * time.Millisecond)
	s.tally.reset(zero)
	s.tally.still.Woke(50 * time.Millisecond) // as on a busy machine
	s.tally.still.Woke(1500 * time.Millisecond)
	s.tally.still.Woke(500 * time.Millisecond)
	last := zero
	last.at = last.at.Add(3 * time.Second)
	last.shortfall = shortfall{missed: time.Second, held: time.Millisecond}
	told, err := json.Marshal(s.tally.results(last, CPU{}, true))
	if err != nil {
		t.Fatal(err)
	}
	peer, err := readResults(told, map[int]bool{1: true})
	if err != nil || peer.Own == nil || peer.Own.Stood != 2 || peer.Own.Missed != 1 || peer.Own.Held != 1e-3 {
		t.Fatalf("the other end is told %s, %v, and understands %+v", told, err, peer)
	}
	if e := s.tally.end(last, CPU{}, true, &peer); e.Stood != 2*time.Second || e.RemoteStood != 2*time.Second {
		t.Errorf("%v and %v", e.Stood, e.RemoteStood)
	}
}

// TestAnEndThatStoodStillKnowsIt: nobody is late for what is due but who could not run.
func TestAnEndThatStoodStillKnowsIt(t *testing.T) {
	for name, c := range map[string]struct {
		late, want time.Duration
	}{"at once": {0, 0}, "beside others": {2*guardPeriod - 1, 0}, "stopped": {2 * guardPeriod, 2 * guardPeriod}} {
		s := &trial{tally: &tally{}}
		s.tally.still.Woke(c.late)
		if s.tally.still.For != c.want {
			t.Errorf("%s: %v", name, s.tally.still.For)
		}
	}
}

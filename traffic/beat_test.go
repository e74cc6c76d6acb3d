package traffic

import (
	"testing"
	"time"
)

// TestWhoIsLateStoodStill: a program that is stopped, or has no CPU, is late for whatever it wakes for; on a busy machine all are, a little.
func TestWhoIsLateStoodStill(t *testing.T) {
	for _, usual := range []time.Duration{-time.Hour, 0, 50 * time.Millisecond} { // woken by something else, and early; on time; on a busy machine
		if stood := StoodStill(usual); stood != 0 {
			t.Errorf("%s late: stood still for %s", usual, stood)
		}
	}
	if stood := StoodStill(1500 * time.Millisecond); stood != 1500*time.Millisecond {
		t.Errorf("stood still for %s of 1.5 s", stood)
	}
}

// TestBeatsLeadToATime: none is beyond it, and what is over is nothing to be late for once more.
func TestBeatsLeadToATime(t *testing.T) {
	for ahead, longest := range map[time.Duration]time.Duration{time.Hour: beatEvery, time.Millisecond: time.Millisecond, -time.Hour: 0} {
		began := time.Now()
		beat := NextBeat(began.Add(ahead))
		if beat.Before(began) || beat.After(time.Now().Add(longest)) {
			t.Errorf("to a time in %s it is %s", ahead, beat.Sub(began))
		}
	}
}

// TestWhoWentOnCatchesUp: only for a while, and who never stood still never does.
func TestWhoWentOnCatchesUp(t *testing.T) {
	var s Still
	s.Woke(lateBeat - 1)
	if s.For != 0 || s.CatchesUp(time.Now()) {
		t.Errorf("as late as is usual: %+v", s)
	}
	s.Woke(2 * time.Second)
	s.Woke(time.Second)
	if s.For != 3*time.Second || s.woke.IsZero() {
		t.Errorf("late by 3 s in all: %+v", s)
	}
	for ago, want := range map[time.Duration]bool{-time.Hour: true, catchUp: false} {
		s.woke = time.Now().Add(-ago)
		if s.CatchesUp(time.Now()) != want {
			t.Errorf("it went on %s ago, and catches up: %t", ago, !want)
		}
	}
}

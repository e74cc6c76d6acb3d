package iperf3

import (
	"testing"
	"time"
)

// queueMover is a mover whose receiver has a backlog, of which each look reads a part.
type queueMover struct {
	lateMover
	at           time.Time
	waiting, had uint64
	endless      bool
}

func (m *queueMover) waits() bool {
	m.had++
	m.waiting--
	return m.waiting > 0 || m.endless
}

func (m *queueMover) glance() reading {
	return reading{at: m.at, streams: []counts{{bytes: m.had}}}
}

func (m *queueMover) read() reading { return m.glance() }

// TestWhatCameWhileThisEndStoodStillIsOfThatTime: an interval that ends then waits for it, or the next one had it.
func TestWhatCameWhileThisEndStoodStillIsOfThatTime(t *testing.T) {
	for name, c := range map[string]struct {
		late    time.Duration
		endless bool
		waits   bool
		bytes   uint64
	}{
		"it stood still":           {900 * time.Millisecond, false, true, 5},
		"it was in time":           {0, false, false, 0},
		"more comes all the while": {900 * time.Millisecond, true, true, 5},
	} {
		test := Test{Protocol: TCP, Length: 1, Interval: time.Second, Duration: time.Minute}
		streams := []*dataStream{{id: 1}}
		began := time.Now().Add(-2900 * time.Millisecond)
		r := &record{}
		m := &queueMover{lateMover: lateMover{streams: streams}, at: time.Now(), waiting: 5, endless: c.endless}
		s := &trial{test: test, server: true, streams: streams, mover: m, observer: r, tally: newTally(test, streams, began), guard: guard{silence: time.Hour, silent: noneCame}}
		s.tally.shown = 1
		s.guard.begin(m.at)
		s.guard.next = m.at.Add(time.Hour)
		s.tally.still.Woke(c.late)
		if err := s.tick(m.at); err != nil || (len(r.intervals) == 0) != c.waits {
			t.Fatalf("%s: %v, %d intervals at once", name, err, len(r.intervals))
		}
		s.guard.next = m.at // long due, as all is that was to be looked at meanwhile
		if err := s.tick(m.at); err != nil || c.waits && !s.guard.next.After(m.at) {
			t.Errorf("%s: %v, it looks at its limits in %v", name, err, s.guard.next.Sub(m.at))
		}
		s.guard.next = m.at.Add(time.Hour)
		if c.waits && s.next() != m.at.Add(guardShortest) {
			t.Errorf("%s: it looks again in %v", name, s.next().Sub(m.at))
		}
		limit := s.tally.still.Rest(m.at)
		for now := m.at; len(r.intervals) == 0 && now.Sub(m.at) <= 2*limit; now = now.Add(guardShortest) {
			if c.endless && m.had == c.bytes {
				now = m.at.Add(2 * limit)
			}
			if err := s.tick(now); err != nil {
				t.Fatal(err)
			}
		}
		if len(r.intervals) != 1 || r.intervals[0].Streams[0].Bytes != c.bytes {
			t.Errorf("%s: %+v, want one of %d bytes", name, r.intervals, c.bytes)
		}
	}
}

// TestARestOfAnIntervalIsOfTheNextOne where this end fell behind: of a few milliseconds there is no rate.
func TestARestOfAnIntervalIsOfTheNextOne(t *testing.T) {
	for at, next := range map[time.Duration]time.Duration{
		1001 * time.Millisecond: 2 * time.Second,
		2850 * time.Millisecond: 3 * time.Second,
		2940 * time.Millisecond: 4 * time.Second,
		3001 * time.Millisecond: 4 * time.Second,
	} {
		test := Test{Protocol: TCP, Length: 1, Interval: time.Second}
		streams := []*dataStream{{id: 1}}
		began := time.Now()
		s := &trial{test: test, streams: streams, observer: &record{}, tally: newTally(test, streams, began)}
		s.interval(reading{at: began.Add(at), streams: make([]counts, 1)})
		if got := s.intervalEnd().Sub(began); got != next {
			t.Errorf("after %v the next one ends at %v, want %v", at, got, next)
		}
	}
}

package iperf3

import (
	"testing"
	"time"
)

// TestAStallIsAWhileWithoutAMove, of at least so long, of what is sent with the other end's window closed.
func TestAStallIsAWhileWithoutAMove(t *testing.T) {
	const step = guardPeriod
	still := func(n int) []uint64 { return make([]uint64, n) }
	for name, c := range map[string]struct {
		moves     []uint64 // from look to look
		closed    float64  // of the time
		roundTrip time.Duration
		sends     bool
		segments  uint64 // from look to look
		total     time.Duration
		whiles    int
	}{
		"nothing stands":                  {[]uint64{1, 1, 1, 1, 1}, 1, 0, true, 0, 0, 0},
		"for a moment":                    {append(still(1), 1, 1), 1, 0, true, 0, 0, 0},
		"a closed window":                 {append(still(5), 1, 1), 1, 0, true, 0, 5 * step, 1},
		"until the end":                   {append([]uint64{1, 1}, still(5)...), 1, 0, true, 0, 5 * step, 1},
		"twice":                           {append(append(still(3), 1), append(still(2), 1)...), 1, 0, true, 0, 5 * step, 2},
		"the path takes no more":          {append(still(5), 1, 1), 0.5, 0, true, 0, 0, 0},
		"nothing comes":                   {append(still(5), 1, 1), 0, 0, false, 0, 5 * step, 1},
		"the window is a round trip's":    {append(still(5), 1, 1), 1, 300 * time.Millisecond, true, 0, 0, 0},
		"what comes is out of order":      {append(still(5), 1, 1), 0, 0, false, 1, 0, 0},
		"nor does it for two round trips": {append(still(6), 1, 1), 0, 300 * time.Millisecond, false, 0, 6 * step, 1},
	} {
		s := stall{}
		at, bytes, system := time.Now(), uint64(0), told{roundTrip: c.roundTrip}
		look := func() {
			s.look(at, bytes, func() told { return system }, c.sends)
		}
		look()
		for _, moved := range c.moves {
			at, bytes = at.Add(step), bytes+moved
			system.shut += time.Duration(c.closed * float64(step))
			system.segments += c.segments
			look()
		}
		s.over(c.sends)
		if s.total != c.total || s.whiles != c.whiles {
			t.Errorf("%s: %v in %d whiles, want %v in %d", name, s.total, s.whiles, c.total, c.whiles)
		}
	}
}

// stillMover moves nothing, behind a window that is closed.
type stillMover struct {
	lateMover
	at time.Time
}

func (m *stillMover) glance() reading {
	return reading{at: m.at, streams: make([]counts, len(m.streams))}
}

func (m *stillMover) read() reading {
	r := m.glance()
	for i, s := range m.streams {
		if s.sender {
			r.streams[i].tcp = &tcpCounts{rwnd: time.Duration(m.at.UnixNano())}
		}
	}
	return r
}

// TestStallsAreWatchedOfEachDirection of TCP, but not while this end stands still itself.
func TestStallsAreWatchedOfEachDirection(t *testing.T) {
	for name, c := range map[string]struct {
		test            Test
		late            time.Duration
		untaken, silent time.Duration
	}{
		"sends":            {Test{Protocol: TCP}, 0, time.Second, 0},
		"receives":         {Test{Protocol: TCP, Reverse: true}, 0, 0, time.Second},
		"both":             {Test{Protocol: TCP, Bidirectional: true}, 0, time.Second, time.Second},
		"datagrams":        {Test{Protocol: UDP, Reverse: true}, 0, 0, 0},
		"this end is late": {Test{Protocol: TCP, Bidirectional: true}, 300 * time.Millisecond, 0, 0},
	} {
		c.test.Parallel, c.test.Duration, c.test.Length = 1, time.Minute, 1
		streams := []*dataStream{}
		for i := range c.test.streams() {
			streams = append(streams, &dataStream{id: streamID(i), sender: c.test.sends(i, false)})
		}
		m := &stillMover{lateMover: lateMover{streams: streams}, at: time.Unix(0, 0)}
		s := &trial{test: c.test, streams: streams, mover: m, tally: newTally(c.test, streams, m.at), guard: guard{silence: time.Hour, silent: noneCame}}
		s.guard.begin(m.at)
		for range 11 {
			s.guard.next = m.at.Add(-c.late)
			if err := s.check(); err != nil {
				t.Fatal(err)
			}
			m.at = m.at.Add(guardPeriod)
		}
		s.tally.untaken.over(true)
		s.tally.silent.over(false)
		if s.tally.untaken.total != c.untaken || s.tally.silent.total != c.silent {
			t.Errorf("%s: untaken for %v, silent for %v", name, s.tally.untaken.total, s.tally.silent.total)
		}
	}
}

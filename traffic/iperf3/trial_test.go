package iperf3

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"windtunnel/result"
)

// lateMover is a mover whose receivers have a turn only after so many looks, as beside many others: what came waits
// in their sockets until then.
type lateMover struct {
	looks   int
	came    uint64
	halted  bool // its senders
	streams []*dataStream
}

func (m *lateMover) waits() bool { return m.looks > 0 }

func (m *lateMover) glance() reading {
	m.looks--
	r := reading{streams: make([]counts, len(m.streams))}
	for i, s := range m.streams {
		switch {
		case s.sender:
			r.streams[i].bytes = 1 << 20 // in the busier direction
		case m.looks < 0:
			r.streams[i].bytes = m.came
		}
	}
	return r
}

func (m *lateMover) haltSenders()              { m.halted = true }
func (m *lateMover) read() reading             { return m.glance() }
func (m *lateMover) start()                    {}
func (m *lateMover) done() <-chan struct{}     { return nil }
func (m *lateMover) err() error                { return nil }
func (m *lateMover) buffers() (int, int)       { return 0, 0 }
func (m *lateMover) queued() uint64            { return 0 }
func (m *lateMover) halt()                     {}
func (m *lateMover) close()                    {}
func (m *lateMover) limitFrom(reading)         {}
func (m *lateMover) anew()                     {}
func (m *lateMover) jitter() *result.Histogram { return nil }
func (m *lateMover) lag() *result.Histogram    { return nil }

func (m *lateMover) away() (time.Duration, error) { return 0, nil }

// TestAServerTakesWhatHasComeBeforeTheClientsEnd, also in both directions, and where its threads had no turn for longer than
// it waits for what is under way.
func TestAServerTakesWhatHasComeBeforeTheClientsEnd(t *testing.T) {
	const came = 1 << 16
	for name, test := range map[string]Test{
		"TCP, bytes":           {Protocol: TCP, Bytes: came, Length: 1 << 10},
		"TCP, blocks":          {Protocol: TCP, Blocks: came >> 10, Length: 1 << 10},
		"UDP":                  {Protocol: UDP, Bytes: came, Length: 1 << 10},
		"TCP, both directions": {Protocol: TCP, Bytes: came, Length: 1 << 10, Bidirectional: true},
		"UDP, both directions": {Protocol: UDP, Bytes: came, Length: 1 << 10, Bidirectional: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			streams := []*dataStream{{id: 1}}
			if test.Bidirectional {
				streams = append(streams, &dataStream{id: 3, sender: true})
			}
			m := &lateMover{looks: 3, came: came, streams: streams}
			s := &trial{test: test, server: true, streams: streams, mover: m, tally: newTally(test, streams, time.Now())}
			began := time.Now()
			last := s.drain()
			if got := s.tally.received(m.read()); got != came || m.looks > -1 {
				t.Errorf("%d bytes of %d were taken", got, came)
			}
			if !m.halted {
				t.Error("senders went on")
			}
			if took := time.Since(began); took >= drainLimit || last.Sub(began) < 3*drainTick || took-last.Sub(began) < drainQuiet {
				t.Errorf("it took %v, and the last came after %v", took, last.Sub(began))
			}
		})
	}
}

// TestTheLastIntervalHasWhatMovedLast: less than a tenth of an interval is a line where anything moved in it, in either direction.
func TestTheLastIntervalHasWhatMovedLast(t *testing.T) {
	began := time.Now()
	at := func(sent, received uint64, after time.Duration) reading {
		return reading{at: began.Add(after), streams: []counts{{bytes: received}, {bytes: sent}}}
	}
	for name, c := range map[string]struct {
		last  reading
		lines int
	}{
		"neither moved":    {at(1000, 10, 1001*time.Millisecond), 1},
		"the busier moved": {at(1001, 10, 1001*time.Millisecond), 2},
		"the other moved":  {at(1000, 11, 1001*time.Millisecond), 2},
		"long enough":      {at(1000, 10, 1200*time.Millisecond), 2},
	} {
		test := Test{Protocol: TCP, Length: 1 << 10, Bidirectional: true, Interval: time.Second}
		streams := []*dataStream{{id: 1}, {id: 3, sender: true}}
		r := &record{}
		s := &trial{test: test, streams: streams, observer: r, tally: newTally(test, streams, began)}
		s.tally.reset(at(0, 0, 0))
		s.interval(at(1000, 10, time.Second))
		s.lastInterval(c.last)
		if len(r.intervals) != c.lines {
			t.Errorf("%s: %d intervals, want %d: %+v", name, len(r.intervals), c.lines, r.intervals)
		}
	}
}

// TestWhoIsAtItsLimitIsNotSilent: of a test both ways that has one, the server may have sent all long before its client has, who ends it.
func TestWhoIsAtItsLimitIsNotSilent(t *testing.T) {
	for name, c := range map[string]struct {
		test   Test
		server bool
		want   error
	}{
		"a limit": {Test{Bytes: 1 << 30}, false, nil},
		"a time":  {Test{Duration: time.Minute}, false, noneCame},
		"gone":    {Test{Bytes: 1 << 30}, true, noneCame},
	} {
		test := c.test
		test.Protocol, test.Length, test.Bidirectional = TCP, 1<<10, true
		streams := []*dataStream{{id: 1, sender: true}, {id: 3}}
		began := time.Now()
		m := &bothMover{lateMover: lateMover{streams: streams}, at: began}
		s := &trial{test: test, server: c.server, streams: streams, mover: m, tally: newTally(test, streams, began), guard: guard{silence: 3 * time.Second, silent: noneCame}}
		s.guard.begin(began)
		var err error
		for range 5 {
			if err == nil {
				s.guard.next = m.at.Add(time.Second) // it looks in time
				err = s.check()
			}
		}
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// TestWhoCouldNotRunHeardNoSilence: it looks late, and what has come is not read yet.
func TestWhoCouldNotRunHeardNoSilence(t *testing.T) {
	test := Test{Protocol: TCP, Duration: time.Minute, Length: 1 << 10}
	for name, c := range map[string]struct {
		late time.Duration
		want error
	}{
		"late":    {900 * time.Millisecond, nil},
		"in time": {0, noneCame},
	} {
		streams := []*dataStream{{id: 1}}
		m := &bothMover{lateMover: lateMover{streams: streams}, at: time.Now()}
		s := &trial{test: test, server: true, streams: streams, mover: m, tally: newTally(test, streams, m.at), guard: guard{silence: 1500 * time.Millisecond, silent: noneCame}}
		s.guard.begin(m.at)
		if err := s.check(); err != nil {
			t.Fatal(err)
		}
		m.still = true
		s.guard.next = m.at.Add(time.Second)
		if err := s.check(); err != nil {
			t.Fatal(err)
		}
		s.guard.next = m.at.Add(time.Second - c.late)
		if err := s.check(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// bothMover sends a little in each second, and receives nothing.
type bothMover struct {
	lateMover
	at    time.Time
	sent  uint64
	still bool
}

func (m *bothMover) glance() reading {
	m.at = m.at.Add(time.Second)
	if !m.still {
		m.sent += 1000
	}
	return reading{at: m.at, streams: []counts{{bytes: m.sent}, {}}}
}

// brokenMover has a stream that failed.
type brokenMover struct{ lateMover }

func (m *brokenMover) glance() reading {
	r := m.lateMover.glance()
	r.streams[0].failure = errors.New("message too long")
	return r
}

// TestAServersBrokenStreamEndsTheTest of UDP: its client would see a path that carries nothing. Of TCP it sees the stream's end.
func TestAServersBrokenStreamEndsTheTest(t *testing.T) {
	for protocol, number := range map[Protocol]int{UDP: ErrorStreamWrite, TCP: 0} {
		test := Test{Protocol: protocol, Length: 1 << 10, Reverse: true, Duration: time.Second}
		streams := []*dataStream{{id: 1, sender: true}}
		m := &brokenMover{lateMover{streams: streams}}
		s := &trial{test: test, server: true, streams: streams, mover: m, tally: newTally(test, streams, time.Now())}
		if err := s.check(); NumberOf(err) != number || (err == nil) != (number == 0) || number != 0 && !strings.Contains(err.Error(), "message too long") {
			t.Errorf("%v: %v", protocol, err)
		}
	}
}

// TestTheLastIntervalEndsWithTheTest: what moves until the halt is no interval of its own, of a tenth of a millisecond.
func TestTheLastIntervalEndsWithTheTest(t *testing.T) {
	began := time.Now()
	test := Test{Protocol: TCP, Length: 1 << 10, Interval: time.Second, Duration: 2 * time.Second}
	streams := []*dataStream{{id: 1, sender: true}}
	r := &record{}
	s := &trial{test: test, streams: streams, observer: r, mover: &lateMover{streams: streams}, tally: newTally(test, streams, began)}
	s.tally.reset(reading{at: began, streams: make([]counts, 1)})
	s.tally.omitted = true
	s.finish = began.Add(test.Duration)
	s.guard.next = began.Add(time.Hour)
	if err := s.tick(began.Add(time.Second)); err != nil || len(r.intervals) != 1 {
		t.Fatalf("%v, %d intervals", err, len(r.intervals))
	}
	if err := s.tick(began.Add(test.Duration)); err != errEnded || len(r.intervals) != 1 {
		t.Errorf("%v, %d intervals before the last one", err, len(r.intervals))
	}
}

// endMover has an other end that sends until it hears of the test's end, and whose last block comes while this end's threads
// wait for one.
type endMover struct {
	lateMover
	heard          chan struct{} // closed when the server has the end
	sent, received uint64
	queue          int // looks until all that was sent is acknowledged
	halting, empty time.Time
	waited         bool // what was sent has to be acknowledged before the test ends
	early, unasked bool // the server heard of the end before the senders had ended; it did not, while this end waited
}

func (m *endMover) isOver() bool {
	select {
	case <-m.heard:
		return true
	default:
		return false
	}
}

func (m *endMover) glance() reading {
	r := reading{at: time.Now(), streams: make([]counts, len(m.streams))}
	for i, s := range m.streams {
		r.streams[i].bytes = m.received
		if s.sender {
			r.streams[i].bytes = m.sent
		}
	}
	return r
}

func (m *endMover) read() reading { return m.glance() }

func (m *endMover) haltSenders() {
	m.halting, m.early = time.Now(), m.early || m.isOver()
	m.sent += 10 // what a last call still sent
}

func (m *endMover) queued() uint64 {
	m.early = m.early || m.isOver()
	if m.queue == 0 {
		if m.waited && m.empty.IsZero() {
			m.empty = time.Now()
		}
		return 0
	}
	m.queue--
	m.received += 1000 // meanwhile
	return 1
}

func (m *endMover) halt() {
	select {
	case <-m.heard:
	case <-time.After(time.Second):
		m.unasked = true
	}
	m.received += 1000
}

// TestAClientTellsItsEndBeforeItWaits for its receivers' last calls, and after its senders' end; what comes then is none of the test's.
// Where a limit ends it, what was sent has come first, and what is received counts until then, too.
func TestAClientTellsItsEndBeforeItWaits(t *testing.T) {
	const limit = 50_000
	back, forth := &dataStream{id: 1}, &dataStream{id: 3, sender: true}
	both := []*dataStream{forth, back}
	for name, c := range map[string]struct {
		test     Test
		streams  []*dataStream
		received uint64
	}{
		"both ways, by time":   {Test{Duration: time.Millisecond, Bidirectional: true}, both, limit},
		"both ways, by bytes":  {Test{Bytes: limit, Bidirectional: true}, both, limit + 3000},
		"reverse, by time":     {Test{Duration: time.Millisecond, Reverse: true}, []*dataStream{back}, limit},
		"reverse, by bytes":    {Test{Bytes: limit, Reverse: true}, []*dataStream{back}, limit},
		"UDP both ways":        {Test{Protocol: UDP, Duration: time.Millisecond, Bidirectional: true}, both, limit},
		"forth alone, by time": {Test{Duration: time.Millisecond}, []*dataStream{forth}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			near, far := net.Pipe()
			m := &endMover{lateMover: lateMover{streams: c.streams}, heard: make(chan struct{}), received: limit, waited: c.test.Duration == 0}
			if c.test.Bytes > 0 && c.test.Bidirectional {
				m.queue = 3
			}
			go func() {
				defer close(m.heard)
				far.Read(make([]byte, 1))
			}()
			s := &trial{
				test: c.test, streams: c.streams, mover: m, control: newControl(t.Context(), near), observer: &record{},
				guard: guard{silence: time.Minute, silent: noneCame},
			}
			defer s.control.close()
			last, err := s.flow(t.Context())
			if !errors.Is(err, errEnded) || m.early || m.unasked {
				t.Fatalf("%v; the server heard of it too early: %v, too late: %v", err, m.early, m.unasked)
			}
			for i, stream := range c.streams {
				want := c.received
				if stream.sender {
					want = m.sent
				}
				if got := last.streams[i].bytes; got != want {
					t.Errorf("stream %d has %d bytes; want %d", stream.id, got, want)
				}
			}
			if last.at.Before(m.empty) || m.empty.IsZero() && last.at.After(m.halting) && !m.halting.IsZero() {
				t.Errorf("it ended at %v, its senders were halted at %v, and all had come at %v", last.at, m.halting, m.empty)
			}
		})
	}
}

// stepMover has received so much at each look in turn.
type stepMover struct {
	lateMover
	at    []time.Time
	bytes []uint64
}

func (m *stepMover) glance() reading {
	r := reading{at: m.at[0], streams: []counts{{bytes: m.bytes[0]}}}
	m.at, m.bytes = m.at[1:], m.bytes[1:]
	return r
}

// TestAReceiverCountsFromWhereTheSenderGoesOn, whose end of what is omitted may be before this one's, which may look late.
func TestAReceiverCountsFromWhereTheSenderGoesOn(t *testing.T) {
	const ms = time.Millisecond
	tcp, udp, bursts := Test{Protocol: TCP}, Test{Protocol: UDP}, Test{Protocol: UDP, BitsPerSecond: 1e6, Burst: 2}
	for name, c := range map[string]struct {
		looks []time.Duration
		bytes []uint64
		from  time.Duration // 0: it omits on
		of    Test
	}{
		"goes on early":       {[]time.Duration{100 * ms, 200 * ms, 990 * ms, 995 * ms}, []uint64{5000, 5000, 5000, 7000}, 990 * ms, tcp},
		"looked late":         {[]time.Duration{100 * ms, 900 * ms, 1300 * ms}, []uint64{5000, 5000, 9000}, 900 * ms, tcp},
		"by its own clock":    {[]time.Duration{100 * ms, 900 * ms, 1001 * ms}, []uint64{5000, 5000, 5000}, 1001 * ms, tcp},
		"did not stop":        {[]time.Duration{100 * ms, 970 * ms, 995 * ms}, []uint64{5000, 6000, 7000}, 0, tcp},
		"has not sent all":    {[]time.Duration{100 * ms, 900 * ms, 995 * ms}, []uint64{3000, 3000, 4000}, 0, tcp},
		"much too early":      {[]time.Duration{100 * ms, 300 * ms, 400 * ms}, []uint64{5000, 5000, 6000}, 0, tcp},
		"a path that is slow": {[]time.Duration{900 * ms, 1001 * ms}, []uint64{3000, 4000}, 0, tcp},
		"datagrams are lost":  {[]time.Duration{100 * ms, 700 * ms, 990 * ms, 995 * ms}, []uint64{2000, 2000, 2000, 4000}, 990 * ms, udp},
		"none has come":       {[]time.Duration{100 * ms, 700 * ms, 995 * ms}, []uint64{0, 0, 1000}, 0, udp},
		"between bursts":      {[]time.Duration{100 * ms, 700 * ms, 990 * ms, 995 * ms}, []uint64{2000, 2000, 2000, 4000}, 0, bursts},
	} {
		began := time.Now()
		test := c.of
		test.Length, test.Bytes, test.Omit = 1000, 5000, time.Second
		streams := []*dataStream{{id: 1}}
		m := &stepMover{lateMover: lateMover{streams: streams}, bytes: c.bytes}
		for _, after := range c.looks {
			m.at = append(m.at, began.Add(after))
		}
		s := &trial{test: test, server: true, streams: streams, mover: m, observer: &record{}, tally: newTally(test, streams, began), running: began}
		for range c.looks {
			s.resume()
		}
		if !s.tally.omitted && c.from > 0 || s.tally.omitted && (s.tally.begun != began.Add(c.from) || s.tally.base.streams[0].bytes != c.bytes[0]) {
			t.Errorf("%s: it counts: %v, from %v with %d bytes before; want %v", name, s.tally.omitted, s.tally.begun.Sub(began), s.tally.base.streams[0].bytes, c.from)
		}
	}
}

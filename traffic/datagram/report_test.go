package datagram

import (
	"math"
	"testing"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// TestCPUOfAThreadThatMissesAMark: one thread of two hears nothing in the tail, and its
// CPU time counts all the same.
func TestCPUOfAThreadThatMissesAMark(t *testing.T) {
	mark := func(ms int64, seq uint64) seen {
		return seen{at: ms * 1e6, cpu: time.Duration(ms) * time.Millisecond / 10, yes: true, seq: seq}
	}
	busy, quiet := &receiver{}, &receiver{}
	busy.seen[markWindow], busy.seen[markTail] = mark(1000, 7), mark(3000, 7+fewDatagrams)
	quiet.seen[markWindow] = mark(1000, 7)
	r := &run{
		engine:   &Engine{threads: []*thread{{receive: busy}, {receive: quiet}, {send: &sender{}}}, config: Config{Message: 1400}},
		peerSent: totals{{7, fewDatagrams, 1}},
	}
	for want, threads := range map[float64][]*thread{
		0.4: {{receive: busy}, {receive: quiet}, {send: &sender{}}}, // by the snapshots: 0.44 s in 2.2
		0.2: {{receive: busy}, {send: &sender{}}},                   // by the marks
	} {
		r.engine.threads = threads
		end := result.PairEnd{WindowSeconds: 2.2, CPUSeconds: 0.44, Packets: fewDatagrams}
		r.betweenMarks(&end, traffic.Receive)
		if end.WindowSeconds != 2 || end.CPUSeconds < want-1e-9 || end.CPUSeconds > want+1e-9 {
			t.Errorf("%d threads: %g s of CPU in %g s, want %g in 2", len(threads), end.CPUSeconds, end.WindowSeconds, want)
		}
	}
}

// TestTheWindowIsThereWhereItsEdgesWereLost: a window of 2 s, the first datagrams of which, or of the tail, did not come.
func TestTheWindowIsThereWhereItsEdgesWereLost(t *testing.T) {
	const each, first, took = 1000, 40, 5e6 // a second; of the warm-up; ns on the way
	mark := func(ms int64) seen {
		return seen{at: ms*1e6 + 77e9 + took, yes: true, seq: first + uint64(ms-100), sent: ms * 1e6}
	}
	for name, c := range map[string]struct {
		from, to int64 // ms
		longer   int64 // ms of the last one's way
		told     totals
		want     float64
	}{
		"whole":                      {100, 2100, 0, totals{{first, 2 * each, 100}}, 2},
		"whole, late sender":         {100, 2064, 0, totals{{first, 1964, 100}}, 1.964},
		"a queue has grown":          {100, 2100, 300, totals{{first, 2 * each, 100}}, 2.3},
		"the first 1.5 s":            {1600, 2100, 0, totals{{first, 2 * each, 100}}, 2},
		"the tail's first":           {100, 2190, 0, totals{{first, 2 * each, 100}}, 2},
		"both":                       {1600, 2190, 0, totals{{first, 2 * each, 100}}, 2},
		"both, and a queue":          {1600, 2190, 300, totals{{first, 2 * each, 100}}, 2.3},
		"the sender did not tell":    {1600, 2100, 0, nil, 2},
		"a sender that is not ours":  {100, 1 << 40, -1<<40 + 2000, totals{{first, 2 * each, 100}}, 9},
		"times that wrapped":         {1600, -1100000, 1102100, totals{{first, 2 * each, 100}}, 9},
		"a flow that nobody told of": {100, 2100, 0, totals{}, 2},
	} {
		in := &receiver{}
		in.seen[markWindow], in.seen[markTail] = mark(c.from), mark(c.to)
		in.seen[markTail].at += c.longer * 1e6
		r := &run{engine: &Engine{threads: []*thread{{receive: in}}, config: Config{Message: 1400}}, peerSent: c.told, when: traffic.Schedule{Window: 2 * time.Second}}
		end := result.PairEnd{WindowSeconds: 9, Packets: fewDatagrams}
		r.betweenMarks(&end, traffic.Receive)
		if got := end.WindowSeconds; got < c.want-1e-9 || got > c.want+1e-9 {
			t.Errorf("%s: the window took %g s, want %g", name, got, c.want)
		}
	}
}

// TestASenderThatStoodStillAtAnEdge had no way to its peer, or was suspended: all that it sent came, and its window was of 10 s.
func TestASenderThatStoodStillAtAnEdge(t *testing.T) {
	const first, sent = 40, 10000
	at := func(ms int64, seq uint64) seen {
		return seen{at: ms*1e6 + 77e9, yes: true, seq: seq, sent: ms * 1e6}
	}
	for name, c := range map[string]struct {
		from, to int64 // ms
		want     float64
	}{
		"as it should be":             {0, 10000, 10},
		"a call that waited for room": {150, 10000, 9.85},
		"none in the first 3 s":       {3000, 10000, 10},
		"none behind the last":        {0, 12000, 10},
		"at both":                     {1000, 11500, 10},
		"a sender that is not ours":   {0, 30000, 30},
	} {
		r := &run{sends: 1, receives: 1, peerSent: totals{{first, sent, 100}}, when: traffic.Schedule{Window: 10 * time.Second}}
		in, out := &receiver{}, &sender{}
		in.seen[markWindow], in.seen[markTail] = at(c.from, first), at(c.to, first+sent)
		out.seen = in.seen
		for role, one := range map[traffic.Role]*thread{traffic.Receive: {receive: in}, traffic.Send: {send: out}} {
			r.engine = &Engine{threads: []*thread{one}, config: Config{Message: 1400, PacketsPerSecond: sent / 10}}
			end := result.PairEnd{WindowSeconds: 10, Packets: sent}
			if r.betweenMarks(&end, role); end.WindowSeconds < c.want-1e-9 || end.WindowSeconds > c.want+1e-9 {
				t.Errorf("%s, %s: the window took %g s, want %g", name, role, end.WindowSeconds, c.want)
			}
		}
	}
}

// TestASlowPathIsNoSilence: a sender as fast as it goes hands 46 datagrams over whenever its socket has room, before a path of 700 kbit/s
// each 0.76 s. What came of the window took that path 4.55 s.
func TestASlowPathIsNoSilence(t *testing.T) {
	const first, sent = 46, 6 * 46
	in := &receiver{}
	in.seen[markWindow] = seen{at: 77e9, yes: true, seq: first, sent: 0}
	in.seen[markTail] = seen{at: 77e9 + 4548e6, yes: true, seq: first + sent, sent: 4480e6}
	for name, c := range map[string]struct {
		rate float64 // bit/s
		want float64
	}{
		"as fast as it goes":                  {0, 4.548},
		"at a rate far beyond the path's":     {10e9, 4.548},
		"at a rate, whose datagrams go apart": {2e6, 4.068},
	} {
		r := &run{receives: 1, peerSent: totals{{first, sent, 46}}, when: traffic.Schedule{Window: 4 * time.Second}}
		r.engine = &Engine{threads: []*thread{{receive: in}}, config: Config{Message: 1400, BitsPerSecond: c.rate}}
		end := result.PairEnd{WindowSeconds: 4, Packets: sent}
		if r.betweenMarks(&end, traffic.Receive); end.WindowSeconds < c.want-1e-9 || end.WindowSeconds > c.want+1e-9 {
			t.Errorf("%s: the window took %g s, want %g", name, end.WindowSeconds, c.want)
		}
	}
}

// receiving is a receiver's run whose engine stands and has not begun.
func receiving(t *testing.T, load result.Options) *run {
	t.Helper()
	_, receive := pair(t, load)
	if err := receive.await(t.Context(), time.Now().Add(5*time.Second)); err != nil {
		t.Fatal(err)
	}
	flows, sends, receives := receive.session.engineFlows(traffic.Receive)
	e, err := NewEngine(flows, receive.load.config(receive.session.key, nil))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return &run{worker: receive, session: receive.session, engine: e, sends: sends, receives: receives, when: soon()}
}

// TestOneThatFoundAllItAskedForDidNotPoll: it polled in the warm-up, and in the window something had always come, or it slept. Its CPU time
// says what another's does.
func TestOneThatFoundAllItAskedForDidNotPoll(t *testing.T) {
	r := receiving(t, nil)
	e := r.engine
	e.threads[0].receive.polled.Store(true)
	for vain, want := range map[time.Duration]bool{0: false, time.Second: true} {
		r.began, r.ended = e.Snapshot(), e.Snapshot()
		r.ended.Vain += vain
		if a := r.takenEnd(e.Snapshot()).Arrived; a.Polled != want {
			t.Errorf("after %s in vain: %+v", vain, a)
		}
	}
}

// TestAFlowThatNeverCameHasNoJitter: what one of two flows tells is not halved.
func TestAFlowThatNeverCameHasNoJitter(t *testing.T) {
	r := receiving(t, result.Options{"flows": 2, "threads": 2})
	e := r.engine
	r.began, r.ended = e.Snapshot(), e.Snapshot()
	last := e.Snapshot()
	last.Flows[0].Jitter, last.Flows[0].Backlog, last.Flows[0].Marked[markWindow].Packets = 100e-6, 10e-3, 1000
	if a := r.takenEnd(last).Arrived; a.Jitter != 100e-6 || a.Backlog != 10e-3 {
		t.Errorf("a jitter of %g s and a backlog of %g s, want 0.0001 and 0.01", a.Jitter, a.Backlog)
	}
}

// TestAQueueIsKnownOfFewDatagrams: of 100 in a window a search took a path of 2 Mbit/s for one of 4.5, as all came in time from a queue that
// grew by half of the window. What may be a thread's that woke late is none.
func TestAQueueIsKnownOfFewDatagrams(t *testing.T) {
	r := receiving(t, nil)
	e := r.engine
	r.began, r.ended = e.Snapshot(), e.Snapshot()
	window := r.when.Window.Seconds()
	for _, c := range []struct {
		packets     uint64
		grew, tells float64 // of the window
	}{{100, 0.5, 0.5}, {100, 0.021, 0.021}, {100, 0.019, 0}, {20, 0.09, 0}, {20, 0.11, 0.11}, {1000, 0.002, 0.002}} {
		last := e.Snapshot()
		last.Flows[0].Backlog, last.Flows[0].Marked[markWindow].Packets = c.grew*window, c.packets
		if a := r.takenEnd(last).Arrived; a.Backlog != c.tells*window {
			t.Errorf("of %d datagrams whose queue grew by %g of the window a growth of %g s is told", c.packets, c.grew, a.Backlog)
		}
	}
}

// TestAReceiverThatWasStoppedReadsAWindowLate: its first datagrams lay in the socket, and those of 2 s at 446 a second, which were read within
// 1.3 ms, were told as 703,471 a second, and the rate as reached.
func TestAReceiverThatWasStoppedReadsAWindowLate(t *testing.T) {
	const first, sent = 40, 893
	ms := time.Millisecond.Nanoseconds()
	for name, c := range map[string]struct{ from, to, stood, want int64 }{ // ms
		"not stopped":                   {10, 2010, 0, 2000},
		"a queue that was shorter then": {300, 2010, 0, 1710},
		"for all of it":                 {2500, 2501, 3000, 2000},
		"over the begin":                {1100, 2010, 1200, 2000},
		"just before":                   {30, 2010, 500, 2000},
		"not as long as is missing":     {1100, 2010, 500, 1410},
		"and over the end":              {1100, 3500, 1200, 2400},
	} {
		in := &receiver{}
		in.seen[markWindow] = seen{at: c.from * ms, yes: true, seq: first, sent: 5 * ms, behind: c.stood * ms}
		in.seen[markTail] = seen{at: c.to * ms, yes: true, seq: first + sent, sent: 2005 * ms}
		r := &run{receives: 1, peerSent: totals{{first, sent, 100}}, when: traffic.Schedule{Window: 2 * time.Second}}
		r.engine = &Engine{threads: []*thread{{receive: in}}, config: Config{Message: 1400, BitsPerSecond: 5e6}}
		end := result.PairEnd{WindowSeconds: 2, Packets: sent}
		if r.betweenMarks(&end, traffic.Receive); end.WindowSeconds < float64(c.want)/1e3-1e-9 || end.WindowSeconds > float64(c.want)/1e3+1e-9 {
			t.Errorf("%s: the window took %g s, want %g", name, end.WindowSeconds, float64(c.want)/1e3)
		}
	}
	r := receiving(t, nil).engine.threads[0].receive
	for at, behind := range map[int64]int64{3001: 2900, 3200: 0} {
		r.alive = 0
		r.live(100 * ms)
		r.live(3000 * ms)
		if r.see(Stamp{Mark: markWindow}, at*ms); r.seen[markWindow].behind != behind*ms {
			t.Errorf("a mark that was read at %d ms may have come %d ms before", at, r.seen[markWindow].behind/ms)
		}
	}
}

// TestWhatAReceiverMissedBeforeItWentOnIsItsOwn: it was stopped from before the window until 0.7 s behind its begin, and its first reading came
// then. What had no room in its socket meanwhile was told as lost on the way.
func TestWhatAReceiverMissedBeforeItWentOnIsItsOwn(t *testing.T) {
	r := receiving(t, nil)
	r.when.Window = time.Second
	window := r.when.Start.Add(r.when.WarmUp)
	r.peerSent = totals{{0, 1000, 0}}
	for late, want := range map[time.Duration]struct {
		drops uint64
		stood float64
	}{0: {1, 0}, 700 * time.Millisecond: {91, 0.7}, 2 * time.Second: {91, 1}} {
		r.first, r.began = r.engine.Snapshot(), r.engine.Snapshot()
		r.began.At = window.Add(late)
		r.began.Flows[0].SocketDrops, r.began.Stood = 90, time.Second
		r.ended = r.began
		r.ended.Flows = []FlowCounts{r.began.Flows[0]}
		r.ended.Flows[0].SocketDrops = 91
		last := r.ended
		if a := r.takenEnd(last).Arrived; a.SocketDrops != want.drops || a.StoodSeconds != want.stood {
			t.Errorf("a first reading %s late: %d dropped by the socket, stood for %g s; want %+v", late, a.SocketDrops, a.StoodSeconds, want)
		}
	}
}

// TestASenderThatHasNoCPUWhenItsWindowEnds tells how long it waited when it goes on, 2 s later: of a window of 0.5 s of which it had been without
// one for 0.4, no wait was known, so that a search counted what it had not sent as lost by the path.
func TestASenderThatHasNoCPUWhenItsWindowEnds(t *testing.T) {
	ms := time.Millisecond
	at := time.Now()
	reading := func(after, wait, missed time.Duration) Snapshot {
		s := Snapshot{At: at.Add(after), Flows: make([]FlowCounts, 1), Missed: missed}
		s.Send.Add(traffic.ThreadTime(after/10, wait))
		return s
	}
	for name, c := range map[string]struct {
		halted       Snapshot
		took         int64 // ms, by the marks
		wait, missed float64
	}{
		"with a CPU":           {reading(520*ms, 11*ms, 0), 500, 0.01, 0},
		"without one":          {reading(2500*ms, 2410*ms, 0), 2500, 0.41 * 5, 0},
		"asleep for too long":  {reading(2500*ms, 10*ms, 2300*ms), 2500, 0.01 * 5, 0.3 * 5},
		"that was not halted":  {Snapshot{}, 500, 0.01, 0},
		"longer than is known": {reading(600*ms, 900*ms, 0), 500, 0.5, 0},
	} {
		out := &sender{batch: &batch{}}
		out.seen[markWindow], out.seen[markTail] = seen{at: 1e9, yes: true}, seen{at: 1e9 + c.took*1e6, yes: true}
		r := &run{worker: &worker{load: load{threads: 1, flows: 1, message: 1400, packets: 1e6}}, sends: 1, when: traffic.Schedule{Window: 500 * ms}}
		r.engine = &Engine{threads: []*thread{{send: out}}, config: Config{Message: 1400, PacketsPerSecond: 1e6}}
		r.engine.outs, r.engine.homes = make([]*outflow, 1), make([]*latch, 1)
		r.began, r.ended, r.halted = reading(0, 0, 0), reading(500*ms, 10*ms, 0), c.halted
		last := reading(3000*ms, 0, 0)
		last.Flows[0].Marked[markWindow].Packets = 1000
		got := r.sentEnd(last)
		if o := got.Offered; math.Abs(o.WaitSeconds-c.wait) > 1e-9 || math.Abs(*o.MissedSeconds-c.missed) > 1e-9 {
			t.Errorf("%s: in %g s it waited for %g and missed %g s, want %g and %g", name, got.WindowSeconds, o.WaitSeconds, *o.MissedSeconds, c.wait, c.missed)
		}
	}
}

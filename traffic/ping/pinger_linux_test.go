package ping

import (
	"net"
	"sync/atomic"
	"testing"
	"time"

	"windtunnel/result"
)

// pingerOver is one over a connection, whose descriptor lasts as long as the test.
func pingerOver(t *testing.T, l load, p plan, conn *net.UDPConn, halted *atomic.Bool) *pinger {
	t.Helper()
	file, err := conn.File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	g, err := newPinger(l, p, 0, []int{int(file.Fd())}, halted)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestWhatHadNoTurnIsRefusedAfterItsWait halts a pinger that never had the CPU: the requests that were due for longer than
// the wait are refused, the others might still have left.
func TestWhatHadNoTurnIsRefusedAfterItsWait(t *testing.T) {
	const ms = int64(time.Millisecond)
	begin := nanotime() - 1000*ms
	l := load{shape: shape{message: 1, response: 1}, rate: 1000, wait: 400 * time.Millisecond, flows: 1, threads: 1, outstanding: 1}
	p := plan{start: begin, from: begin, to: begin + 60_000*ms, stop: begin + 60_200*ms}
	var halted atomic.Bool
	halted.Store(true)
	conn := dial(t, "udp", "127.0.0.1:9").(*net.UDPConn)
	g := pingerOver(t, l, p, conn, &halted)
	defer g.poller.close()
	if err := g.work(); err != nil {
		t.Fatal(err)
	}
	o, want := sum([]*tally{g.tally}), uint64((g.now-l.wait.Nanoseconds()-begin)/ms)+1
	if o.refused != want || o.requests() != 0 {
		t.Errorf("%d refused and %d lost, want %d and none", o.refused, o.lost, want)
	}
}

// spiedEngine is read once more when its threads have ended.
type spiedEngine struct {
	engine
	last *snapshot
}

func (e spiedEngine) close() {
	*e.last = e.snapshot()
	e.engine.close()
}

// TestThreadsThatEndedHaveWorked: what they used counts where a trial is read after it, as when its peer has gone.
func TestThreadsThatEndedHaveWorked(t *testing.T) {
	var last [2]snapshot
	send, receive := pair(t, result.Options{}, "127.0.0.1")
	for i, w := range []*worker{send, receive} {
		w.make = func(s setup) (engine, error) {
			e, err := newEngine(s)
			return spiedEngine{e, &last[i]}, err
		}
	}
	s, r := runBoth(t.Context(), send, receive, soon(ample))
	if s.err != nil || r.err != nil {
		t.Fatal(s.err, r.err)
	}
	for i, end := range []result.PairEnd{s.end, r.end} {
		if used := last[i].spent.CPU.Seconds(); used < end.CPUSeconds || used == 0 {
			t.Errorf("threads that had used %g s in the window have %g s when they have ended", end.CPUSeconds, used)
		}
	}
}

// TestTheBusiestOfSeveralThreadsIsTold, since flows are not spread alike; one alone has all the time.
func TestTheBusiestOfSeveralThreadsIsTold(t *testing.T) {
	for _, threads := range []int{1, 2} {
		send, receive := pair(t, result.Options{"flows": 7, "threads": threads}, "127.0.0.1")
		s, r := runBoth(t.Context(), send, receive, soon(shortly))
		if s.err != nil || r.err != nil {
			t.Fatal(s.err, r.err)
		}
		for _, end := range []result.PairEnd{s.end, r.end} {
			most := end.BusiestSeconds
			if threads == 1 && most != 0 || threads == 2 && (most > end.CPUSeconds || 2.001*most < end.CPUSeconds) {
				t.Errorf("of %d threads that used %g s the busiest used %g s", threads, end.CPUSeconds, most)
			}
		}
	}
}

// TestAnswersThatWaitedForAThreadAreNotLost: both pingers find two answers in the socket when the trial is over, one of a request that
// was given up meanwhile and one of a request that was not.
func TestAnswersThatWaitedForAThreadAreNotLost(t *testing.T) {
	const ms = int64(time.Millisecond)
	now := nanotime()
	l := load{shape: shape{message: 8, response: 8}, udp: true, depth: 1, wait: 200 * time.Millisecond, flows: 2, threads: 1, outstanding: 4}
	p := plan{start: now - 900*ms, from: now - 900*ms, to: now - 400*ms, stop: now - 300*ms}
	var halted atomic.Bool
	for name, rest := range map[string]func(near *net.UDPConn, miss func(*tally, *outstanding)) *tally{
		"own": func(near *net.UDPConn, miss func(*tally, *outstanding)) *tally {
			g := pingerOver(t, l, p, near, &halted)
			miss(g.tally, &g.flows[0].out)
			g.rest()
			return g.tally
		},
		"portable": func(near *net.UDPConn, miss func(*tally, *outstanding)) *tally {
			g := newPortablePinger(l, p, 0, []net.Conn{near}, &halted)
			miss(g.tally, &g.flows[0].out)
			if err := g.rest(g.flows[0], make([]byte, 64)); err != nil {
				t.Fatal(err)
			}
			g.tally.flush(nanotime())
			return g.tally
		},
	} {
		far, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			t.Fatal(err)
		}
		defer far.Close()
		near := dial(t, "udp", far.LocalAddr().String()).(*net.UDPConn)
		for _, number := range []byte{0, 1} {
			if _, err := far.WriteTo([]byte{number, 0, 0, 0, 0, 0, 0, 0}, near.LocalAddr()); err != nil {
				t.Fatal(err)
			}
		}
		got := rest(near, func(tally *tally, out *outstanding) {
			for _, r := range []request{{intended: now - 800*ms, sent: now - 800*ms}, {intended: now - 450*ms, sent: now - 50*ms}} {
				out.book(r.intended)
				out.left(r.sent)
			}
			tally.note(out.giveUp(now-600*ms), now, givenUp)
		})
		if got.late != 1 || got.answered != 1 || got.lost != 0 {
			t.Errorf("%s: %d late, %d answered, %d lost, want one, one and none", name, got.late, got.answered, got.lost)
		}
	}
}

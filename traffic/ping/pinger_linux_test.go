package ping

import (
	"net"
	"sync/atomic"
	"testing"
	"time"

	"windtunnel/result"
)

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
	file, err := conn.File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	g, err := newPinger(l, p, 0, []int{int(file.Fd())}, &halted)
	if err != nil {
		t.Fatal(err)
	}
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
		if used := last[i].cpu.Seconds(); used < end.CPUSeconds || used == 0 {
			t.Errorf("threads that had used %g s in the window have %g s when they have ended", end.CPUSeconds, used)
		}
	}
}

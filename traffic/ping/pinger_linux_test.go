package ping

import (
	"net"
	"sync/atomic"
	"testing"
	"time"
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

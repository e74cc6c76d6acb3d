package stream

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// slowly relays one connection to an address, so many bytes every 100 ms.
func slowly(t *testing.T, to string, step int64) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var relaying sync.WaitGroup
	done := make(chan struct{})
	t.Cleanup(func() { close(done); l.Close(); relaying.Wait() })
	relaying.Go(func() {
		near, err := l.Accept()
		if err != nil {
			return
		}
		defer near.Close()
		far, err := net.Dial("tcp", to)
		if err != nil {
			return
		}
		defer far.Close()
		relaying.Go(func() { io.Copy(near, far) })
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			if _, err := io.CopyN(far, near, step); err != nil {
				return
			}
			select {
			case <-tick.C:
			case <-done:
				return
			}
		}
	})
	return l.Addr().String()
}

// TestSlowPathIsNoFailure: what a sender's buffer holds at the window's end may need
// longer than both ends wait for; the window is whole.
func TestSlowPathIsNoFailure(t *testing.T) {
	t.Parallel()
	load := result.Options{"buffer": 200_000} // which every system gives
	receive := prepare(t, traffic.Order{Role: traffic.Receive, Load: load, Address: "127.0.0.1"})
	send := prepare(t, traffic.Order{Role: traffic.Send, Load: load, Address: slowly(t, receive.Address(), 8<<10)})
	s, r := runBoth(t.Context(), send, receive, ample())
	if s.err != nil || r.err != nil || s.end.Error+r.end.Error != "" {
		t.Errorf("%v %q, %v %q", s.err, s.end.Error, r.err, r.end.Error)
	}
	if s.end.Bytes == 0 || r.end.Bytes == 0 {
		t.Errorf("sent %d, received %d", s.end.Bytes, r.end.Bytes)
	}
}

// TestWhoWakesLateIsNotCalledEarly: a receiver that was woken after its sender had ended in order has a whole window, which was
// over no later than the streams.
func TestWhoWakesLateIsNotCalledEarly(t *testing.T) {
	near, far := connected(t, 1)
	e := newTestEngine(t, []Flow{{Conn: near[0], Role: traffic.Receive}}, Config{Message: 1000})
	e.Start()
	before := e.Snapshot()
	if _, err := far[0].Write(make([]byte, 5000)); err != nil {
		t.Fatal(err)
	}
	far[0].Close()
	awaitDone(t, e)
	ended := time.Now()
	w := &worker{closing: make(chan struct{})}
	for range 100 {
		if err := w.sleep(t.Context(), e, ended, ended); err != nil {
			t.Fatal(err)
		}
	}
	after := e.Snapshot()
	after.At = ended.Add(time.Hour)
	if end := e.between(traffic.Receive, before, after); end.Bytes != 5000 || end.WindowSeconds <= 0 || end.WindowSeconds > ended.Sub(before.At).Seconds() {
		t.Errorf("%d bytes in a window of %g s", end.Bytes, end.WindowSeconds)
	}
}

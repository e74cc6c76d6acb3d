package iperf3

import (
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// TestAStreamThatComesTooLate for its session, which its client ended, is no new client: iperf3 3.21 makes it, finds that it has not the
// congestion control that was asked for, and is done.
func TestAStreamThatComesTooLate(t *testing.T) {
	h := serve(t, ServerOptions{})
	begin := func(r *rude) {
		r.say(`{"tcp":true,"time":10,"len":1024}`)
		if err := r.expect(createStreams, 5*time.Second); err != nil {
			t.Fatal(err)
		}
	}
	answer := func(conn *net.TCPConn) byte {
		t.Helper()
		var b [1]byte
		conn.SetReadDeadline(time.Now().Add(5 * time.Second))
		if _, err := io.ReadFull(conn, b[:]); err != nil {
			t.Fatal(err)
		}
		return b[0]
	}
	for name, leave := range map[string]func(*rude){
		"is done": func(r *rude) { r.sendState(iperfDone) },
		"is gone": func(r *rude) { r.conn.Close() },
	} {
		r := h.rude(t)
		begin(r)
		leave(r)
		number := uint64(h.seen())
		if why := h.session(t, number).failure(t); name == "is done" && !errors.Is(why, ErrClientTerminated) {
			t.Errorf("a client that %s: %v", name, why)
		}
		if got := answer(r.stream()); got != 0xff || h.seen() != int(number) {
			t.Errorf("a client that %s: its stream is answered with %#x, after %d sessions", name, got, h.seen())
		}
	}
	whole := h.rude(t)
	begin(whole)
	whole.stream()
	whole.expect(testStart, 5*time.Second)
	whole.conn.Close()
	h.session(t, 3)
	if got := answer(whole.stream()); got != byte(paramExchange) {
		t.Errorf("a client that made its streams, and comes again by the same name, is answered with %#x", got)
	}
}

// TestAClientThatIsDoneHasTerminated, also while traffic runs: iperf3's ends so when it receives nothing for --rcv-timeout.
func TestAClientThatIsDoneHasTerminated(t *testing.T) {
	h := serve(t, ServerOptions{})
	for i, last := range []state{iperfDone, clientTerminate} {
		r := h.rude(t)
		r.say(`{"tcp":true,"time":10,"len":1024,"reverse":true}`)
		if err := r.expect(createStreams, 5*time.Second); err != nil {
			t.Fatal(err)
		}
		r.stream()
		for _, step := range []state{testStart, testRunning} {
			if err := r.expect(step, 5*time.Second); err != nil {
				t.Fatal(err)
			}
		}
		r.sendState(last)
		if why := h.session(t, uint64(i+1)).failure(t); !errors.Is(why, ErrClientTerminated) {
			t.Errorf("after %s: %v", last, why)
		}
	}
}

// TestFewSessionsAreKnownForLateStreams, and not for long.
func TestFewSessionsAreKnownForLateStreams(t *testing.T) {
	s := &server{known: map[cookie]*session{}}
	first, last := newCookie(), newCookie()
	s.forget(first, true)
	if !s.comesLate(first) || s.comesLate(last) {
		t.Error("a session that lacks streams is not known")
	}
	for range mostLacking {
		s.forget(last, true)
	}
	if s.comesLate(first) || !s.comesLate(last) || len(s.lacking) != mostLacking {
		t.Errorf("%d sessions are known", len(s.lacking))
	}
	for i := range s.lacking {
		s.lacking[i].at = s.lacking[i].at.Add(-lateStream)
	}
	if s.comesLate(last) {
		t.Error("one that ended long ago is known")
	}
}

// seen is how many sessions there were.
func (h *host) seen() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.sessions)
}

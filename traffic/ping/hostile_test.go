package ping

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

func dial(t *testing.T, network, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func say(conn net.Conn, h hello) { b := h.encode(); conn.Write(b[:]) }

// one is the hello of a session of one flow.
func one(session byte) hello {
	return hello{Version: version, Total: 1, Message: 1, Response: 1, Token: token{session}}
}

// ample is a window of a trial that cannot be tried again: others may have the CPUs for longer than a short one.
const ample = time.Second

func TestStrangersAreTurnedAway(t *testing.T) {
	o := result.Options{"flows": 2}
	receive := prepare(t, traffic.Order{Role: traffic.Receive, Load: o, Address: "127.0.0.1"})
	mute := dial(t, "tcp", receive.Address())
	garbage := dial(t, "tcp", receive.Address())
	garbage.Write([]byte(strings.Repeat("GET / HTTP/1.0\r\n", 10)))
	expectClosed(t, garbage)
	half := dial(t, "tcp", receive.Address()) // of a session that is never complete
	h := one(1)
	h.Total = 2
	say(half, h)
	greedy := dial(t, "tcp", receive.Address())
	h = one(2)
	h.Response = 1 << 31
	say(greedy, h)
	expectClosed(t, greedy)
	send := prepare(t, traffic.Order{Role: traffic.Send, Load: o, Address: receive.Address()})
	expectClosed(t, mute)
	expectClosed(t, half)
	s, r := runBoth(t.Context(), send, receive, soon(ample))
	if s.err != nil || r.err != nil {
		t.Errorf("strangers disturbed the run: %+v %+v", s, r)
	}
}

func expectClosed(t *testing.T, conn net.Conn) {
	t.Helper()
	conn.SetReadDeadline(time.Now().Add(2 * time.Second))
	_, err := conn.Read(make([]byte, 1))
	var timeout net.Error
	if err == nil || errors.As(err, &timeout) && timeout.Timeout() {
		t.Errorf("a stranger's connection still stands: %v", err)
	}
}

// TestNobodySpeaksForAnother sends hellos over UDP without the cookie that only the
// address's owner gets, and requests of nobody: neither makes the receiver respond.
func TestNobodySpeaksForAnother(t *testing.T) {
	o := result.Options{"protocol": "udp", "response": 9000}
	receive := prepare(t, traffic.Order{Role: traffic.Receive, Load: o, Address: "127.0.0.1"})
	conn := dial(t, "udp", receive.Address())
	forged := one(1)
	forged.Cookie = token{1, 2, 3}
	for _, b := range [][]byte{{1}, []byte("GET /"), make([]byte, helloSize), make([]byte, 9000)} {
		conn.Write(b)
	}
	say(conn, forged)
	b := make([]byte, 64<<10)
	conn.SetReadDeadline(time.Now().Add(2 * time.Second))
	n, err := conn.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	a, err := decodeAnswer(b[:n])
	if err != nil || a.Status != challenge || n > helloSize {
		t.Errorf("a forged hello got %d bytes, %+v, %v; only a challenge, shorter than it, is due", n, a, err)
	}
	send := prepare(t, traffic.Order{Role: traffic.Send, Load: o, Address: receive.Address()})
	s, r := runBoth(t.Context(), send, receive, soon(ample))
	if s.err != nil || r.err != nil || s.end.Packets == 0 {
		t.Errorf("strangers disturbed the run: %+v %+v", s, r)
	}
}

func TestAnotherVersionIsToldSo(t *testing.T) {
	for _, protocol := range []string{overTCP, overUDP} {
		receive := prepare(t, traffic.Order{Role: traffic.Receive, Load: result.Options{"protocol": protocol}, Address: "127.0.0.1"})
		conn := dial(t, protocol, receive.Address())
		h := one(1)
		h.Version++
		say(conn, h)
		b := make([]byte, answerSize)
		conn.SetReadDeadline(time.Now().Add(2 * time.Second))
		if _, err := io.ReadFull(conn, b); err != nil {
			t.Fatal(err)
		}
		if a, err := decodeAnswer(b); err != nil || !strings.Contains(a.refusal().Error(), "another version") {
			t.Errorf("%s: got %+v, %v", protocol, a, err)
		}
	}
}

func TestASecondSenderIsRefused(t *testing.T) {
	o := result.Options{"protocol": "udp"}
	receive := prepare(t, traffic.Order{Role: traffic.Receive, Load: o, Address: "127.0.0.1"})
	first := prepare(t, traffic.Order{Role: traffic.Send, Load: o, Address: receive.Address()})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := (Kind{}).Prepare(ctx, traffic.Order{Role: traffic.Send, Load: o, Address: receive.Address()}); err == nil {
		t.Error("a second sender was welcome")
	}
	s, r := runBoth(t.Context(), first, receive, soon(ample))
	if s.err != nil || r.err != nil {
		t.Errorf("it disturbed the first: %+v %+v", s, r)
	}
}

// rawSender is a sender under the test's control: connected, handshake done.
func rawSender(t *testing.T, address string) net.Conn {
	t.Helper()
	conn := dial(t, "tcp", address)
	say(conn, one(1))
	if _, err := io.ReadFull(conn, make([]byte, answerSize)); err != nil {
		t.Fatal(err)
	}
	return conn
}

func TestReceiverOutlivesItsSender(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		does func(net.Conn)
		says string
	}{
		"ends early":    {func(c net.Conn) { c.Write([]byte{1}); c.Read(make([]byte, 1)); c.Close() }, "early"},
		"resets":        {func(c net.Conn) { c.(*net.TCPConn).SetLinger(0); c.Close() }, "went away"},
		"is silent":     {func(net.Conn) {}, "did not end"},
		"reads nothing": {func(c net.Conn) { c.Write(make([]byte, 1<<20)) }, "did not end"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			receive := prepare(t, traffic.Order{Role: traffic.Receive, Load: result.Options{"wait": 0.01}, Address: "127.0.0.1"})
			conn := rawSender(t, receive.Address())
			when := soon(500 * time.Millisecond)
			time.AfterFunc(time.Until(when.Start)+when.WarmUp+50*time.Millisecond, func() { c.does(conn) })
			began := time.Now()
			end, err := receive.Run(t.Context(), when)
			if err != nil || !strings.Contains(end.Error, c.says) {
				t.Errorf("got %v and %q, want a word of %q", err, end.Error, c.says)
			}
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("took %s", took)
			}
		})
	}
}

// TestASenderThatLeavesAfterTheWindow has ended its flows, also by a reset, which is what answers on their way to it are met with.
func TestASenderThatLeavesAfterTheWindow(t *testing.T) {
	t.Parallel()
	for engine, make := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			receive := prepare(t, traffic.Order{Role: traffic.Receive, Load: result.Options{"wait": 0.01}, Address: "127.0.0.1"})
			receive.make = make
			conn := rawSender(t, receive.Address())
			when := soon(200 * time.Millisecond)
			when.Interval = when.Window
			when.Observe = func(i result.Interval) {
				if i.To > when.Window.Seconds()/2 { // the window's own, of which all is counted
					conn.(*net.TCPConn).SetLinger(0)
					conn.Close()
				}
			}
			time.AfterFunc(time.Until(when.Start)+when.WarmUp+50*time.Millisecond, func() { conn.Write([]byte{1}) })
			if end, err := receive.Run(t.Context(), when); err != nil || end.Error != "" || end.Packets != 1 {
				t.Errorf("%d requests, %q, %v", end.Packets, end.Error, err)
			}
		})
	}
}

// peerOf serves one connection as a receiver that welcomes and then misbehaves.
func peerOf(t *testing.T, then func(net.Conn)) (address string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		io.ReadFull(conn, make([]byte, helloSize))
		b := answer{Status: welcome}.encode()
		conn.Write(b[:])
		then(conn)
		io.Copy(io.Discard, conn)
	}()
	t.Cleanup(func() { ln.Close(); <-done })
	return ln.Addr().String()
}

func TestSenderOutlivesItsReceiver(t *testing.T) {
	t.Parallel()
	serve := func(n int) func(net.Conn) { // answers so many requests
		return func(c net.Conn) {
			b := make([]byte, 1)
			for range n {
				if _, err := io.ReadFull(c, b); err != nil {
					return
				}
				c.Write(b)
			}
		}
	}
	cases := map[string]struct {
		then func(net.Conn)
		says string
	}{
		"is silent":          {func(net.Conn) {}, "no request was answered"},
		"goes away":          {func(c net.Conn) { serve(200)(c); c.Close() }, "went away"},
		"stalls":             {serve(200), "stalled"},
		"says more than due": {func(c net.Conn) { serve(100)(c); c.Write(make([]byte, 1000)) }, "nobody asked"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			send := prepare(t, traffic.Order{Role: traffic.Send, Load: result.Options{"rate": 2000.0, "wait": 0.2}, Address: peerOf(t, c.then)})
			began := time.Now()
			end, err := send.Run(t.Context(), soon(300*time.Millisecond))
			if err != nil && end.Error == "" {
				end.Error = err.Error() // before the window
			}
			if !strings.Contains(end.Error, c.says) {
				t.Errorf("got %v and %q, want a word of %q", err, end.Error, c.says)
			}
			if took := time.Since(began); took > 3*time.Second {
				t.Errorf("took %s", took)
			}
			if name == "stalls" {
				checkStalled(t, end)
			}
		})
	}
}

// checkStalled wants the time that open requests had waited in the tail.
func checkStalled(t *testing.T, end result.PairEnd) {
	t.Helper()
	h := end.Latencies[result.LatencyIntended]
	if end.Arrived.Lost == 0 || h.Count != end.Packets+end.Arrived.Lost || h.P99 < 0.2 {
		t.Errorf("%d open requests are not in the latencies: %+v", end.Arrived.Lost, h)
	}
}

func TestNobodyComes(t *testing.T) {
	for _, protocol := range []string{overTCP, overUDP} {
		receive := prepare(t, traffic.Order{Role: traffic.Receive, Load: result.Options{"protocol": protocol}, Address: "127.0.0.1"})
		when := traffic.Schedule{Start: time.Now().Add(-lateSender), Window: time.Second}
		if _, err := receive.Run(t.Context(), when); err == nil || !strings.Contains(err.Error(), "no sender") {
			t.Errorf("got %v", err)
		}
	}
}

func TestNobodyIsThere(t *testing.T) {
	for _, protocol := range []string{overTCP, overUDP} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, err := Kind{}.Prepare(ctx, traffic.Order{Role: traffic.Send, Load: with(result.Options{"protocol": protocol}), Address: "127.0.0.1:9"})
		if err == nil || !strings.Contains(err.Error(), "127.0.0.1:9") {
			t.Errorf("%s: got %v", protocol, err)
		}
	}
}

func TestCancelAndCloseEndARun(t *testing.T) {
	for _, protocol := range []string{overTCP, overUDP} {
		for _, how := range []string{"cancel", "close"} {
			t.Run(protocol+" "+how, func(t *testing.T) {
				send, receive := pair(t, result.Options{"protocol": protocol, "flows": 4, "threads": 2}, "127.0.0.1")
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				when := soon(time.Minute)
				when.Interval = 50 * time.Millisecond
				counts, once := make(chan struct{}), sync.Once{}
				when.Observe = func(i result.Interval) {
					if i.From >= 0 && i.Packets > 0 {
						once.Do(func() { close(counts) })
					}
				}
				go func() {
					<-counts
					if how == "cancel" {
						cancel()
						return
					}
					send.Close()
					receive.Close()
				}()
				began := time.Now()
				s, r := runBoth(ctx, send, receive, when)
				if s.end.Error == "" || s.end.Packets+r.end.Packets == 0 {
					t.Errorf("no counts beside the reason: %+v %+v", s.end, r.end)
				}
				if took := time.Since(began); took > 20*time.Second {
					t.Errorf("took %s", took)
				}
			})
		}
	}
}

// TestWhoIsOwedMuchHoldsNobody asks for 64 GiB of answers a flow at once and takes them without a pause: the run ends when it
// is told to.
func TestWhoIsOwedMuchHoldsNobody(t *testing.T) {
	for name, o := range map[string]result.Options{"one flow": {}, "polled": {"poll": "busy"}, "mixed": {"reads": 50}, "two flows": {"flows": 2}} {
		t.Run(name, func(t *testing.T) {
			receive := prepare(t, traffic.Order{Role: traffic.Receive, Load: o, Address: "127.0.0.1"})
			h := one(1)
			h.Response, h.Total = maxMessage, uint32(max(1, o.Int("flows")))
			for ; h.Index < h.Total; h.Index++ {
				conn := dial(t, "tcp", receive.Address())
				say(conn, h)
				if h.Index == h.Total-1 {
					if _, err := io.ReadFull(conn, make([]byte, answerSize)); err != nil {
						t.Fatal(err)
					}
				}
				conn.Write(make([]byte, 64<<10))
				go io.Copy(io.Discard, conn) // until the test is over
			}
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			over := make(chan error, 1)
			go func() { _, err := receive.Run(ctx, soon(100*time.Millisecond)); over <- err }()
			select {
			case <-over:
			case <-time.After(20 * time.Second):
				t.Fatal("it still pays")
			}
		})
	}
}

package stream

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// pair is a receiver and a sender on loopback, prepared.
func pair(t *testing.T, o result.Options) (send, receive *worker) {
	t.Helper()
	receive = prepare(t, traffic.Order{Role: traffic.Receive, Load: o, Address: "127.0.0.1"})
	send = prepare(t, traffic.Order{Role: traffic.Send, Load: o, Address: receive.Address()})
	return send, receive
}

// congestion is cubic where this user may take it: some kernels keep it for root
// (tcp_allowed_congestion_control) and allow everybody reno.
var congestion = func() string {
	allowed, _ := os.ReadFile("/proc/sys/net/ipv4/tcp_allowed_congestion_control")
	if os.Geteuid() == 0 || slices.Contains(strings.Fields(string(allowed)), "cubic") {
		return "cubic"
	}
	return "reno"
}()

func prepare(t *testing.T, order traffic.Order) *worker {
	t.Helper()
	load := maps.Clone(order.Load)
	if load == nil {
		load = result.Options{}
	}
	if _, asked := load["congestion"]; !asked {
		load["congestion"] = congestion
	}
	order.Load = load
	w, err := Kind{}.Prepare(t.Context(), order)
	if err != nil {
		t.Fatalf("preparing to %s: %v", order.Role, err)
	}
	t.Cleanup(func() { w.Close() })
	return w.(*worker)
}

func soon() traffic.Schedule {
	return traffic.Schedule{Start: time.Now().Add(50 * time.Millisecond), WarmUp: 20 * time.Millisecond, Window: 150 * time.Millisecond}
}

// ample is for a pair that cannot be run again: others may have the CPUs for longer than a short window.
func ample() traffic.Schedule {
	when := soon()
	when.Window = time.Second
	return when
}

type outcome struct {
	end result.PairEnd
	err error
}

func runBoth(ctx context.Context, send, receive *worker, when traffic.Schedule) (s, r outcome) {
	var both sync.WaitGroup
	both.Go(func() { s.end, s.err = send.Run(ctx, when) })
	both.Go(func() { r.end, r.err = receive.Run(ctx, when) })
	both.Wait()
	return s, r
}

// longest is how long a window of soon may take.
const longest = 0.6

// runWell prepares and runs a pair. On a machine that others use, a window may go
// by without a time slice, or nobody be woken to end it: then it tries again, a few times.
func runWell(t *testing.T, o result.Options, when func() traffic.Schedule) (send, receive *worker, s, r outcome) {
	t.Helper()
	for try := range 4 {
		send, receive = pair(t, o)
		asked := when()
		s, r = runBoth(t.Context(), send, receive, asked)
		late := max(s.end.WindowSeconds, r.end.WindowSeconds)-asked.Window.Seconds() > longest-soon().Window.Seconds()
		if s.err == nil && r.err == nil && s.end.Error+r.end.Error == "" && !late {
			return send, receive, s, r
		}
		t.Logf("try %d: %v %q in %g s, %v %q in %g s", try+1, s.err, s.end.Error, s.end.WindowSeconds, r.err, r.end.Error, r.end.WindowSeconds)
	}
	t.Fatal("every run failed")
	return nil, nil, s, r
}

func TestEveryByteSentIsReceived(t *testing.T) {
	cases := map[string]result.Options{
		"defaults":            {},
		"one-byte messages":   {"message": 1, "nodelay": true},
		"largest messages":    {"message": maxMessage},
		"streams on a thread": {"streams": 7, "message": 1390},
		"streams on threads":  {"streams": 64, "threads": 3},
		"from JSON":           {"streams": 2.0, "message": 4096.0, "buffer": 65536.0},
	}
	for name, o := range cases {
		t.Run(name, func(t *testing.T) {
			send, receive, s, r := runWell(t, o, soon)
			for _, got := range []outcome{s, r} {
				checkEnd(t, got.end, max(1, int(o.Int("streams"))))
			}
			checkMoved(t, send, receive)
		})
	}
}

// checkMoved compares what was sent with what was received, in each direction.
func checkMoved(t *testing.T, ends ...*worker) {
	t.Helper()
	for i := range ends {
		sent, received := ends[i].moved[traffic.Send], ends[1-i].moved[traffic.Receive]
		if sent != received {
			t.Errorf("sent %d bytes, received %d", sent, received)
		}
	}
}

func checkEnd(t *testing.T, end result.PairEnd, streams int) {
	t.Helper()
	if end.Bytes == 0 || end.Calls == 0 || end.CPUSeconds <= 0 {
		t.Errorf("counted too little: %+v", end)
	}
	if end.WindowSeconds <= 0 || end.WindowSeconds > longest {
		t.Errorf("the window took %g s", end.WindowSeconds)
	}
	if !canDiscard { // only Linux tells of its connections, too
		return
	}
	if len(end.Connections) != streams {
		t.Fatalf("%d connections, want %d", len(end.Connections), streams)
	}
	if c := end.Connections[0]; c.Congestion != congestion || c.SendBufferBytes == 0 || c.MSS == 0 {
		t.Errorf("TCP_INFO is not as set: %+v", c)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	cases := map[string]struct {
		load result.Options
		says string
	}{
		"message too large":    {result.Options{"message": maxMessage + 1}, "message"},
		"more threads":         {result.Options{"threads": 2}, "set streams to at least 2"},
		"unknown congestion":   {result.Options{"congestion": "nosuch"}, "has"},
		"streams out of range": {result.Options{"streams": 0}, "streams"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Kind{}.Prepare(t.Context(), traffic.Order{Role: traffic.Receive, Load: c.load, Address: "127.0.0.1"})
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want a word of %q", err, c.says)
			}
		})
	}
}

func TestStrangersAreTurnedAway(t *testing.T) {
	o := result.Options{"streams": 2}
	receive := prepare(t, traffic.Order{Role: traffic.Receive, Load: o, Address: "127.0.0.1"})
	mute := dial(t, receive.Address())
	garbage := dial(t, receive.Address())
	garbage.Write([]byte(strings.Repeat("GET / HTTP/1.0\r\n", 10)))
	expectClosed(t, garbage)
	half := dial(t, receive.Address()) // joins a session that is never complete
	greeting := hello{Version: version, Total: 2}.encode()
	half.Write(greeting[:])
	one := result.Options{"congestion": congestion}
	_, err := Kind{}.Prepare(t.Context(), traffic.Order{Role: traffic.Send, Load: one, Address: receive.Address()})
	if err == nil || !strings.Contains(err.Error(), "another number of streams") {
		t.Errorf("a sender of one stream: %v", err)
	}
	send := prepare(t, traffic.Order{Role: traffic.Send, Load: o, Address: receive.Address()})
	expectClosed(t, mute)
	expectClosed(t, half)
	s, r := runBoth(t.Context(), send, receive, ample())
	if s.err != nil || r.err != nil || s.end.Error+r.end.Error != "" {
		t.Errorf("strangers disturbed the run: %+v %+v", s, r)
	}
}

func TestAnotherVersionIsToldSo(t *testing.T) {
	receive := prepare(t, traffic.Order{Role: traffic.Receive, Address: "127.0.0.1"})
	conn := dial(t, receive.Address())
	greeting := hello{Version: version + 1, Total: 1}.encode()
	conn.Write(greeting[:])
	answer := make([]byte, answerSize)
	if _, err := io.ReadFull(conn, answer); err != nil {
		t.Fatal(err)
	}
	if err := decodeAnswer(answer); err == nil || !strings.Contains(err.Error(), "another version") {
		t.Errorf("got %v", err)
	}
}

// rawSender is a sender under the test's control: connected, handshake done.
func rawSender(t *testing.T, address string) net.Conn {
	t.Helper()
	conn := dial(t, address)
	greeting := hello{Version: version, Total: 1}.encode()
	conn.Write(greeting[:])
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
		"ends early": {func(c net.Conn) { c.Write(make([]byte, 1000)); c.Close() }, "early"},
		"resets":     {func(c net.Conn) { c.(*net.TCPConn).SetLinger(0); c.Close() }, "went away"},
		"is silent":  {func(net.Conn) {}, "nothing moved"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			receive := prepare(t, traffic.Order{Role: traffic.Receive, Address: "127.0.0.1"})
			conn := rawSender(t, receive.Address())
			when := soon()
			when.Window = 1200 * time.Millisecond
			time.AfterFunc(time.Until(when.Start)+when.WarmUp+100*time.Millisecond, func() { c.does(conn) })
			end, err := receive.Run(t.Context(), when)
			if err != nil || !strings.Contains(end.Error, c.says) {
				t.Errorf("got %v and %q, want a word of %q", err, end.Error, c.says)
			}
		})
	}
}

func TestSenderOutlivesItsReceiver(t *testing.T) {
	t.Parallel()
	for name, says := range map[string]string{"stalls": "stalled", "resets": "went away"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer ln.Close()
			accepted := make(chan net.Conn, 1)
			go answerOne(ln, accepted)
			send := prepare(t, traffic.Order{Role: traffic.Send, Address: ln.Addr().String()})
			conn := <-accepted
			defer conn.Close()
			when := soon()
			when.Window = 1500 * time.Millisecond
			if name == "resets" {
				time.AfterFunc(time.Until(when.Start)+when.WarmUp+100*time.Millisecond, func() { conn.Close() })
			}
			began := time.Now()
			end, err := send.Run(t.Context(), when)
			if err != nil || !strings.Contains(end.Error, says) {
				t.Errorf("got %v and %q, want a word of %q", err, end.Error, says)
			}
			if took := time.Since(began); took > 3*time.Second {
				t.Errorf("took %s to see it", took)
			}
		})
	}
}

func answerOne(ln net.Listener, accepted chan<- net.Conn) {
	conn, err := ln.Accept()
	if err != nil {
		return
	}
	io.ReadFull(conn, make([]byte, helloSize))
	answer := encodeAnswer(welcome)
	conn.Write(answer[:])
	accepted <- conn
}

func TestNobodyComes(t *testing.T) {
	t.Parallel()
	receive := prepare(t, traffic.Order{Role: traffic.Receive, Address: "127.0.0.1"})
	when := traffic.Schedule{Start: time.Now().Add(-lateSender), Window: time.Second}
	if _, err := receive.Run(t.Context(), when); err == nil || !strings.Contains(err.Error(), "no sender") {
		t.Errorf("got %v", err)
	}
}

func TestCancelAndCloseEndARun(t *testing.T) {
	for _, how := range []string{"cancel", "close"} {
		t.Run(how, func(t *testing.T) {
			send, receive := pair(t, result.Options{"streams": 4, "threads": 2})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			when := soon()
			when.Window, when.Interval = time.Minute, 20*time.Millisecond
			var both, moving sync.WaitGroup // the second until each end has moved bytes in the window, or has failed
			run := func(w *worker, got *outcome) {
				moving.Add(1)
				once, watched := sync.OnceFunc(moving.Done), when
				watched.Observe = func(i result.Interval) {
					if i.From > 0 && i.Bytes > 0 {
						once()
					}
				}
				both.Go(func() {
					defer once()
					got.end, got.err = w.Run(ctx, watched)
				})
			}
			var s, r outcome
			run(send, &s)
			run(receive, &r)
			moving.Wait()
			if how == "cancel" {
				cancel()
			} else {
				send.Close()
				receive.Close()
			}
			both.Wait()
			for _, got := range []outcome{s, r} {
				if got.end.Error == "" || got.end.Bytes == 0 {
					t.Errorf("no counts beside the reason: %+v", got.end)
				}
				if how == "cancel" && !errors.Is(got.err, context.Canceled) && got.err != nil {
					t.Errorf("got %v", got.err)
				}
			}
		})
	}
}

func TestNothingIsLeft(t *testing.T) {
	fds, goroutines := countFDs(t), runtime.NumGoroutine()
	procs := runtime.GOMAXPROCS(0)
	for range 3 {
		send, receive := pair(t, result.Options{"streams": 5, "threads": 2})
		runBoth(t.Context(), send, receive, soon())
		send.Close()
		receive.Close()
		unused := prepare(t, traffic.Order{Role: traffic.Receive, Address: "127.0.0.1"})
		dial(t, unused.Address()).Close()
		unused.Close()
	}
	if n := countFDs(t); n > fds+1 { // the first poll makes the runtime's own
		t.Errorf("%d descriptors, %d before", n, fds)
	}
	// A goroutine that is waited for may still be on its way out.
	for limit := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > goroutines && time.Now().Before(limit); {
		runtime.Gosched()
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines, %d before", n, goroutines)
	}
	if n := runtime.GOMAXPROCS(0); n != procs {
		t.Errorf("GOMAXPROCS is %d, was %d", n, procs)
	}
}

func countFDs(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("cannot list descriptors:", err)
	}
	return len(entries)
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func expectClosed(t *testing.T, conn net.Conn) {
	t.Helper()
	conn.SetReadDeadline(time.Now().Add(2 * time.Second))
	_, err := conn.Read(make([]byte, 1))
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a stranger's connection still stands: %v", err)
	}
}

package ping

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// TestAPeerThatAnswersHasNotStalled: 64 are under way, so each waits for 6.4 s, and an answer comes each 0.1 s.
func TestAPeerThatAnswersHasNotStalled(t *testing.T) {
	t.Parallel()
	addr := peerOf(t, func(conn net.Conn) {
		b := make([]byte, 1)
		for {
			if _, err := io.ReadFull(conn, b); err != nil {
				return
			}
			time.Sleep(100 * time.Millisecond)
			if _, err := conn.Write(b); err != nil {
				return
			}
		}
	})
	send := prepare(t, traffic.Order{Role: traffic.Send, Load: result.Options{"depth": 64, "wait": 8.0}, Address: addr})
	end, err := send.Run(t.Context(), soon(silenceLimit+4*time.Second))
	if err != nil || end.Error != "" || end.Packets == 0 {
		t.Errorf("%d answered, %q, %v", end.Packets, end.Error, err)
	}
}

// TestASlowWatcherChangesNoFigure, and one that never returns holds nothing up.
func TestASlowWatcherChangesNoFigure(t *testing.T) {
	t.Parallel()
	send, receive := pair(t, result.Options{"rate": 1000.0}, "127.0.0.1")
	when := soon(2 * time.Second)
	when.Interval = 100 * time.Millisecond
	free := make(chan struct{})
	when.Observe = func(result.Interval) { <-free }
	defer close(free)
	plain := when
	plain.Observe = nil
	received := make(chan error, 1)
	go func() { _, err := receive.Run(t.Context(), plain); received <- err }()
	end, err := send.Run(t.Context(), when)
	if other := <-received; err != nil || other != nil || end.Error != "" {
		t.Fatalf("%q, %v, %v", end.Error, err, other)
	}
	empty := 0
	for _, i := range end.Intervals {
		if i.Packets == 0 && i.From >= 0 {
			empty++
		}
	}
	if empty > len(end.Intervals)/2 { // a busy machine has some
		t.Errorf("%d intervals are empty: %+v", empty, end.Intervals)
	}
}

// throttle answers a thousand times a second for a responder that may do more.
func throttle(t *testing.T, to string) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		from, err := ln.Accept()
		if err != nil {
			return
		}
		defer from.Close()
		onward, err := net.Dial("tcp", to)
		if err != nil {
			return
		}
		go func() { _, _ = io.Copy(onward, from); _ = onward.(*net.TCPConn).CloseWrite() }()
		greeting := make([]byte, answerSize)
		if _, err := io.ReadFull(onward, greeting); err != nil {
			return
		}
		_, _ = from.Write(greeting)
		answers := make([]byte, 10)
		for next := (time.Time{}); err == nil; next = next.Add(10 * time.Millisecond) {
			var n int
			n, err = io.ReadFull(onward, answers)
			if next.IsZero() {
				next = time.Now() // what it did not carry before the first answer it may not carry on top
			}
			time.Sleep(time.Until(next))
			_, _ = from.Write(answers[:n])
		}
	}()
	return ln.Addr().String()
}

// TestAnswersAfterTheWindowAreNoRate: the way back carries half of the requests a second that are asked for.
func TestAnswersAfterTheWindowAreNoRate(t *testing.T) {
	t.Parallel()
	load := result.Options{"rate": 2000.0}
	send, receive := through(t, load, func(to string) string { return throttle(t, to) })
	s, r := runBoth(t.Context(), send, receive, soon(500*time.Millisecond))
	if s.err != nil || r.err != nil || s.end.Error+r.end.Error != "" {
		t.Fatalf("%v %q, %v %q", s.err, s.end.Error, r.err, r.end.Error)
	}
	trial := result.Trial{Pairs: []result.PairSample{{Sender: s.end, Receiver: r.end}}}
	rate, err := result.Cell{}.Value(trial, result.TransactionRate)
	if err != nil || rate > 1100 {
		t.Errorf("%g a second through a way that carries 1000, %v", rate, err)
	}
	if s.end.Packets < 990 {
		t.Errorf("latencies are of %d requests, of 1000 that were due", s.end.Packets)
	}
	if limit := traffic.Judge(with(load), s.end, r.end); limit.Verdict == result.RateReached {
		t.Errorf("%+v", limit)
	}
}

// TestNothingVanishesOfARateThatIsImpossible: each request that was due is answered, lost or was never sent, and of what had its full
// wait nothing was lost on loopback.
func TestNothingVanishesOfARateThatIsImpossible(t *testing.T) {
	for name, load := range map[string]result.Options{
		"UDP": {"protocol": "udp", "rate": 1e7, "outstanding": 16, "wait": 0.1, "message": 8},
		"TCP": {"protocol": "tcp", "rate": 2e6},
	} {
		for engine := range engines {
			t.Run(name+" "+engine, func(t *testing.T) {
				send, receive := pair(t, load, "127.0.0.1")
				send.make, receive.make = engines[engine], engines[engine]
				window := 300 * time.Millisecond
				s, r := runBoth(t.Context(), send, receive, soon(window))
				for try := 1; try < 4 && strings.Contains(s.end.Error, "in the window"); try++ { // a thread that had no CPU in all of it
					send, receive = pair(t, load, "127.0.0.1")
					send.make, receive.make = engines[engine], engines[engine]
					s, r = runBoth(t.Context(), send, receive, soon(window))
				}
				if s.err != nil || r.err != nil || s.end.Error+r.end.Error != "" {
					t.Fatalf("%v %q, %v %q", s.err, s.end.Error, r.err, r.end.Error)
				}
				due := load.Float("rate") * window.Seconds()
				if all := s.end.Arrived.Expected + s.end.Offered.Refused; float64(all) < 0.999*due || float64(all) > 1.001*due {
					t.Errorf("of %g that were due %d are known: %d answered, %d lost, %d refused", due, all, s.end.Packets, s.end.Arrived.Lost, s.end.Offered.Refused)
				}
				if s.end.Arrived.Lost > 0 {
					t.Errorf("%d were lost on loopback", s.end.Arrived.Lost)
				}
			})
		}
	}
}

// slowPeer takes a request of so many bytes every millisecond, and answers it a quarter of a second later.
func slowPeer(t *testing.T, size int) string {
	return peerOf(t, func(conn net.Conn) {
		due := make(chan time.Time, 1<<10)
		defer close(due)
		go func() {
			for at := range due {
				time.Sleep(time.Until(at))
				_, _ = conn.Write([]byte{0})
			}
		}()
		b := make([]byte, size)
		for next := time.Now(); ; next = next.Add(time.Millisecond) {
			time.Sleep(time.Until(next))
			if _, err := io.ReadFull(conn, b); err != nil {
				return
			}
			due <- time.Now().Add(250 * time.Millisecond)
		}
	})
}

// TestAPeerThatIsBehindHasNotStalled: a tenth of the requests that are due gets through, and the socket is full of them. What
// leaves it when nothing may leave any more has no time: it had none to be answered in. What came is a result, with a verdict.
func TestAPeerThatIsBehindHasNotStalled(t *testing.T) {
	t.Parallel()
	const wait = 0.2
	for engine, make := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			load := result.Options{"rate": 10e3, "message": 64 << 10, "response": 1, "wait": wait}
			send := prepare(t, traffic.Order{Role: traffic.Send, Load: load, Address: slowPeer(t, 64<<10)})
			send.make = make
			when := soon(500 * time.Millisecond)
			when.WarmUp, when.Interval = 0, 100*time.Millisecond
			end, err := send.Run(t.Context(), when)
			if err != nil || end.Error != "" || end.Arrived.Behind == 0 || end.Arrived.Behind != end.Arrived.Lost {
				t.Errorf("%d behind of %d lost, %q, %v", end.Arrived.Behind, end.Arrived.Lost, end.Error, err)
			}
			there := result.PairEnd{WindowSeconds: end.WindowSeconds, Threads: 1, Packets: 500, Bytes: 500 << 16}
			if limit := traffic.Judge(with(load), end, there); limit.Verdict == "" || limit.Verdict == result.RateReached || strings.Contains(limit.Says, "lost") {
				t.Errorf("%+v", limit)
			}
			if left := end.Arrived.Expected - end.Offered.Unsent; end.Calls != left || end.Bytes != left<<16 || engine == "own" && end.Offered.Unsent == 0 {
				t.Errorf("%d sent, %d bytes, of %d that were due and %d that never left", end.Calls, end.Bytes, end.Arrived.Expected, end.Offered.Unsent)
			}
			sum := uint64(0)
			for _, i := range end.Intervals {
				sum += i.Bytes
			}
			if sum != end.Bytes {
				t.Errorf("the intervals have %d bytes of %d", sum, end.Bytes)
			}
			if h := end.Latencies[result.LatencyActual]; h.Count == 0 || h.Min < wait {
				t.Errorf("of answers that take 0.25 s, and requests that were waited for for %g s: %+v", wait, h)
			}
		})
	}
}

// TestAnswersOfOtherTimesAreAResult: the window's requests all wait behind those of before it, whose answers are the path's rate.
func TestAnswersOfOtherTimesAreAResult(t *testing.T) {
	t.Parallel()
	for engine, make := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			load := result.Options{"rate": 5e3, "message": 100, "response": 1, "wait": 0.1}
			send := prepare(t, traffic.Order{Role: traffic.Send, Load: load, Address: slowPeer(t, 100)})
			send.make = make
			when := traffic.Schedule{Start: time.Now().Add(20 * time.Millisecond), WarmUp: 400 * time.Millisecond, Window: 200 * time.Millisecond, Interval: 50 * time.Millisecond}
			end, err := send.Run(t.Context(), when)
			if err != nil || end.Error != "" || end.Packets != 0 || end.InWindow() == 0 || end.Arrived.Behind == 0 {
				t.Fatalf("%d answered, %d in the window, %d behind, %q, %v", end.Packets, end.InWindow(), end.Arrived.Behind, end.Error, err)
			}
			sum := uint64(0)
			for _, i := range end.Intervals {
				if i.From >= 0 {
					sum += i.InTime()
				}
			}
			if sum != end.InWindow() {
				t.Errorf("%d answers came in the window's intervals, %d in the window", sum, end.InWindow())
			}
			if rate := end.PerSecond(); rate > 1500 {
				t.Errorf("%g transactions a second of a peer that answers 1000", rate)
			}
		})
	}
}

// TestAShortWaitIsNoBreak: answers come ten at a time, 10 ms apart, and one is waited for for 1 ms. The sender leaves while more of them
// are on their way, which is the end of its flows, and neither end's failure.
func TestAShortWaitIsNoBreak(t *testing.T) {
	t.Parallel()
	for engine, make := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			load := result.Options{"rate": 4000.0, "wait": 0.001}
			send, receive := through(t, load, func(to string) string { return throttle(t, to) })
			send.make, receive.make = make, make
			s, r := runBoth(t.Context(), send, receive, soon(300*time.Millisecond))
			if s.err != nil || r.err != nil || s.end.Error+r.end.Error != "" {
				t.Fatalf("%v %q, %v %q", s.err, s.end.Error, r.err, r.end.Error)
			}
			if limit := traffic.Judge(with(load), s.end, r.end); limit.Verdict != result.PathLimited || s.end.Arrived.Behind == 0 {
				t.Errorf("%d behind, %+v", s.end.Arrived.Behind, limit)
			}
		})
	}
}

// TestAnswersThatAllComeTooLateAreAnswers: over UDP a queue on the path that is longer than the wait delays every one. What it does to the rate is
// a result, and not that nobody answered.
func TestAnswersThatAllComeTooLateAreAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		late, within uint64
		fails        bool
	}{
		"late, in the window":    {1870, 1907, false},
		"late, after it":         {1870, 0, false},
		"of the warm-up, behind": {0, 1907, false},
		"none":                   {0, 0, true},
	} {
		w := &worker{load: load{udp: true, rate: 3000}}
		end := result.PairEnd{Offered: &result.Offered{}, Arrived: &result.Arrived{Expected: 6000, Lost: 6000 - c.late, Late: c.late, Within: &c.within}}
		if err := w.judge(end); (err != nil) != c.fails {
			t.Errorf("%s: %v", name, err)
		}
	}
}

package ping

import (
	"encoding/binary"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// gate stops what passes it while it is shut, and knows for how long it did so at most.
type gate struct {
	sync.RWMutex
	longest atomic.Int64 // ns
}

func (g *gate) pass() {
	came := time.Now()
	g.RLock()
	defer g.RUnlock()
	for held := time.Since(came).Nanoseconds(); ; {
		if longest := g.longest.Load(); held <= longest || g.longest.CompareAndSwap(longest, held) {
			return
		}
	}
}

// stall shuts the gate at a time, for a while.
func (g *gate) stall(at time.Time, lasts time.Duration) *time.Timer {
	return time.AfterFunc(time.Until(at), func() {
		g.Lock()
		time.Sleep(lasts)
		g.Unlock()
	})
}

// relayStream lies between a sender and a receiver over TCP and passes bytes
// through the gate, both ways.
func relayStream(t *testing.T, to string, g *gate) (address string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			from, err := ln.Accept()
			if err != nil {
				return
			}
			onward, err := net.Dial("tcp", to)
			if err != nil {
				from.Close()
				return
			}
			all.Go(func() { carry(from, onward, g) })
			all.Go(func() { carry(onward, from, g) })
		}
	})
	t.Cleanup(func() { ln.Close(); all.Wait() })
	return ln.Addr().String()
}

func carry(from, to net.Conn, g *gate) {
	defer to.Close()
	b := make([]byte, 64<<10)
	for {
		n, err := from.Read(b)
		if err != nil {
			return
		}
		g.pass()
		if _, err := to.Write(b[:n]); err != nil {
			return
		}
	}
}

// datagramRelay lies between one flow and a receiver over UDP.
type datagramRelay struct {
	socket   *net.UDPConn
	receiver netip.AddrPort
	gate     gate
	hooks    hooks
}

// hooks are what a relay does to datagrams that are none of the handshake's; nil: nothing.
type hooks struct {
	forth func(number uint64) (copies int)          // of a request
	back  func(number uint64) (after time.Duration) // of an answer
}

func relayDatagrams(t *testing.T, to string, h hooks) *datagramRelay {
	t.Helper()
	socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	r := &datagramRelay{socket: socket, receiver: netip.MustParseAddrPort(to), hooks: h}
	var serving sync.WaitGroup
	serving.Go(r.serve)
	t.Cleanup(func() { socket.Close(); serving.Wait() })
	return r
}

func (r *datagramRelay) address() string { return r.socket.LocalAddr().String() }

func (r *datagramRelay) serve() {
	b := make([]byte, maxDatagram)
	var sender netip.AddrPort
	for {
		n, from, err := r.socket.ReadFromUDPAddrPort(b)
		if err != nil {
			if refusedByPeer(err) {
				continue
			}
			return
		}
		r.gate.pass()
		_, notHello := decodeHello(b[:n])
		_, notAnswer := decodeAnswer(b[:n])
		plain := notHello != nil && notAnswer != nil
		number := uint64(0)
		if n >= numberedSize {
			number = binary.LittleEndian.Uint64(b)
		}
		switch {
		case from != r.receiver:
			sender = from
			for range r.copies(plain, number) {
				r.socket.WriteToUDPAddrPort(b[:n], r.receiver)
			}
		case plain && r.hooks.back != nil && r.hooks.back(number) > 0:
			late, to := append([]byte(nil), b[:n]...), sender
			time.AfterFunc(r.hooks.back(number), func() { r.socket.WriteToUDPAddrPort(late, to) })
		default:
			r.socket.WriteToUDPAddrPort(b[:n], sender)
		}
	}
}

func (r *datagramRelay) copies(plain bool, number uint64) int {
	if !plain || r.hooks.forth == nil {
		return 1
	}
	return r.hooks.forth(number)
}

// through prepares a pair whose sender reaches its receiver by a relay.
func through(t *testing.T, o result.Options, relay func(receiver string) string) (send, receive *worker) {
	t.Helper()
	receive = prepare(t, traffic.Order{Role: traffic.Receive, Load: o, Address: "127.0.0.1"})
	send = prepare(t, traffic.Order{Role: traffic.Send, Load: o, Address: relay(receive.Address())})
	return send, receive
}

// TestAStallShowsInTheTail is why an open loop exists: 100 ms of a stalled path cost
// every request that was due in them, where a closed loop sees one slow answer.
func TestAStallShowsInTheTail(t *testing.T) {
	const stalled, least = 100 * time.Millisecond, 90 * time.Millisecond
	run := func(t *testing.T, o result.Options) (s finished, held time.Duration) {
		var g *gate
		s, _ = undisturbed(t, func(t *testing.T) (s, r finished) {
			send, receive := through(t, o, func(receiver string) string {
				if o.Text("protocol") == overUDP {
					relay := relayDatagrams(t, receiver, hooks{})
					g = &relay.gate
					return relay.address()
				}
				g = &gate{}
				return relayStream(t, receiver, g)
			})
			when := soon(time.Second)
			defer g.stall(when.Start.Add(when.WarmUp+300*time.Millisecond), stalled).Stop()
			return runBoth(t.Context(), send, receive, when)
		})
		return s, time.Duration(g.longest.Load())
	}
	for _, protocol := range []string{overTCP, overUDP} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			s, _ := run(t, result.Options{"protocol": protocol, "rate": 1000.0})
			intended, actual := s.end.Latencies[result.LatencyIntended], s.end.Latencies[result.LatencyActual]
			t.Logf("p99 from the intended time %.1f ms, from the actual time %.1f ms, of %d", 1e3*intended.P99, 1e3*actual.P99, intended.Count)
			if intended.P99 < 0.05 || intended.Max < 0.09 || intended.P50 > 0.05 {
				t.Errorf("100 ms of 1 s stalled: %+v", intended)
			}
			if s.end.Packets != 1000 || actual.Count != 1000 {
				t.Errorf("%d requests at 1000/s in 1 s: a late one is sent, not skipped", s.end.Packets)
			}
		})
	}
	t.Run("closed loop", func(t *testing.T) {
		t.Parallel()
		for range attempts { // a sender without a CPU sends nothing that could be stalled
			s, held := run(t, result.Options{})
			if held < least {
				t.Logf("no request was stalled for longer than %s", held)
				continue
			}
			if actual := s.end.Latencies[result.LatencyActual]; actual.Max < least.Seconds() || actual.P99 > 0.05 {
				t.Errorf("one slow answer of many: %+v", actual)
			}
			return
		}
		t.Skipf("this machine kept the sender from a stall of %s in each of %d attempts", stalled, attempts)
	})
}

func TestEveryNthRequestIsLost(t *testing.T) {
	t.Parallel()
	const every = 10
	s, _ := undisturbed(t, func(t *testing.T) (s, r finished) {
		send, receive := through(t, result.Options{"protocol": "udp", "rate": 2000.0, "wait": 0.3}, func(receiver string) string {
			return relayDatagrams(t, receiver, hooks{forth: func(number uint64) int {
				if number%every == 0 {
					return 0
				}
				return 1
			}}).address()
		})
		return runBoth(t.Context(), send, receive, soon(200*time.Millisecond))
	})
	a := s.end.Arrived
	if a.Expected != 400 || a.Lost != 400/every || s.end.Packets != 400-400/every || a.Late+a.Duplicate+a.Corrupt != 0 {
		t.Errorf("every tenth of 400 requests was dropped: %+v, %d answered", a, s.end.Packets)
	}
	if n := s.end.Latencies[result.LatencyIntended].Count; n != s.end.Packets {
		t.Errorf("%d latencies of %d answers", n, s.end.Packets)
	}
	if s.end.Offered.Lag.Count != 400 {
		t.Errorf("the lag of %d requests, lost ones too", s.end.Offered.Lag.Count)
	}
}

func TestLateAndDoubleAnswersAreCountedApart(t *testing.T) {
	t.Parallel()
	s, _ := undisturbed(t, func(t *testing.T) (s, r finished) {
		send, receive := through(t, result.Options{"protocol": "udp", "rate": 1000.0, "wait": 0.3}, func(receiver string) string {
			return relayDatagrams(t, receiver, hooks{forth: func(number uint64) int { // requests 20 to 619 are the window's
				if number == 30 {
					return 2
				}
				return 1
			}, back: func(number uint64) time.Duration {
				if number == 40 {
					return 400 * time.Millisecond
				}
				return 0
			}}).address()
		})
		return runBoth(t.Context(), send, receive, soon(600*time.Millisecond))
	})
	a := s.end.Arrived
	if a.Expected != 600 || a.Late != 1 || a.Lost != 0 || a.Duplicate != 1 || s.end.Packets != 599 {
		t.Errorf("one late and one doubled of 600: %+v, %d answered", a, s.end.Packets)
	}
	if h := s.end.Latencies[result.LatencyIntended]; h.Count != 600 || h.Max < 0.4 {
		t.Errorf("a late answer's latency is missing: %+v", h)
	}
}

// TestALostRequestDoesNotStopAClosedLoop is what netperf's UDP_RR does not survive.
func TestALostRequestDoesNotStopAClosedLoop(t *testing.T) {
	t.Parallel()
	s, _ := undisturbed(t, func(t *testing.T) (s, r finished) {
		send, receive := through(t, result.Options{"protocol": "udp", "message": 8, "wait": 0.02}, func(receiver string) string {
			lost := 0
			return relayDatagrams(t, receiver, hooks{forth: func(uint64) int {
				if lost++; lost%100 == 50 {
					return 0
				}
				return 1
			}}).address()
		})
		return runBoth(t.Context(), send, receive, soon(300*time.Millisecond))
	})
	if a := s.end.Arrived; a.Lost < 2 || s.end.Packets < 100 {
		t.Errorf("%+v, %d answered", a, s.end.Packets)
	}
}

// TestTooManyOutstandingAreRefused fills the bound during a stall.
func TestTooManyOutstandingAreRefused(t *testing.T) {
	t.Parallel()
	s, _ := undisturbed(t, func(t *testing.T) (s, r finished) {
		g := &gate{}
		send, receive := through(t, result.Options{"rate": 1000.0, "outstanding": 10}, func(receiver string) string { return relayStream(t, receiver, g) })
		when := soon(300 * time.Millisecond)
		defer g.stall(when.Start.Add(when.WarmUp+50*time.Millisecond), 100*time.Millisecond).Stop()
		return runBoth(t.Context(), send, receive, when)
	})
	if refused := s.end.Offered.Refused; refused < 50 || s.end.Packets+refused != 300 {
		t.Errorf("%d answered and %d refused of 300 at 10 outstanding, with 100 of them in a stall", s.end.Packets, refused)
	}
}

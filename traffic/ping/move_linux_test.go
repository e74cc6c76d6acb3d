package ping

import (
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// translator lies between one flow and a receiver as a translator of addresses does that may be restarted: then what passes has another source.
type translator struct {
	in       *net.UDPConn
	receiver netip.AddrPort
	serving  sync.WaitGroup

	mu     sync.Mutex
	out    *net.UDPConn
	outs   []*net.UDPConn
	sender netip.AddrPort
	moved  bool
	after  atomic.Uint64 // answers that came to where the flow has moved to
}

func translate(t *testing.T, to string) *translator {
	t.Helper()
	r := &translator{in: listenAny(t), receiver: netip.MustParseAddrPort(to)}
	r.restart(t)
	r.moved = false
	r.serving.Go(func() {
		b := make([]byte, maxDatagram)
		for {
			n, from, err := r.in.ReadFromUDPAddrPort(b)
			if err != nil {
				return
			}
			r.mu.Lock()
			r.sender = from
			r.out.WriteToUDPAddrPort(b[:n], r.receiver)
			r.mu.Unlock()
		}
	})
	t.Cleanup(func() {
		r.in.Close()
		for _, out := range r.outs {
			out.Close()
		}
		r.serving.Wait()
	})
	return r
}

func listenAny(t *testing.T) *net.UDPConn {
	t.Helper()
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// restart gives the flow another port. Where it was nobody is passed on to it any more.
func (r *translator) restart(t *testing.T) {
	out := listenAny(t)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.out, r.moved, r.outs = out, true, append(r.outs, out)
	r.serving.Go(func() {
		b := make([]byte, maxDatagram)
		for {
			n, _, err := out.ReadFromUDPAddrPort(b)
			switch {
			case err == nil:
				r.back(out, b[:n])
			case !refusedByPeer(err):
				return
			}
		}
	})
}

func (r *translator) back(out *net.UDPConn, b []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if out != r.out {
		return
	}
	if _, err := decodeAnswer(b); err != nil && r.moved {
		r.after.Add(1)
	}
	r.in.WriteToUDPAddrPort(b, r.sender)
}

// TestAFlowThatMovesIsFound: a translator of addresses on the way gives it another port. The receiver's socket hears the old one alone, and
// all requests from then on were lost, or the kernel's word that nobody is there ended the test.
func TestAFlowThatMovesIsFound(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]result.Options{
		"closed loop": {"protocol": "udp", "message": 8, "wait": 0.1},
		"open loop":   {"protocol": "udp", "rate": 500.0, "wait": 0.5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r *translator
			send, receive := through(t, o, func(receiver string) string {
				r = translate(t, receiver)
				return r.in.LocalAddr().String()
			})
			when := soon(2 * time.Second)
			moves := time.AfterFunc(time.Until(when.Start)+when.WarmUp+200*time.Millisecond, func() { r.restart(t) })
			defer moves.Stop()
			atSender, atReceiver := runBoth(t.Context(), send, receive, when)
			if atSender.err != nil || atReceiver.err != nil || atSender.end.Error+atReceiver.end.Error != "" {
				t.Errorf("%v %q, %v %q", atSender.err, atSender.end.Error, atReceiver.err, atReceiver.end.Error)
			}
			if r.after.Load() == 0 {
				t.Errorf("no request was answered after the move, %d before, %+v", atSender.end.Packets, atSender.end.Arrived)
			}
		})
	}
}

// TestAStrangerMovesNothing: who does not know the session's token has no answer, and who does not receive where it says hello from has no flow.
func TestAStrangerMovesNothing(t *testing.T) {
	t.Parallel()
	o := result.Options{"protocol": "udp", "flows": 2, "message": 8}
	receive := prepare(t, traffic.Order{Role: traffic.Receive, Load: o, Address: "127.0.0.1"})
	send := prepare(t, traffic.Order{Role: traffic.Send, Load: o, Address: receive.Address()})
	stranger := hello{Version: version, Purpose: moves, Index: 1, Total: 2, Message: 8, Response: 8, Token: token{1, 2, 3}}
	forged := hello{Version: version, Purpose: moves, Index: 0, Total: 2, Message: 8, Response: 8, Token: send.ends.token, Cookie: token{4, 5, 6}}
	conn := dial(t, "udp", receive.Address())
	var both sync.WaitGroup
	var s, r finished
	both.Go(func() { s, r = runBoth(t.Context(), send, receive, soon(2*time.Second)) })
	var heard []answer
	b := make([]byte, 1<<16)
	for limit := time.Now().Add(time.Second); time.Now().Before(limit) || len(heard) == 0 && time.Now().Before(limit.Add(time.Second)); {
		conn.Write(make([]byte, 8))
		say(conn, stranger)
		say(conn, forged)
		conn.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
		if n, err := conn.Read(b); err == nil {
			a, err := decodeAnswer(b[:n])
			if err != nil {
				t.Errorf("it got %d bytes", n)
			}
			heard = append(heard, a)
		}
	}
	both.Wait()
	for _, a := range heard {
		if a.Status != challenge || a.Index != 0 {
			t.Errorf("it got %+v; only a challenge is due, to who knows the token", a)
		}
	}
	if len(heard) == 0 {
		t.Error("who knows the token had no answer")
	}
	if s.err != nil || r.err != nil || s.end.Error+r.end.Error != "" || s.end.Packets == 0 {
		t.Errorf("it disturbed the run: %+v %+v", s, r)
	}
}

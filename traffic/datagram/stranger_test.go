package datagram

import (
	"math"
	"net"
	"net/netip"
	"testing"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// stranger is a sender that has agreed on a load, and says what it likes.
type stranger struct {
	t     *testing.T
	conn  net.Conn
	flows []*net.UDPConn
	codec Codec
	b     []byte
}

func newStranger(t *testing.T, o result.Options, receiver string) *stranger {
	t.Helper()
	s := newcomer(t, o, receiver)
	for i := range s.flows {
		s.say(i, Stamp{Mark: opening}, 0)
	}
	if n, err := readNote(s.conn); err != nil || n.what != noteReady {
		t.Fatal(n, err)
	}
	return s
}

// newcomer is one that has opened no flow yet.
func newcomer(t *testing.T, o result.Options, receiver string) *stranger {
	t.Helper()
	l, err := parseLoad(o)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", receiver)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	k := newKey()
	h := helloOf(l, k).encode()
	conn.Write(h[:])
	ports, err := readAnswer(conn, l.threads)
	if err != nil {
		t.Fatal(err)
	}
	s := &stranger{t: t, conn: conn, codec: headerFor(l.message, k), b: template(l.message, nil)}
	for i := range l.flows {
		flow, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), ports[i%len(ports)])))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { flow.Close() })
		s.flows = append(s.flows, flow)
	}
	return s
}

// say sends a datagram of a flow, with bits of its last byte changed on the way.
func (s *stranger) say(flow int, stamp Stamp, changed byte) {
	stamp.Flow = uint32(flow)
	s.codec.Put(s.b, stamp)
	s.b[len(s.b)-1] ^= changed
	s.flows[flow].Write(s.b)
	s.b[len(s.b)-1] ^= changed
}

// end tells what was sent of each flow in the window, and waits until it is counted.
func (s *stranger) end(sent ...uint64) {
	all := make(totals, len(sent))
	for i := range sent {
		all[i][markWindow] = sent[i]
	}
	s.conn.Write(note{noteTotals, all.encode()}.encode())
	readNote(s.conn)
	s.conn.Close()
}

// inTheWindow runs a receiver, and calls back in the middle of its window.
func inTheWindow(t *testing.T, receive *worker, say func()) (result.PairEnd, error) {
	t.Helper()
	when := ample()
	said := make(chan struct{})
	go func() {
		defer close(said)
		time.Sleep(time.Until(when.Start.Add(when.WarmUp + when.Window/2))) // a time of the schedule, not of a state
		say()
	}()
	end, err := receive.Run(t.Context(), when)
	<-said
	return end, err
}

// TestAFlowOfCorruptDatagramsIsCorrupt: of the last of so many flows none arrives whole.
func TestAFlowOfCorruptDatagramsIsCorrupt(t *testing.T) {
	const each = 100
	for name, o := range map[string]result.Options{
		"one flow": {"packets": 1000.0}, "two on a thread": {"flows": 2, "packets": 1000.0}, "two": {"flows": 2, "threads": 2, "packets": 1000.0},
	} {
		t.Run(name, func(t *testing.T) {
			receive := prepare(t, traffic.Order{Role: traffic.Receive, Load: o, Address: "127.0.0.1"})
			s := newStranger(t, o, receive.Address())
			last := len(s.flows) - 1
			end, err := inTheWindow(t, receive, func() {
				sent := make([]uint64, len(s.flows))
				for i := range each {
					for flow := range s.flows {
						changed := byte(0)
						if flow == last {
							changed = 1
						}
						s.say(flow, Stamp{Mark: markWindow, Seq: uint64(i), Sent: int64(i) * 1e6}, changed)
						sent[flow]++
					}
				}
				s.end(sent...)
			})
			a := end.Arrived
			if a == nil {
				t.Fatal(err, end.Error)
			}
			if end.Packets != uint64(each*last) || a.Lost != each || a.Corrupt != each {
				t.Errorf("%d came, %d were lost and %d corrupt; want %d, %d and %d", end.Packets, a.Lost, a.Corrupt, each*last, each, each)
			}
		})
	}
}

// TestTimesOfAStrangerEndNothing: they are as far apart as numbers go, forwards and back.
func TestTimesOfAStrangerEndNothing(t *testing.T) {
	o := result.Options{}
	receive := prepare(t, traffic.Order{Role: traffic.Receive, Load: o, Address: "127.0.0.1"})
	s := newStranger(t, o, receive.Address())
	times := []int64{math.MinInt64, math.MaxInt64, math.MinInt64, 0, math.MaxInt64, -1}
	end, err := inTheWindow(t, receive, func() {
		for i, sent := range times {
			s.say(0, Stamp{Mark: markWindow, Seq: uint64(i), Sent: sent, Intended: -sent}, 0)
		}
		s.end(uint64(len(times)))
	})
	if err != nil || end.Packets != uint64(len(times)) {
		t.Errorf("%d of %d came: %v %s", end.Packets, len(times), err, end.Error)
	}
}

// TestStrangersHoldNoPlace: they know the load, and open some of its flows or none. The sender was told that another one is served, for
// as long as one of them was waited for; and where one had opened the flow of a socket, that heard nobody else any more.
func TestStrangersHoldNoPlace(t *testing.T) {
	for name, address := range map[string]string{"sockets that all share": "127.0.0.1", "sockets of their own": "0.0.0.0"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := result.Options{"flows": 2, "threads": 2, "packets": 1e4}
			receive := prepare(t, traffic.Order{Role: traffic.Receive, Load: o, Address: address})
			_, port, err := net.SplitHostPort(receive.Address())
			if err != nil {
				t.Fatal(err)
			}
			to := net.JoinHostPort("127.0.0.1", port)
			for i := range mostOpening + 2 {
				if s := newcomer(t, o, to); i%2 == 0 {
					s.say(0, Stamp{Mark: opening}, 0)
				}
			}
			began := time.Now()
			send := prepare(t, traffic.Order{Role: traffic.Send, Load: o, Address: to})
			if took := time.Since(began); took > handshakeTimeout/2 {
				t.Errorf("it had its place after %s", took)
			}
			sent, got := runBoth(t.Context(), send, receive, ample())
			if sent.err != nil || got.err != nil || got.end.Packets == 0 || got.end.Packets+got.end.Arrived.Lost+got.end.Arrived.Late != sent.end.Packets {
				t.Errorf("%d of %d came: %+v, %v, %v", got.end.Packets, sent.end.Packets, got.end.Arrived, sent.err, got.err)
			}
		})
	}
}

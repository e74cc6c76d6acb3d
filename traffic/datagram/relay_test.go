package datagram

import (
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// fate is what the relay does to a datagram.
type fate int

const (
	pass fate = iota
	drop
	twice
	swap    // let the next one overtake
	delay   // hold until held later ones have passed: inside the window
	tooLate // hold until more have passed than the window has places
	againTooLate
	breakHeader
	breakPayload
	fates
)

const (
	relayWindow = 64 // numbers
	held        = 20
	heldTooLong = relayWindow + 20
)

// relay stands between the ends: the control connection goes through it as it
// is, but for the port, and of the datagrams of the trial's window it spoils an
// exact number in each way.
type relay struct {
	t       *testing.T
	address string
	out     *net.UDPConn // to the receiver
	in      *net.UDPConn // from the sender
	plan    []fate       // of the window's datagrams, from the first on
	seen    int          // of the window
	late    []heldBack
}

type heldBack struct {
	b    []byte
	left int
}

// planned is so many of each fate, well apart from each other.
func planned(each [fates]int) (plan []fate) {
	rest := func(n int) {
		for range n {
			plan = append(plan, pass)
		}
	}
	rest(30)
	for f := drop; f < fates; f++ {
		for range each[f] {
			plan = append(plan, f)
			rest(3)
		}
		rest(heldTooLong + 10)
	}
	return plan
}

func newRelay(t *testing.T, receiver string, plan []fate) *relay {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	r := &relay{t: t, plan: plan, address: ln.Addr().String()}
	r.in, err = net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.in.Close() })
	r.in.SetReadBuffer(4 << 20)
	go r.control(ln, receiver)
	return r
}

// control passes the handshake on, with the relay's port in the answer.
func (r *relay) control(ln net.Listener, receiver string) {
	client, err := ln.Accept()
	if err != nil {
		return
	}
	defer client.Close()
	server, err := net.Dial("tcp", receiver)
	if err != nil {
		return
	}
	defer server.Close()
	var b [helloSize]byte
	if _, err := io.ReadFull(client, b[:]); err != nil {
		return
	}
	h, _ := decodeHello(b[:])
	server.Write(b[:])
	ports, err := readAnswer(server, 1)
	if err != nil {
		return
	}
	r.out, err = net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), ports[0])))
	if err != nil {
		return
	}
	defer r.out.Close()
	go r.datagrams(headerFor(int(h.message), h.key))
	client.Write(encodeAnswer(welcome, []uint16{uint16(r.in.LocalAddr().(*net.UDPAddr).Port)}))
	go func() { io.Copy(client, server); client.Close() }()
	io.Copy(server, client)
}

func (r *relay) datagrams(codec Codec) {
	b := make([]byte, maxPayload)
	for {
		n, err := r.in.Read(b)
		if err != nil {
			return
		}
		s, ok := codec.Get(b[:n])
		f := pass
		if ok && s.Mark == markWindow && r.seen < len(r.plan) {
			f = r.plan[r.seen]
			r.seen++
		}
		r.forward(f, b[:n])
		if s.Mark != opening {
			r.age()
		}
	}
}

func (r *relay) forward(f fate, b []byte) {
	hold := func(n int) { r.late = append(r.late, heldBack{append([]byte(nil), b...), n + 1}) }
	switch f {
	case drop:
		return
	case twice:
		r.out.Write(b)
	case swap:
		hold(1)
		return
	case delay:
		hold(held)
		return
	case tooLate:
		hold(heldTooLong)
		return
	case againTooLate:
		hold(heldTooLong)
	case breakHeader:
		b[9] ^= 0x10
	case breakPayload:
		b[len(b)-1] ^= 1
	}
	r.out.Write(b)
}

// age lets go of what was held for long enough.
func (r *relay) age() {
	kept := r.late[:0]
	for _, h := range r.late {
		if h.left--; h.left > 0 {
			kept = append(kept, h)
			continue
		}
		r.out.Write(h.b)
	}
	r.late = kept
}

func TestARelaysMischiefIsCountedExactly(t *testing.T) {
	each := [fates]int{drop: 7, twice: 5, swap: 6, delay: 4, tooLate: 3, againTooLate: 2, breakHeader: 2, breakPayload: 4}
	want := result.Arrived{
		Lost: 7 + 2 + 4, Duplicate: 5 + 2, Reordered: 6 + 4, Late: 3, Corrupt: 2 + 4,
	}
	cases := map[string]struct {
		load   result.Options
		asItIs bool // a flipped last byte goes unseen: only the header is looked at
		alone  bool
	}{
		"every byte":    {load: result.Options{"packets": 1e4}},
		"one a message": {load: result.Options{"packets": 1e4, "segmentation": "off", "aggregation": "off"}},
		"short":         {load: result.Options{"packets": 1e4, "message": shortSize}},
		"short, longer": {load: result.Options{"packets": 1e4, "message": shortSize + 4}},
		"header alone":  {load: result.Options{"packets": 1e4, "verify": "header"}, asItIs: true},
		"alone":         {load: result.Options{"packets": 1e4}, alone: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.load["window"] = relayWindow
			want := want
			if c.asItIs {
				want.Corrupt, want.Lost = 2, 7+2
			}
			s, got, send, receive := relayed(t, c.load, c.alone, planned(each))
			a := got.Arrived
			if a.Lost != want.Lost || a.Duplicate != want.Duplicate || a.Reordered != want.Reordered || a.Late != want.Late || a.Corrupt != want.Corrupt {
				t.Errorf("counted %+v, want %+v", a, want)
			}
			if a.Expected != s.Packets || a.Expected != got.Packets+a.Lost+a.Late {
				t.Errorf("of %d sent and %d expected %d came", s.Packets, a.Expected, got.Packets)
			}
			l := receive.ledger
			if l.promised != l.received.Packets+l.received.Late+want.Lost || l.promised != send.ledger.sent {
				t.Errorf("the whole run does not add up: %+v", l)
			}
		})
	}
}

// TestAnOutageIsPartOfTheWindow: the path drops the first half of it, so what came is spread over all of it.
func TestAnOutageIsPartOfTheWindow(t *testing.T) {
	load := result.Options{"packets": 1e4}
	plan := make([]fate, 1500)
	for i := range plan {
		plan[i] = drop
	}
	s, got, _, _ := relayed(t, load, false, plan)
	if got.Arrived.Lost < uint64(len(plan)) {
		t.Fatalf("the relay lost %d of %d", got.Arrived.Lost, len(plan))
	}
	if out := float64(len(plan)) / 1e4; got.WindowSeconds < s.WindowSeconds-out*2/3 { // a busy machine holds the relay up, too
		t.Errorf("%d sent in %.3f s, %d received in %.3f", s.Packets, s.WindowSeconds, got.Packets, got.WindowSeconds)
	}
}

// relayed runs a trial that is long enough for the whole plan.
func relayed(t *testing.T, load result.Options, alone bool, plan []fate) (s, got result.PairEnd, send, receive *worker) {
	t.Helper()
	for _, window := range []time.Duration{300 * time.Millisecond, time.Second, 5 * time.Second} {
		receive = prepare(t, traffic.Order{Role: traffic.Receive, Load: load, Address: "127.0.0.1"})
		r := newRelay(t, receive.Address(), plan)
		send = prepare(t, traffic.Order{Role: traffic.Send, Load: load, Address: r.address})
		when := soon()
		when.Window, when.Alone = window, alone
		atSender, atReceiver := runBoth(t.Context(), send, receive, when)
		if e := atReceiver.end.Error; e != traffic.ErrNothing.Error() && (atSender.err != nil || atReceiver.err != nil || atSender.end.Error+e != "") {
			t.Fatal(atSender.err, atReceiver.err, atSender.end.Error, atReceiver.end.Error)
		}
		if s, got = atSender.end, atReceiver.end; s.Packets >= uint64(len(plan)) {
			return s, got, send, receive
		}
		t.Logf("in %s only %d datagrams left; the plan needs %d", window, s.Packets, len(plan))
	}
	t.Skip("this machine is too busy for the plan")
	return s, got, send, receive
}

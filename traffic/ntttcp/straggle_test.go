package ntttcp

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"windtunnel/traffic"
)

// called is a session of a caller on this host that sends by UDP.
func (h *hall) called() *session {
	return &session{
		from: netip.MustParseAddr("127.0.0.1"), client: "127.0.0.1:1", began: time.Now(), total: time.Minute,
		fleet: newFleet(h.serverTest()), flood: h.newFlood(), over: make(chan struct{}),
	}
}

// TestWhatIsUnderWayAtACallersEndIsItsOwn: it counts, begins no other session, and takes no seat.
func TestWhatIsUnderWayAtACallersEndIsItsOwn(t *testing.T) {
	events := make(chan traffic.ServerEvent, 100)
	config := traffic.ServerConfig{MaxClients: 1, Event: func(e traffic.ServerEvent) { events <- e }}
	h := newHall(Server{Count: 8}, config)
	socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	reading := make(chan struct{})
	go func() { defer close(reading); h.readDatagrams(t.Context(), 0, socket) }()
	defer func() { socket.Close(); <-reading; h.hosting.Wait() }()
	sender := toSocket(t, socket)
	s := h.called()
	if err := h.register(s); err != nil {
		t.Fatal(err)
	}
	s.fleet.start()
	h.begin(t.Context(), s, "a test")
	send := func(want uint64) {
		sender.Write(make([]byte, 1000))
		for s.flood.count().calls < want {
			if s.ended() {
				t.Skip("skip: this machine is too busy: a datagram on loopback was under way for longer than a server waits")
			}
			time.Sleep(time.Millisecond)
		}
	}
	send(1)
	close(s.over) // by TCP, which overtakes what follows
	for n := range uint64(3) {
		send(2 + n)
	}
	for second := h.called(); h.register(second) != nil; { // at once, though the other one drains
		if s.ended() {
			t.Error("the seat was taken until the end")
		}
		time.Sleep(time.Millisecond)
	}
	if e := next(events, traffic.SessionEnded); e.End.Bytes != 4000 || e.End.Packets != 4 {
		t.Errorf("of 4 datagrams of 1000 bytes %d with %d came", e.End.Packets, e.End.Bytes)
	}
	h.mu.Lock()
	clear(h.sessions) // the next one's, too
	h.mu.Unlock()
	for range 4 { // later still
		sender.Write(make([]byte, 1000))
	}
	other := toSocket(t, socket)
	for range 4 {
		other.Write(make([]byte, 10)) // of a sender without a caller, which begins a session
	}
	if e := next(events, traffic.SessionBegan); e.Client != other.LocalAddr().String() {
		t.Errorf("%s began a session by what it had under way", e.Client)
	}
}

func toSocket(t *testing.T, socket *net.UDPConn) *net.UDPConn {
	t.Helper()
	conn, err := net.DialUDP("udp", nil, socket.LocalAddr().(*net.UDPAddr))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// next is the next event of a kind; what comes before it is passed over.
func next(events <-chan traffic.ServerEvent, what string) traffic.ServerEvent {
	for e := range events {
		if e.What == what {
			return e
		}
	}
	return traffic.ServerEvent{}
}

// TestAHostThatWasSilentMayComeAgain: its session reached a bound, of time, long after its last datagram.
func TestAHostThatWasSilentMayComeAgain(t *testing.T) {
	h := newHall(Server{Count: 8}, traffic.ServerConfig{})
	host := netip.MustParseAddr("127.0.0.1")
	s := &session{from: host, spent: true, flood: h.newFlood()}
	s.flood.last = time.Now().Add(-udpSilence - time.Second)
	h.noteSpent(s)
	if h.hadEnough(host) {
		t.Error("a host that was silent for long enough is kept out")
	}
	s.flood.last = time.Now()
	h.noteSpent(s)
	if !h.hadEnough(host) {
		t.Error("a host that goes on sending is let in")
	}
}

// TestAHostHasHadEnoughAsSoonAsItsSessionIsOver: what comes while the session is taken apart, which takes time, began another.
func TestAHostHasHadEnoughAsSoonAsItsSessionIsOver(t *testing.T) {
	h := newHall(Server{Count: 8}, traffic.ServerConfig{})
	s := &session{from: netip.MustParseAddr("127.0.0.1"), began: time.Now(), spent: true, flood: h.newFlood(), over: make(chan struct{})}
	s.flood.add(0, 1000, time.Now())
	enough := false
	s.after = func() { enough = h.hadEnough(s.from) }
	close(s.over)
	h.host(t.Context(), s)
	if !enough {
		t.Error("its host may begin a session at once")
	}
}

// TestAReceiverWaitsNoLongerThanItIsAskedTo, whatever it waits for.
func TestAReceiverWaitsNoLongerThanItIsAskedTo(t *testing.T) {
	for name, c := range map[string]struct {
		sync       Sync
		udp, exact bool
	}{
		"windows": {sync: SyncWindows}, "windows udp": {sync: SyncWindows, udp: true},
		"none": {sync: SyncNone}, "none, exact": {sync: SyncNone, exact: true}, "none udp": {sync: SyncNone, udp: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test := Test{
				Role: traffic.Receive, Sync: c.sync, UDP: c.udp, Exact: c.exact, Message: 1000, SendBuffer: -1, ReceiveBuffer: -1, Run: time.Second, Wait: 300 * time.Millisecond,
				Threads: []Thread{{Host: "127.0.0.1", Port: freePorts(t, 2), CPU: -1, Connections: 1}},
			}
			over := make(chan error, 1)
			go func() { _, err := Run(t.Context(), test); over <- err }()
			select {
			case err := <-over:
				if err == nil || err.Error() != "no sender came within 300ms" {
					t.Errorf("it says %v", err)
				}
			case <-time.After(10 * time.Second):
				t.Error("it still waits")
			}
		})
	}
}

// TestAReceiverTellsWhatCame while it waited: a sender of other threads, or without what its receiver waits for.
func TestAReceiverTellsWhatCame(t *testing.T) {
	for name, c := range map[string]struct {
		sync  Sync
		ports []int
		want  string
	}{
		"no token":           {SyncWindows, []int{0, 1}, "sent no token: it may run with -ns"},
		"fewer threads":      {SyncWindows, []int{0}, "to 1 of this end's 2 ports"},
		"-sp":                {SyncWindows, []int{0, 0}, "to 1 of this end's 2 ports"},
		"fewer threads, -ns": {SyncNone, []int{1}, "to 1 of this end's 2 ports"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, test := pairOf(t, c.sync, 2, 1)
			test.Exact, test.Wait = true, 300*time.Millisecond
			r, err := test.Listen(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			for _, i := range c.ports {
				conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", test.Threads[i].Port))
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
			}
			if _, err := r.Run(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("it says %v", err)
			}
		})
	}
}

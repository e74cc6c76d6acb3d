package ntttcp

import (
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"windtunnel/traffic"
)

// counter is an engine of one flow that has so many bytes; each reading is told.
type counter struct {
	bytes atomic.Uint64
	seen  chan struct{}
}

func (*counter) Start()                {}
func (*counter) Done() <-chan struct{} { return nil }
func (*counter) Halt()                 {}
func (*counter) Close()                {}
func (*counter) Err() error            { return nil }

func (c *counter) read() reading {
	select {
	case c.seen <- struct{}{}:
	default:
	}
	return reading{flows: []flow{{bytes: c.bytes.Load(), calls: 1}}}
}

// TestWhatASenderStillHadIsBehindTheWindow: a sender hands its kernel megabytes that a slow path takes seconds for.
func TestWhatASenderStillHadIsBehindTheWindow(t *testing.T) {
	h := newHall(Server{Count: 8}, traffic.ServerConfig{})
	s := h.called()
	s.began, s.total = time.Now().Add(-2*time.Second), 2*time.Second
	engine := &counter{seen: make(chan struct{})}
	engine.bytes.Store(1000)
	s.fleet.crews = []crew{{engine: engine, threads: []int{0}, hot: 1}}
	followed := make(chan struct{})
	go func() { defer close(followed); h.follow(t.Context(), s) }()
	for range 4 { // at the beginning, at the window's end, and twice behind it
		<-engine.seen
	}
	engine.bytes.Store(9000)
	close(s.over)
	<-followed
	if end := s.end(time.Now()); end.Bytes != 1000 || end.WindowSeconds != 2 {
		t.Errorf("%d bytes in %g s, of 1000 in the 2 s agreed on", end.Bytes, end.WindowSeconds)
	}
}

// TestDatagramsUnderWayLengthenTheWindow, in which they are counted.
func TestDatagramsUnderWayLengthenTheWindow(t *testing.T) {
	s := newHall(Server{Count: 8}, traffic.ServerConfig{}).called()
	s.total = 2 * time.Second
	s.flood.add(0, 1000, s.began.Add(3*time.Second))
	if end := s.end(s.began.Add(4 * time.Second)); end.Bytes != 1000 || end.WindowSeconds != 3 {
		t.Errorf("%d bytes in %g s, of 1000 in 3 s", end.Bytes, end.WindowSeconds)
	}
}

// begins waits for the n-th session to begin.
func (s *hosted) begins(t *testing.T, n int) {
	t.Helper()
	for limit := time.After(10 * time.Second); ; {
		begun := 0
		s.mu.Lock()
		for _, e := range s.events {
			if e.What == traffic.SessionBegan {
				begun++
			}
		}
		s.mu.Unlock()
		if begun >= n {
			return
		}
		select {
		case <-s.came:
		case <-limit:
			t.Fatalf("%d of %d sessions began: %+v", begun, n, s.events)
		}
	}
}

// floods sends so many datagrams to the first port; two begin a session.
func (s *hosted) floods(t *testing.T, datagrams int) {
	t.Helper()
	conn, err := net.Dial("udp", net.JoinHostPort("127.0.0.1", strconv.Itoa(s.base)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	for range datagrams {
		conn.Write(make([]byte, 1000))
	}
}

// TestASeatIsFreeWhenItsSenderHearsThatTheTestIsOver: its next test may begin at once.
func TestASeatIsFreeWhenItsSenderHearsThatTheTestIsOver(t *testing.T) {
	t.Parallel()
	s := host(t, traffic.ServerConfig{MaxClients: 1})
	for n := range 2 {
		call := &caller{conn: s.dialPort(t, -1)}
		for _, message := range [][2]int32{{askState, notBegun}, {20, 20}, {askRun, askRun}} {
			if said, err := call.ask(t.Context(), "asking", message[0]); said != message[1] || err != nil {
				t.Fatalf("test %d: %d was answered with %d, %v", n, message[0], said, err)
			}
		}
		s.floods(t, 1-n) // when the first one is over, what may be under way behind this is waited for
		if said, err := call.ask(t.Context(), "ending", askEnd); said != finished || err != nil {
			t.Fatalf("test %d: E was answered with %d, %v", n, said, err)
		}
	}
}

// TestAHostsOwnFloodKeepsItNotOut: nothing tells that a test by UDP is over but that its host asks for the next one.
func TestAHostsOwnFloodKeepsItNotOut(t *testing.T) {
	t.Parallel()
	s := host(t, traffic.ServerConfig{MaxClients: 1})
	s.floods(t, 2)
	s.begins(t, 1)
	if err := swapTokens(s.dialPort(t, tokenOffset), time.Now().Add(10*time.Second)); err != nil {
		t.Fatalf("the token of its second test: %v", err)
	}
	s.floods(t, 2)
	s.begins(t, 2)
	call := &caller{conn: s.dialPort(t, -1)}
	if said, err := call.ask(t.Context(), "asking", askState); said != notBegun || err != nil {
		t.Errorf("its third test is answered with %d, %v", said, err)
	}
}

// TestAnotherSocketIsOfNoTestThatIsOver, though what was under way of it is still taken.
func TestAnotherSocketIsOfNoTestThatIsOver(t *testing.T) {
	h := newHall(Server{Count: 8}, traffic.ServerConfig{})
	s := h.called()
	if err := h.register(s); err != nil {
		t.Fatal(err)
	}
	if h.flooding(s.from) != s {
		t.Error("its datagrams are not its own")
	}
	h.vacate(s)
	if h.flooding(s.from) != nil {
		t.Error("the next test's datagrams are its own")
	}
}

// TestAnotherTestsConnectionsAreOfNoTestThatIsOver: what is under way of a test by UDP keeps its session for a moment, in which its host may begin the next one.
func TestAnotherTestsConnectionsAreOfNoTestThatIsOver(t *testing.T) {
	h := newHall(Server{Count: 8}, traffic.ServerConfig{})
	s := h.called()
	if err := h.register(s); err != nil {
		t.Fatal(err)
	}
	if h.youngest(s.from, func(*session) bool { return true }) != s {
		t.Error("its connections are not its own")
	}
	h.vacate(s)
	if h.youngest(s.from, func(*session) bool { return true }) != nil {
		t.Error("the next test's connections are its own")
	}
}

// TestAWholeSessionTakesNoOthersConnections: of a sender that has said that its connections stand, later ones are another test's.
func TestAWholeSessionTakesNoOthersConnections(t *testing.T) {
	for _, c := range []struct {
		whole bool
		age   time.Duration
		joins bool
	}{{true, 0, true}, {true, 2 * time.Second, false}, {false, 2 * time.Second, true}, {false, 10 * time.Second, false}} {
		h := newHall(Server{Count: 8}, traffic.ServerConfig{})
		s := h.called()
		s.whole, s.began = c.whole, time.Now().Add(-c.age)
		if err := h.register(s); err != nil {
			t.Fatal(err)
		}
		if joins := h.youngest(s.from, func(*session) bool { return true }) == s; joins != c.joins {
			t.Errorf("a session of %s, whole %v: takes further connections %v", c.age, c.whole, joins)
		}
	}
}

// TestASenderThatIsKilledHasFailed: it closes everything before the agreed total and says nothing; one that is interrupted says so.
func TestASenderThatIsKilledHasFailed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		udp, says bool
		want      string
	}{
		"killed": {want: traffic.SessionFailed}, "killed, UDP": {udp: true, want: traffic.SessionFailed},
		"interrupted": {says: true, want: traffic.SessionEnded}, "interrupted, UDP": {udp: true, says: true, want: traffic.SessionEnded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := host(t, traffic.ServerConfig{})
			call := &caller{conn: s.dialPort(t, -1)}
			var data net.Conn
			for _, message := range [][2]int32{{askState, notBegun}, {20, 20}, {askRun, askRun}} {
				if message[0] == askRun && !c.udp {
					data = s.dialPort(t, 0)
				}
				if said, err := call.ask(t.Context(), "asking", message[0]); said != message[1] || err != nil {
					t.Fatalf("%d was answered with %d, %v", message[0], said, err)
				}
			}
			if data != nil {
				data.Close()
			}
			if c.says {
				if said, err := call.ask(t.Context(), "ending", askEnd); said != finished || err != nil {
					t.Fatalf("E was answered with %d, %v", said, err)
				}
			}
			call.conn.Close()
			if end := s.ends(t, 1)[0]; end.What != c.want || end.End.WindowSeconds > 10 {
				t.Errorf("it has %s: %+v", end.What, end)
			}
		})
	}
}

// TestTokensAreOfConnectionsBeforeThem: a sender opens all of its connections, and then sends the tokens. Those of an earlier test
// of its host are there for a while, and keep no port from it (-sp).
func TestTokensAreOfConnectionsBeforeThem(t *testing.T) {
	h := newHall(Server{Count: 8}, traffic.ServerConfig{})
	ours, theirs := loopback(t)
	defer ours.Close()
	from := remoteIP(theirs)
	g := guest{conn: theirs, from: from, came: time.Now().Add(-2 * offerAfter), look: new(look)}
	h.lobby.arrive(g)
	for _, c := range []struct {
		came time.Time
		its  bool
	}{{g.came.Add(-time.Second), false}, {g.came.Add(time.Millisecond), true}} {
		h.arrival(from).tokens[0] = c.came
		if h.asksForPort(g) == c.its || h.hasAllTokens(from) != c.its {
			t.Errorf("a token %s behind the connection: asks for a port %v, has all tokens %v", c.came.Sub(g.came), h.asksForPort(g), h.hasAllTokens(from))
		}
	}
}

// TestASmallBoundOfBytesIsLookedAtOften, as a fast sender is soon far beyond it.
func TestASmallBoundOfBytesIsLookedAtOften(t *testing.T) {
	for bytes, want := range map[uint64]time.Duration{0: serverTick, 20e6: 10 * time.Millisecond, 1e15: serverTick} {
		if got := newHall(Server{}, traffic.ServerConfig{MaxBytes: bytes}).tick(); got != want {
			t.Errorf("%d bytes: every %s instead of %s", bytes, got, want)
		}
	}
}

// TestDatagramsAreNoneOfATestByTCP: they are another one's of its host, whose bytes and time are not in the first one's rate.
func TestDatagramsAreNoneOfATestByTCP(t *testing.T) {
	t.Parallel()
	s := host(t, traffic.ServerConfig{})
	call := &caller{conn: s.dialPort(t, -1)}
	if err := call.negotiate(t.Context(), 20); err != nil {
		t.Fatal(err)
	}
	s.dialPort(t, 0)
	if err := call.start(t.Context(), false, nil); err != nil {
		t.Fatal(err)
	}
	s.floods(t, 2)
	s.begins(t, 2)
	call.finish(true)
	for _, e := range s.ends(t, 2) {
		if packets := map[uint64]uint64{1: 0, 2: 2}[e.Session]; e.End.Packets != packets {
			t.Errorf("session %d: %d packets instead of %d", e.Session, e.End.Packets, packets)
		}
	}
}

// TestASenderThatIsKilledAtTheEndHasFailed: it cannot have begun before it was told to, so that it may hardly end before its time.
func TestASenderThatIsKilledAtTheEndHasFailed(t *testing.T) {
	const total = 20 * time.Second
	for early, killed := range map[time.Duration]bool{0: false, 60 * time.Millisecond: false, 300 * time.Millisecond: true} {
		began := time.Now().Add(early - total)
		s := &session{began: began, total: total, lost: make(chan struct{})}
		close(s.lost)
		if why, failed := s.close(t.Context()); failed != killed {
			t.Errorf("a server's, %s early: %q, failed %t", early, why, failed)
		}
		r := stages{began: time.Now(), said: began} // it was long in claiming the connections
		if r.isTime(total) == killed {
			t.Errorf("a receiver's, %s early: in time %t", early, !killed)
		}
	}
}

// TestASenderThatVanishesHasFailed: of one whose host or link has gone no connection ends, and its last seconds are empty. What a slow
// path still brings after the time is another thing.
func TestASenderThatVanishesHasFailed(t *testing.T) {
	h := newHall(Server{Count: 8}, traffic.ServerConfig{})
	s := h.called()
	s.total = 4 * time.Second
	for last, gone := range map[time.Duration]bool{s.total + overtime: false, s.total: false, s.total - time.Second: true} {
		for late := range 3 { // the server had no CPU when that was due
			now := tally{at: s.began.Add(s.total + overtime + time.Duration(late)*time.Second)}
			if why, failed, ends := h.bounds(s, now, now.at.Sub(s.began.Add(last))); failed != gone || !ends || gone && !strings.Contains(why, "in the last 1.0 s") {
				t.Errorf("last heard after %s, %d s late: %q, failed %t, ends %t", last, late, why, failed, ends)
			}
		}
	}
}

// TestABoundHidesNoSenderThatVanished, of which its test's agreed time is all, and more than that has passed when it is given up.
func TestABoundHidesNoSenderThatVanished(t *testing.T) {
	const most = 4 * time.Second
	for total, vanished := range map[time.Duration]bool{most - time.Second: true, most: true, 0: false, most + time.Second: false} {
		h := newHall(Server{Count: 8}, traffic.ServerConfig{MaxTime: most})
		s := h.called()
		s.total = total
		if why, failed, ends := h.bounds(s, tally{at: s.began.Add(most + overtime)}, overtime+2*time.Second); failed != vanished || !ends || !s.spent {
			t.Errorf("agreed on %s: %q, failed %t, ends %t, spent %t", total, why, failed, ends, s.spent)
		}
	}
}

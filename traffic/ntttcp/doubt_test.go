package ntttcp

import (
	"net"
	"strings"
	"testing"
	"time"

	"windtunnel/traffic"
)

// lies puts a connection of this host into the hall's lobby, and returns it and its sender's end.
func (h *hall) lies(t *testing.T, thread int, came time.Time) (guest, net.Conn) {
	t.Helper()
	ours, theirs := loopback(t)
	g := guest{conn: theirs, thread: thread, from: remoteIP(theirs), came: came, look: new(look)}
	h.lobby.arrive(g)
	return g, ours
}

// speak lets something come on a guest's connection.
func (g guest) speak(t *testing.T, ours net.Conn) {
	t.Helper()
	if _, err := ours.Write([]byte("A")); err != nil {
		t.Fatal(err)
	}
	for limit := time.Now().Add(10 * time.Second); !speaks(g.conn); time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("it does not come")
		}
	}
}

// TestACallerTakesNoOthersConnections that its host opened in its turn: those of a sender without sync speak already, those of NTttcp for
// Windows have tokens. They were counted in one session, as long as the caller's.
func TestACallerTakesNoOthersConnections(t *testing.T) {
	h := newHall(Server{Count: 8}, traffic.ServerConfig{})
	since := time.Now()
	own, _ := h.lies(t, 2, since.Add(time.Millisecond))
	talks, ours := h.lies(t, 2, since.Add(2*time.Millisecond))
	talks.speak(t, ours)
	token, _ := h.lies(t, 0, since.Add(3*time.Millisecond))
	h.arrival(own.from).tokens[0] = since.Add(4 * time.Millisecond)
	v := &visit{hall: h, from: own.from, since: since}
	if guests, mixed := v.guests(t.Context()); len(guests) != 1 || guests[0] != own || mixed {
		t.Errorf("it has %d connections, mixed %t", len(guests), mixed)
	}
	for _, g := range []guest{talks, token} {
		if !g.look.outside.Load() {
			t.Errorf("that of thread %d may join its session", g.thread)
		}
	}
	s := h.called()
	s.tool, s.whole = forLinux, true
	if err := h.register(s); err != nil {
		t.Fatal(err)
	}
	h.receiveFrom(t.Context(), own.from)
	h.mu.Lock()
	other := h.sessions[s.id+1]
	h.mu.Unlock()
	if len(s.fleet.all()) != 0 || other == nil || other.tool != forWindows || len(other.fleet.all()) != 1 {
		t.Errorf("what speaks is of the caller's session: %d; the other is %+v", len(s.fleet.all()), other)
	}
	if other != nil {
		close(other.over)
	}
	h.hosting.Wait()
}

// TestOfTwoConnectionsAtOnePortATokenHasTheNewest, while a caller opens its own; and both sessions say that it may be the other.
func TestOfTwoConnectionsAtOnePortATokenHasTheNewest(t *testing.T) {
	h := newHall(Server{Count: 8}, traffic.ServerConfig{})
	since := time.Now()
	own, _ := h.lies(t, 0, since.Add(time.Millisecond))
	token, _ := h.lies(t, 0, since.Add(2*time.Millisecond))
	h.arrival(own.from).tokens[0] = since.Add(3 * time.Millisecond)
	h.preparing[own.from] = make(chan struct{})
	h.startArrival(t.Context(), own.from)
	h.mu.Lock()
	s := h.sessions[1]
	h.mu.Unlock()
	if s == nil || s.client != token.conn.RemoteAddr().String() || len(s.fleet.all()) != 1 || !strings.Contains(s.says(""), "whose is not known") {
		t.Fatalf("the token's session is %+v", s)
	}
	v := &visit{hall: h, from: own.from, since: since}
	if guests, mixed := v.guests(t.Context()); len(guests) != 1 || guests[0] != own || !mixed {
		t.Errorf("the caller has %d connections, mixed %t", len(guests), mixed)
	}
	close(s.over)
	h.hosting.Wait()
}

// TestTokensJoinNoCallersSession, whose ports are others.
func TestTokensJoinNoCallersSession(t *testing.T) {
	h := newHall(Server{Count: 8}, traffic.ServerConfig{})
	s := h.called()
	s.tool = forLinux
	if err := h.register(s); err != nil {
		t.Fatal(err)
	}
	g, _ := h.lies(t, 4, time.Now())
	h.arrival(g.from).tokens[4] = time.Now()
	h.startArrival(t.Context(), g.from)
	h.mu.Lock()
	other := h.sessions[s.id+1]
	h.mu.Unlock()
	if other == nil || len(s.fleet.all()) != 0 {
		t.Fatal("it has joined the caller's session")
	}
	close(other.over)
	h.hosting.Wait()
}

// TestWhatMayBeAnothersIsSaid: the protocols have nothing to tell it by.
func TestWhatMayBeAnothersIsSaid(t *testing.T) {
	h := newHall(Server{Count: 8}, traffic.ServerConfig{})
	s := h.called()
	s.tool, s.whole = forLinux, true
	s.fleet.crews = []crew{{engine: &counter{seen: make(chan struct{})}, threads: []int{0, 1}}}
	if err := h.register(s); err != nil {
		t.Fatal(err)
	}
	s.doubtCounts()
	s.doubtLate([]guest{{came: s.began.Add(settling)}})
	h.doubtToken(s.from, 5) // of another port
	if says := s.says("it ended"); says != "it ended" {
		t.Errorf("of a session that nobody can be in: %q", says)
	}
	h.doubtToken(s.from, 1)
	s.doubtLate([]guest{{came: s.began.Add(2 * settling)}})
	s.fleet.crews[0].threads = []int{0, 1, 1}
	s.doubtCounts()
	s.doubtCounts() // is said once
	says := s.says("it ended")
	for _, part := range []string{"it ended; a token of NTttcp for Windows", "1 connection came later", "1 to 2 connections came"} {
		if strings.Count(says, part) != 1 {
			t.Errorf("%q lacks %q", says, part)
		}
	}
}

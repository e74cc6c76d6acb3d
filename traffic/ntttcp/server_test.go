package ntttcp

import (
	"context"
	"errors"
	"net"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// hosted is a running server and what it told.
type hosted struct {
	base int

	mu     sync.Mutex
	events []traffic.ServerEvent
	came   chan struct{}
}

// host starts a server on free ports; it ends with the test.
func host(t *testing.T, config traffic.ServerConfig) *hosted {
	t.Helper()
	const ports = 8
	s := &hosted{base: freePorts(t, ports), came: make(chan struct{}, 1000)}
	config.Host = "127.0.0.1"
	ready := make(chan struct{})
	config.Ready = func([]string) { close(ready) }
	config.Event = func(e traffic.ServerEvent) {
		s.mu.Lock()
		s.events = append(s.events, e)
		s.mu.Unlock()
		s.came <- struct{}{}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Server{Base: s.base, Count: ports}.Serve(ctx, config) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(10 * time.Second):
			t.Error("the server does not end")
		}
	})
	select {
	case <-ready:
	case err := <-done:
		t.Fatal(err)
	}
	return s
}

// ends waits for so many sessions to end and returns what the server saw of them.
func (s *hosted) ends(t *testing.T, n int) []traffic.ServerEvent {
	t.Helper()
	limit := time.After(20 * time.Second)
	for {
		var ends []traffic.ServerEvent
		s.mu.Lock()
		for _, e := range s.events {
			if e.What == traffic.SessionEnded || e.What == traffic.SessionFailed {
				ends = append(ends, e)
			}
		}
		s.mu.Unlock()
		if len(ends) >= n {
			return ends
		}
		select {
		case <-s.came:
		case <-limit:
			t.Fatalf("%d of %d sessions ended: %+v", len(ends), n, s.events)
		}
	}
}

// sender is a test to the server.
func (s *hosted) sender(sync Sync, threads, connections int) Test {
	t := Test{Role: traffic.Send, Sync: sync, Message: 16 << 10, SendBuffer: -1, ReceiveBuffer: -1, Run: 300 * time.Millisecond}
	if sync == SyncLinux {
		t.Run = time.Second // the least that its ends can agree on
	}
	for i := range threads {
		t.Threads = append(t.Threads, Thread{Host: "127.0.0.1", Port: s.base + i, CPU: -1, Connections: connections})
	}
	return t
}

func TestServerAnswersBothTools(t *testing.T) {
	for name, c := range map[string]struct {
		sync  Sync
		udp   bool
		share bool
	}{
		"linux":       {sync: SyncLinux},
		"windows":     {sync: SyncWindows},
		"none":        {sync: SyncNone},
		"linux udp":   {sync: SyncLinux, udp: true},
		"windows udp": {sync: SyncWindows, udp: true},
		"none udp":    {sync: SyncNone, udp: true},
		"windows -sp": {sync: SyncWindows, share: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := host(t, traffic.ServerConfig{MaxClients: 2})
			test := s.sender(c.sync, 2, 1)
			test.SharePort = c.share
			if c.share {
				test.Threads[1].Port = s.base
			}
			if c.sync == SyncLinux { // its second begins when it hears the go, a moment after the server's
				test.BitsPerSecond = 500e6
			}
			if c.udp {
				test.UDP, test.Message, test.BitsPerSecond = true, 1000, 10e6
			}
			sent, err := Run(t.Context(), test)
			if err != nil {
				t.Fatal(err)
			}
			end := s.ends(t, 1)[0]
			check(t, sent.Outcomes[0], *end.End, c.udp)
		})
	}
}

// check compares both ends. What the sender handed over in its window the server
// has counted, and little more: the rest of the buffers.
func check(t *testing.T, sent Outcome, received result.PairEnd, udp bool) {
	t.Helper()
	slack := uint64(64 << 20)
	if udp {
		slack = sent.Bytes // a sender that is held up sends on after its window
	}
	if received.Error != "" || received.Bytes+slack < sent.Bytes || received.Bytes > sent.Bytes+slack || sent.Bytes == 0 {
		t.Errorf("sent %d bytes, received %d (%s)", sent.Bytes, received.Bytes, received.Error)
	}
}

// TestTheLastTokenBeginsTheSession, before it goes back.
func TestTheLastTokenBeginsTheSession(t *testing.T) {
	t.Parallel()
	s := host(t, traffic.ServerConfig{})
	s.dialPort(t, 0) // the data's
	visitor := s.dialPort(t, 0)
	visitor.(*net.TCPConn).CloseWrite()
	closed(t, "visitor", visitor) // so that the first was let in before it
	token := s.dialPort(t, tokenOffset)
	if err := swapTokens(token, time.Now().Add(10*time.Second)); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.events) != 1 || s.events[0].What != traffic.SessionBegan {
		t.Errorf("with the token back: %+v", s.events)
	}
}

// TestTwoSendersOfOneHost: a token for a thread that the running session has is
// another sender's.
func TestTwoSendersOfOneHost(t *testing.T) {
	t.Parallel()
	s := host(t, traffic.ServerConfig{})
	var senders sync.WaitGroup
	for range 2 {
		test := s.sender(SyncWindows, 2, 1)
		test.BitsPerSecond, test.Run = 80e6, 2*time.Second
		began := make(chan struct{})
		test.Say = func(e Event) {
			if e.What == Progressing {
				close(began)
			}
		}
		senders.Go(func() {
			if _, err := Run(t.Context(), test); err != nil {
				t.Error(err)
			}
		})
		<-began
	}
	senders.Wait()
	for _, end := range s.ends(t, 2) {
		if end.End.Bytes == 0 || end.End.Bytes > 100<<20 {
			t.Errorf("a session of %d bytes", end.End.Bytes)
		}
	}
}

// TestABoundHoldsForUDPWithoutSync: who has had what one client may have begins no
// new session while it sends on.
func TestABoundHoldsForUDPWithoutSync(t *testing.T) {
	t.Parallel()
	boundHoldsForUDP(t, traffic.ServerConfig{MaxTime: 500 * time.Millisecond}, SyncNone)
}

// TestABoundHoldsForUDPWithSync: what comes when the session is forgotten is no other's beginning.
func TestABoundHoldsForUDPWithSync(t *testing.T) {
	t.Parallel()
	boundHoldsForUDP(t, traffic.ServerConfig{MaxBytes: 500_000}, SyncLinux)
}

// boundHoldsForUDP sends until it has been refused for a while, however long a busy machine takes for the bound.
func boundHoldsForUDP(t *testing.T, config traffic.ServerConfig, sync Sync) {
	t.Helper()
	s := host(t, config)
	test := s.sender(sync, 1, 1)
	test.UDP, test.Message, test.BitsPerSecond, test.Run = true, 1000, 8e6, time.Minute
	if sync == SyncLinux { // as ntttcp-for-linux's, which does not see that its receiver has ended the test
		call := &caller{conn: s.dialPort(t, -1)}
		if err := call.negotiate(t.Context(), wholeSeconds(test.Run)); err != nil {
			t.Fatal(err)
		}
		if err := call.start(t.Context(), false, nil); err != nil {
			t.Fatal(err)
		}
		test.Sync, test.GoesOn = SyncNone, true
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	sent := make(chan error, 1)
	go func() {
		_, err := Run(ctx, test)
		sent <- err
	}()
	stood := s.goesOnBehindTheBound(1500 * time.Millisecond)
	cancel()
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	if stood >= udpSilence/2 {
		t.Skipf("this machine stood still for %s, and its sender with it: silence ends a refusal", stood)
	}
	s.ends(t, 1)
	began, refused := 0, 0
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		switch e.What {
		case traffic.SessionBegan:
			began++
		case traffic.SessionRefused:
			refused++
		}
	}
	if began != 1 || refused == 0 {
		t.Errorf("%d sessions began, %d refusals were told: %+v", began, refused, s.events)
	}
}

// goesOnBehindTheBound waits for the first refusal, and so much longer. It tells for how long at most it had no turn meanwhile.
func (s *hosted) goesOnBehindTheBound(long time.Duration) (stood time.Duration) {
	var refused time.Time
	for began, last := time.Now(), time.Now(); time.Since(began) < 30*time.Second && (refused.IsZero() || time.Since(refused) < long); {
		time.Sleep(10 * time.Millisecond)
		stood, last = max(stood, time.Since(last)), time.Now()
		s.mu.Lock()
		if refused.IsZero() && slices.ContainsFunc(s.events, func(e traffic.ServerEvent) bool { return e.What == traffic.SessionRefused }) {
			refused = last
		}
		s.mu.Unlock()
	}
	return stood
}

// TestAPortThatIsTakenIsToldOf: a client cannot be told, and would send to whoever has it.
func TestAPortThatIsTakenIsToldOf(t *testing.T) {
	port := freePorts(t, 6) + 1 // those around it, too: of the system's own choice the next one is often a connection's
	taken, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	config := traffic.ServerConfig{MaxClients: 1, Host: "127.0.0.1"}
	if err := (Server{Base: port, Count: 4}).Serve(t.Context(), config); err == nil || !strings.Contains(err.Error(), "listening for data") {
		t.Errorf("the first port is taken: %v", err)
	}
	enough := errors.New("so it ends")
	config.Lacks = func(why error) error {
		if !strings.Contains(why.Error(), strconv.Itoa(port)) {
			t.Errorf("it lacks %d: %v", port, why)
		}
		return enough
	}
	if err := (Server{Base: port - 1, Count: 4}).Serve(t.Context(), config); !errors.Is(err, enough) {
		t.Errorf("the second port is taken: %v", err)
	}
}

// TestAPortThatIsTakenIsNotHandedOut to a sender with -sp, nor one whose token port is: what it sends there is another program's.
func TestAPortThatIsTakenIsNotHandedOut(t *testing.T) {
	t.Parallel()
	base := freePorts(t, 4)
	for _, port := range []int{base + 1, base + 2 + tokenOffset} {
		taken, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			t.Fatal(err)
		}
		defer taken.Close()
	}
	ctx, cancel := context.WithCancel(t.Context())
	var serving sync.WaitGroup
	defer serving.Wait()
	defer cancel()
	ready := make(chan struct{})
	serving.Go(func() {
		config := traffic.ServerConfig{MaxClients: 1, Host: "127.0.0.1", Ready: func([]string) { close(ready) }}
		if err := (Server{Base: base, Count: 4}).Serve(ctx, config); err != nil {
			t.Error(err)
		}
	})
	<-ready
	conn := (&hosted{base: base}).dialPort(t, 0)
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	if port, err := readPort(conn); port != base+3 || err != nil {
		t.Errorf("handed out: %d, %v, instead of %d", port, err, base+3)
	}
}

// TestTwoTestsOfUDPAreTwoSessions, if the sender asks for each by a token: the time between is neither's.
func TestTwoTestsOfUDPAreTwoSessions(t *testing.T) {
	t.Parallel()
	s := host(t, traffic.ServerConfig{})
	longest := 700 * time.Millisecond // or as long as a sender that had no CPU when its time was over
	for range 2 {
		test := s.sender(SyncWindows, 1, 1)
		test.UDP, test.Message, test.BitsPerSecond, test.Run = true, 1000, 8e6, 500*time.Millisecond
		began := time.Now()
		if _, err := Run(t.Context(), test); err != nil {
			t.Fatal(err)
		}
		longest = max(longest, time.Since(began))
		time.Sleep(2 * underWay)
	}
	for _, e := range s.ends(t, 2) {
		if e.End.WindowSeconds > longest.Seconds() {
			t.Errorf("a test of 0.5 s took %.3f s, its sender %s: %+v", e.End.WindowSeconds, longest, *e.End)
		}
	}
}

// TestALateCrowdCostsLittle: connections that come one by one are let in, have a thread for each batch at most, and their session ends in time.
func TestALateCrowdCostsLittle(t *testing.T) {
	t.Parallel()
	const bound = 2 * time.Second
	s := host(t, traffic.ServerConfig{MaxTime: bound})
	came := uint64(0)
	began := time.Now()
	for ; time.Since(began) < bound-200*time.Millisecond; came++ {
		conn := s.dialPort(t, 0)
		conn.Write([]byte("x"))
		time.Sleep(porterEvery + 3*time.Millisecond)
	}
	end := s.ends(t, 1)[0]
	if took := time.Since(began); took > 3*bound || end.End.Threads > maxCrews+runtime.NumCPU() {
		t.Errorf("it ended after %s with %d threads: %+v", took, end.End.Threads, end)
	}
	if end.End.Bytes < came*3/4 {
		t.Errorf("of %d connections %d were heard", came, end.End.Bytes)
	}
}

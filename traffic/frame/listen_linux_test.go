package frame

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"windtunnel/traffic/lobby"
)

// testListener is a receiver's control side without a sink.
func testListener(t *testing.T) *listener {
	t.Helper()
	socket, reserved, err := reserve(t.Context(), "127.0.0.1", 3)
	if err != nil {
		t.Fatal(err)
	}
	ln := &listener{
		door: lobby.NewDoorman(socket, maxGreeting, handshakeTimeout), reserved: reserved, want: helloOf(load{sizes: mix{64}, flows: 1}, four), session: 7,
		joined: make(chan struct{}), last: make(chan parting, 1),
		probed: func() (uint64, error) { return 5, nil },
	}
	ln.door.Open(helloSize, ln.greet, ln.lack)
	t.Cleanup(ln.close)
	return ln
}

func dial(t *testing.T, ln *listener) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", ln.door.Address().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	return conn
}

// joinTo is a sender as connect makes it, up to the probe.
func joinTo(t *testing.T, ln *listener) *session {
	t.Helper()
	s, err := join(t.Context(), load{sizes: mix{64}, flows: 1}, ln.door.Address().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.control.Close() })
	return s
}

func TestSessionIsAgreedOn(t *testing.T) {
	ln := testListener(t)
	s := joinTo(t, ln)
	<-ln.joined
	if count, err := s.counted(t.Context()); s.number != 7 || count != 5 || err != nil {
		t.Errorf("session %d, count %d, %v", s.number, count, err)
	}
	s.refused(9, false)
	want := final{sent: 3, windowNS: 1e9}
	if err := s.tell(want); err != nil {
		t.Error(err)
	}
	if last := <-ln.last; last.final != want || last.err != nil {
		t.Errorf("got %+v", last)
	}
	if n := ln.refused.Load(); n != 9 {
		t.Errorf("%d frames refused, not 9", n)
	}
}

// TestStrangersCostNothing: whatever strangers do, the sender is served.
func TestStrangersCostNothing(t *testing.T) {
	ln := testListener(t)
	for range 2 * maxGreeting { // more than may wait
		dial(t, ln)
	}
	for _, says := range []string{"GET / HTTP/1.1\r\n\r\n....", "wtframes\xff\xff\x04\x00\x00\x00\x00\x40\x00\x00\x00\x01"} {
		c := dial(t, ln)
		io.WriteString(c, says)
	}
	if s := joinTo(t, ln); s.number != ln.session {
		t.Errorf("joined session %d", s.number)
	}
}

func TestSecondSenderIsRefused(t *testing.T) {
	ln := testListener(t)
	first := joinTo(t, ln)
	if _, err := join(t.Context(), load{sizes: mix{64}, flows: 1}, ln.door.Address().String()); err == nil {
		t.Error("a second sender was let in")
	}
	if _, err := first.counted(t.Context()); err != nil {
		t.Error("the first one suffered:", err)
	}
}

func TestOtherOrdersAreRefused(t *testing.T) {
	ln := testListener(t)
	for says, l := range map[string]load{"another size": {sizes: mix{128}, flows: 1}, "other flows": {sizes: mix{64}, flows: 2}} {
		if _, err := join(t.Context(), l, ln.door.Address().String()); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want a word of %q", err, says)
		}
	}
}

// TestReceiverOutlivesItsSender: lies and silence end the session only.
func TestReceiverOutlivesItsSender(t *testing.T) {
	cases := map[string]struct {
		does func(*session)
		says string
	}{
		"goes away":       {func(s *session) { s.control.Close() }, "went away"},
		"lies":            {func(s *session) { s.control.Write(final{sent: 1 << 60, windowNS: 1}.message().encode()) }, "cannot be"},
		"speaks nonsense": {func(s *session) { s.control.Write(make([]byte, messageSize)) }, "nobody knows"},
		"stops half-way":  {func(s *session) { s.control.Write([]byte{0}); s.control.(*net.TCPConn).CloseWrite() }, "went away"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			ln := testListener(t)
			c.does(joinTo(t, ln))
			if last := <-ln.last; last.err == nil || !strings.Contains(last.err.Error(), c.says) {
				t.Errorf("got %+v", last)
			}
		})
	}
}

// TestSenderOutlivesItsReceiver: a peer that is silent or lies costs a bounded time.
func TestSenderOutlivesItsReceiver(t *testing.T) {
	for name, answer := range map[string][]byte{
		"is silent": nil, "is another": []byte("SSH-2.0-OpenSSH_9.2p"), "hangs up": {},
	} {
		t.Run(name, func(t *testing.T) {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer ln.Close()
			go answerOnce(ln, answer)
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			if _, err := join(ctx, load{sizes: mix{64}, flows: 1}, ln.Addr().String()); err == nil {
				t.Error("it joined")
			}
		})
	}
}

func answerOnce(ln net.Listener, answer []byte) {
	conn, err := ln.Accept()
	if err != nil {
		return
	}
	defer conn.Close()
	io.ReadFull(conn, make([]byte, helloSize))
	if answer == nil {
		io.ReadFull(conn, make([]byte, 1)) // until the sender has had enough
	}
	conn.Write(answer)
}

func TestPortsAreReservedTogether(t *testing.T) {
	socket, reserved, err := reserve(t.Context(), "127.0.0.1", 31)
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	defer closeAll(reserved)
	first := socket.Addr().(*net.TCPAddr).Port
	for i, c := range reserved {
		if port := c.LocalAddr().(*net.UDPAddr).Port; port != first+i {
			t.Errorf("port %d is %d, not %d", i, port, first+i)
		}
	}
}

func TestListenerLeavesNothing(t *testing.T) {
	goroutines := runtime.NumGoroutine()
	for range 3 {
		ln := testListener(t)
		s := joinTo(t, ln)
		ln.close()
		if _, err := s.control.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error("the connection still stands")
		}
		s.control.Close()
	}
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > goroutines; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), goroutines)
		}
	}
}

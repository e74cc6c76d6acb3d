package ntttcp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"windtunnel/traffic"
)

// dialPort connects to a port of the server.
func (s *hosted) dialPort(t *testing.T, offset int) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", s.base+offset))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	return conn
}

// closed reads to the end of a connection that the server should close.
func closed(t *testing.T, name string, conn net.Conn) {
	t.Helper()
	if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%s: the server keeps the connection", name)
	}
}

// TestHostileClientsCostOnlyThemselves has a real sender beside each of them.
func TestHostileClientsCostOnlyThemselves(t *testing.T) {
	t.Parallel()
	s := host(t, traffic.ServerConfig{MaxClients: 8})
	message := func(values ...int32) []byte {
		var b bytes.Buffer
		for _, v := range values {
			writeMessage(&b, v)
		}
		return b.Bytes()
	}
	clients := map[string]struct {
		port   int
		sends  []byte
		closes bool
	}{
		"garbage at sync":        {-1, []byte("GET / HTTP/1.1\r\n\r\n"), true},
		"time below zero":        {-1, message(askState, -1), true},
		"largest time":           {-1, message(askState, 1<<31-1), false},
		"E at once":              {-1, message(askEnd), true},
		"run without a time":     {-1, message(askState, 15, askRun, askRun), true},
		"half a message":         {-1, []byte{0, 0}, false},
		"silent at sync":         {-1, nil, false},
		"a flood of queries":     {-1, bytes.Repeat(message(askState), 1000), true},
		"token of another byte":  {tokenOffset + 1, []byte("?"), true},
		"silent at a token port": {tokenOffset + 2, nil, false},
		"silent at a data port":  {3, nil, false},
	}
	// In this order nobody's data connection is there when the client comes that may run: they would be a session, which the real
	// sender is of, too.
	for _, name := range slices.Sorted(maps.Keys(clients)) {
		c := clients[name]
		conn := s.dialPort(t, c.port)
		conn.Write(c.sends)
		if c.closes {
			closed(t, name, conn)
		}
	}
	sent, err := Run(t.Context(), s.sender(SyncWindows, 1, 1))
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; ; n++ {
		for _, e := range s.ends(t, n) {
			if e.Says == "the sender closed its connections" {
				check(t, sent.Outcomes[0], *e.End, false)
				return
			}
		}
	}
}

// TestWhoIsNotHeardIsToldOf: the protocols have no word for a sync or token connection that is one too many of a host, and its sender
// hears nothing but the end of it. Whoever floods a server fills no log.
func TestWhoIsNotHeardIsToldOf(t *testing.T) {
	t.Parallel()
	s := host(t, traffic.ServerConfig{})
	for range maxOfAHost {
		s.dialPort(t, -1)
	}
	closed(t, "one too many", s.dialPort(t, -1)) // when all of those before it are heard
	for range 20 {
		closed(t, "one more", s.dialPort(t, tokenOffset+1))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.events); n == 0 || n > 3 {
		t.Fatalf("told of 21 connections %d times: %+v", n, s.events)
	}
	if e := s.events[0]; e.What != traffic.SessionRefused || e.Client != "127.0.0.1" || !strings.Contains(e.Says, strconv.Itoa(maxOfAHost)) {
		t.Errorf("told: %+v", e)
	}
}

// TestServerBounds ends sessions at the bounds that it was given, in each tool's
// own way where there is one.
func TestServerBounds(t *testing.T) {
	t.Run("clients", func(t *testing.T) {
		t.Parallel()
		s := host(t, traffic.ServerConfig{MaxClients: 1})
		first := s.dialPort(t, 0)
		first.Write([]byte("data"))
		<-s.came // it began
		_, err := Run(t.Context(), s.sender(SyncLinux, 1, 1))
		if err == nil || !strings.Contains(err.Error(), "busy with another test") {
			t.Errorf("a second client: %v", err)
		}
	})
	t.Run("bytes", func(t *testing.T) {
		t.Parallel()
		s := host(t, traffic.ServerConfig{MaxBytes: 1 << 20})
		test := s.sender(SyncNone, 1, 1)
		test.Run = 10 * time.Second
		report, err := Run(t.Context(), test)
		if err != nil || report.Early == "" {
			t.Errorf("%+v, %v", report, err)
		}
		if end := s.ends(t, 1)[0]; end.What != traffic.SessionEnded || end.End.Bytes < 1<<20 {
			t.Errorf("%+v", end)
		}
	})
	t.Run("time", func(t *testing.T) {
		t.Parallel()
		s := host(t, traffic.ServerConfig{MaxTime: time.Second})
		test := s.sender(SyncLinux, 1, 1)
		test.Run = 15 * time.Second
		agreed := 0
		test.Say = func(e Event) {
			if e.What == Agreed {
				agreed = e.N
			}
		}
		report, err := Run(t.Context(), test)
		if err != nil || agreed != 1 || report.seconds() > 5 {
			t.Errorf("agreed on %d s: %+v, %v", agreed, report, err)
		}
	})
}

// TestAnAgreedTimeIsTheSenders: a session whose ends agreed on what --max-time allows, in whole seconds, ends when its sender does, and is
// not cut before that.
func TestAnAgreedTimeIsTheSenders(t *testing.T) {
	for _, most := range []time.Duration{time.Second, 1600 * time.Millisecond} {
		t.Run(most.String(), func(t *testing.T) {
			t.Parallel()
			s := host(t, traffic.ServerConfig{MaxTime: most})
			test := s.sender(SyncLinux, 1, 1)
			test.Run, test.BitsPerSecond = 15*time.Second, 8e6
			agreed := 0
			test.Say = func(e Event) {
				if e.What == Agreed {
					agreed = e.N
				}
			}
			if report, err := Run(t.Context(), test); err != nil || agreed != 1 || report.Early != "" {
				t.Errorf("agreed on %d s: %+v, %v", agreed, report, err)
			}
			if end := s.ends(t, 1)[0]; end.Says != "the sender closed its connections" {
				t.Errorf("it ended: %s", end.Says)
			}
		})
	}
}

// TestHostileCallersOfAReceiver: who breaks the protocol at the sync port, or says
// nothing, keeps no sender from its test.
func TestHostileCallersOfAReceiver(t *testing.T) {
	t.Parallel()
	send, receive := pairOf(t, SyncLinux, 1, 1)
	refused := make(chan string, 10)
	receive.Say = func(e Event) {
		if e.What == Refused {
			refused <- e.Text
		}
	}
	r, err := receive.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(send.Threads[0].Port-1))
	for _, said := range []string{"", "\x00", "HELO", "\x00\x00\x00X\xff\xff\xff\xff", strings.Repeat("\x00\x00\x00E", 1000)} {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conn.Write([]byte(said))
	}
	for range 3 {
		<-refused
	}
	sent, received := pairBegins(t, r, send)
	within(t, sent, received)
}

// TestALoudCallerHoldsNoReceiverUp: goodbyes without end do not keep a receiver
// from its end, nor does a crowd keep a sender out.
func TestALoudCallerHoldsNoReceiverUp(t *testing.T) {
	t.Parallel()
	send, receive := pairOf(t, SyncLinux, 1, 1)
	r, err := receive.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	sync := net.JoinHostPort("127.0.0.1", fmt.Sprint(send.Threads[0].Port-1))
	for range maxCallers + 6 {
		conn, err := net.Dial("tcp", sync)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	loud, err := net.Dial("tcp", sync)
	if err != nil {
		t.Fatal(err)
	}
	defer loud.Close()
	for _, said := range []int32{askState, 1, askEnd} {
		// Until it has left for the first time it is a sender who has come before ours.
		writeMessage(loud, said)
		if _, err := readMessage(loud); err != nil {
			t.Fatal(err)
		}
	}
	go func() {
		for writeMessage(loud, askEnd) == nil {
			time.Sleep(goodbye / 4)
		}
	}()
	pairBegins(t, r, send)
	began := time.Now()
	r.Close()
	if took := time.Since(began); took > 4*goodbye {
		t.Errorf("closing took %s", took)
	}
}

// begun is a receiver of a test of so many seconds, and its sender: a connection with data, and one that has said R.
func begun(t *testing.T, seconds int32, say func(Event)) (over <-chan Report, call *caller, data net.Conn) {
	t.Helper()
	return begunFrom(t, "127.0.0.1", seconds, say)
}

// begunFrom is begun with the data connection from another address of this host.
func begunFrom(t *testing.T, from string, seconds int32, say func(Event)) (over <-chan Report, call *caller, data net.Conn) {
	t.Helper()
	_, receive := pairOf(t, SyncLinux, 1, 1)
	receive.Run, receive.Say = time.Duration(seconds)*time.Second, say
	r, err := receive.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	ends := make(chan Report, 1)
	go func() {
		report, err := r.Run(t.Context())
		if err != nil {
			t.Error(err)
		}
		ends <- report
	}()
	dial := func(from string, port int) net.Conn {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		conn, err := dialer.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	call, data = &caller{conn: dial("127.0.0.1", receive.base()-1)}, dial(from, receive.base())
	for _, message := range [][2]int32{{askState, notBegun}, {seconds, seconds}, {askRun, askRun}} {
		if said, err := call.ask(t.Context(), "asking", message[0]); said != message[1] || err != nil {
			t.Fatalf("%d was answered with %d, %v", message[0], said, err)
		}
	}
	data.Write([]byte("x"))
	return ends, call, data
}

// TestAWordBehindTheStreamsCounts: ntttcp-for-linux's sender that is interrupted closes its streams, and then says so. One that
// is killed says nothing.
func TestAWordBehindTheStreamsCounts(t *testing.T) {
	for name, says := range map[string]bool{"interrupted": true, "killed": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ended := make(chan struct{})
			over, call, data := begun(t, 20, func(e Event) {
				if e.What == Completed {
					close(ended)
				}
			})
			if !says {
				call.conn.Close()
			}
			data.Close()
			<-ended
			if says {
				if said, err := call.ask(t.Context(), "saying goodbye", askEnd); said != finished || err != nil {
					t.Errorf("the goodbye was answered with %d, %v", said, err)
				}
			}
			if report := <-over; report.Cut == says || report.Early == "" {
				t.Errorf("%+v", report)
			}
		})
	}
}

// TestALateGoodbyeIsNoOffence: whoever ran may say so for a moment after the receiver's own end, to one that stays, too.
func TestALateGoodbyeIsNoOffence(t *testing.T) {
	t.Parallel()
	over, call, _ := begun(t, 1, func(e Event) {
		if e.What == Refused {
			t.Errorf("refused: %s", e.Text)
		}
	})
	<-over
	ended := time.Now()
	said, err := call.ask(t.Context(), "saying goodbye", askEnd)
	if time.Since(ended) > goodbye/2 {
		t.Skip("skip: this machine is too busy: a goodbye on loopback took longer than a receiver waits")
	}
	if said != finished || err != nil {
		t.Errorf("the goodbye was answered with %d, %v", said, err)
	}
}

// TestDataMayComeFromAnotherAddress than a lone sender's sync connection: addresses may be translated on the way.
func TestDataMayComeFromAnotherAddress(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "darwin" {
		t.Skip("skip: this system has no second address on loopback")
	}
	noted, ended := "", make(chan struct{})
	over, call, data := begunFrom(t, "127.0.0.2", 20, func(e Event) {
		switch {
		case e.What == Noted && strings.Contains(e.Text, "127.0.0.2"):
			noted = e.Text
		case e.What == Completed:
			close(ended)
		}
	})
	data.Close()
	<-ended
	call.ask(t.Context(), "saying goodbye", askEnd)
	if report := <-over; report.Outcomes[0].Bytes != 1 || noted == "" {
		t.Errorf("%d bytes came of 1, and it says %q", report.Outcomes[0].Bytes, noted)
	}
}

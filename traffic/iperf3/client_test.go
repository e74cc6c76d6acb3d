package iperf3

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// scripted is a server that plays one session by hand: the first connection is
// the control connection, the next ones are data streams.
type scripted struct {
	t        *testing.T
	listener net.Listener
	*control
	name cookie
	data []net.Conn
}

// script starts one; play runs for its session, and ends with its connections.
func script(t *testing.T, play func(*scripted)) (port int) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	played := make(chan struct{})
	t.Cleanup(func() { l.Close(); <-played })
	go func() {
		defer close(played)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		s := &scripted{t: t, listener: l}
		s.control = newControl(context.Background(), conn)
		defer s.control.release()
		defer s.control.close()
		s.receive(s.name[:], 5*time.Second)
		play(s)
		for _, c := range s.data {
			c.Close()
		}
	}()
	return l.Addr().(*net.TCPAddr).Port
}

// begin plays an ordinary session until traffic runs.
func (s *scripted) begin() (parameters string) {
	s.sendState(paramExchange)
	body, err := s.receiveJSON(maxParameters, 5*time.Second)
	if err != nil {
		s.t.Error(err)
	}
	s.sendState(createStreams)
	conn, err := s.listener.Accept()
	if err != nil {
		s.t.Error(err)
		return ""
	}
	s.data = append(s.data, conn)
	var again cookie
	io.ReadFull(conn, again[:])
	if again != s.name {
		s.t.Errorf("a data stream has the cookie %s, the control connection %s", again, s.name)
	}
	s.sendState(testStart)
	s.sendState(testRunning)
	return string(body)
}

// finish plays it to the end.
func (s *scripted) finish() {
	go io.Copy(io.Discard, s.data[0])
	if got, err := s.receiveState(5 * time.Second); got != testEnd || err != nil {
		s.t.Errorf("the client sent %s, %v; want %s", got, err, testEnd)
	}
	s.sendState(exchangeResults)
	if _, err := s.receiveJSON(maxResults, 5*time.Second); err != nil {
		s.t.Error(err)
	}
}

const scriptedResults = `{"server_output_text":"unasked","cpu_util_total":3,"cpu_util_user":1,"cpu_util_system":2,"sender_has_retransmits":-1,"congestion_used":"reno","streams":[{"id":1,"bytes":777,"retransmits":-1,"jitter":0,"errors":0,"packets":0}]}`

func (s *scripted) sendRaw(prefix []byte, body string) { s.send(append(prefix, body...)) }

// TestClientTranscript plays a server of iperf3 3.1, which tells no times.
func TestClientTranscript(t *testing.T) {
	port := script(t, func(s *scripted) {
		got := s.begin()
		if want := `{"tcp":true,"omit":0,"time":1,"num":0,"blockcount":0,"parallel":1,"len":131072,"pacing_timer":1000,"client_version":"3.21"}`; got != want {
			s.t.Errorf("the parameters are %s; want %s", got, want)
		}
		s.finish()
		s.sendRaw(binary.BigEndian.AppendUint32(nil, uint32(len(scriptedResults))), scriptedResults)
		s.sendState(displayResults)
		if got, err := s.receiveState(5 * time.Second); got != iperfDone || err != nil {
			s.t.Errorf("the client's last word is %s, %v", got, err)
		}
		if _, err := s.receiveState(5 * time.Second); !errors.Is(err, ErrControlClosed) {
			s.t.Errorf("after its last word the client does not close: %v", err)
		}
	})
	r, err := run(t, Options{Host: "127.0.0.1", Port: port, Duration: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	e := r.end(t)
	if e.ServerOutputText != "" {
		t.Errorf("the server's output was not asked for: %q", e.ServerOutputText)
	}
	if s := e.Streams[0]; s.Received.Bytes != 777 || s.Received.Seconds != s.Sent.Seconds || e.Remote != (CPU{3, 1, 2}) || e.ReceiverCongestion != "reno" {
		t.Errorf("%+v", e)
	}
}

// TestAServerMayEndAlone: iperf3's counts what it sends by its own clock, and sends no more once that is the limit, whatever
// of it this end omitted.
func TestAServerMayEndAlone(t *testing.T) {
	t.Parallel()
	const omitted, counted = 32 << 10, 3 << 10
	port := script(t, func(s *scripted) {
		s.begin()
		counting := time.Now()
		s.data[0].Write(make([]byte, omitted))
		time.Sleep(1500 * time.Millisecond) // by when this end omits no more
		s.data[0].Write(make([]byte, counted))
		s.finish()
		told := strings.Replace(scriptedResults, `"packets":0`, fmt.Sprintf(`"packets":0,"start_time":0,"end_time":%f`, time.Since(counting).Seconds()), 1)
		s.sendRaw(binary.BigEndian.AppendUint32(nil, uint32(len(told))), told)
		s.sendState(displayResults)
		s.receiveState(5 * time.Second)
	})
	r, err := run(t, Options{Host: "127.0.0.1", Port: port, Bytes: 32 << 10, Reverse: true, Omit: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	s := r.end(t).Streams[0]
	if s.Received.Bytes != counted || s.Received.Seconds < 0.4 || s.Received.Seconds > 1.5 {
		t.Errorf("%+v; want %d bytes in half a second", s.Received, counted)
	}
	if s.Sent.Seconds < 1.4 || s.Sent.Seconds > 2.5 {
		t.Errorf("%+v; the server's time is to have no part of what this end waited", s.Sent)
	}
}

// TestWhoEndsAlone: one that sends as fast as it goes, or in bursts.
func TestWhoEndsAlone(t *testing.T) {
	came := guard{moved: 1 << 20}
	for name, c := range map[string]struct {
		test Test
		want bool
	}{
		"all came":               {Test{Protocol: TCP, Bytes: 1 << 20, Omit: time.Second}, true},
		"all blocks came":        {Test{Protocol: TCP, Blocks: 8, Omit: time.Second}, true},
		"not all came":           {Test{Protocol: TCP, Bytes: 1<<20 + 1, Omit: time.Second}, false},
		"nothing is omitted":     {Test{Protocol: TCP, Bytes: 1 << 20}, false},
		"paced":                  {Test{Protocol: TCP, Bytes: 1 << 20, Omit: time.Second, BitsPerSecond: 1e6}, false},
		"paced, in bursts":       {Test{Protocol: TCP, Bytes: 1 << 20, Omit: time.Second, BitsPerSecond: 1e6, Burst: 2}, true},
		"both directions":        {Test{Protocol: TCP, Bytes: 1 << 20, Omit: time.Second, Bidirectional: true}, false},
		"datagrams may be lost":  {Test{Protocol: UDP, Bytes: 1 << 30}, true},
		"paced datagrams go on":  {Test{Protocol: UDP, Bytes: 1 << 30, BitsPerSecond: 1e6}, false},
		"bursts of datagrams do": {Test{Protocol: UDP, Blocks: 1 << 30, BitsPerSecond: 1e6, Burst: 2}, true},
	} {
		c.test.Reverse = !c.test.Bidirectional
		c.test.Length = 1 << 17
		if got := (&trial{test: c.test, guard: came}).endsAlone(); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestLimitWaitsForTheOtherEnd: a test of so many bytes ends when they have come.
func TestLimitWaitsForTheOtherEnd(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs a system that tells what is acknowledged")
	}
	// More than a socket takes that nobody reads, and no more than every system gives.
	const size, window = 256 << 10, 200_000
	port := script(t, func(s *scripted) {
		s.begin()
		if got, err := s.receiveState(500 * time.Millisecond); err == nil {
			s.t.Errorf("the client sent %s before its bytes were taken", got)
		}
		if n, err := io.CopyN(io.Discard, s.data[0], size); err != nil {
			s.t.Errorf("%d bytes came, %v", n, err)
		}
		s.finish()
		s.sendRaw(binary.BigEndian.AppendUint32(nil, uint32(len(scriptedResults))), scriptedResults)
		s.sendState(displayResults)
		s.receiveState(5 * time.Second)
	})
	r, err := run(t, Options{Host: "127.0.0.1", Port: port, Bytes: size, Window: window})
	if err != nil {
		t.Fatal(err)
	}
	if s := r.end(t).Streams[0].Sent; s.Bytes != size || s.Seconds < 0.4 {
		t.Errorf("%+v; want the time until they were taken", s)
	}
}

// TestLimitHearsTheServer: while a client waits for its bytes to be taken, a server that
// ends the test, or is gone, is heard.
func TestLimitHearsTheServer(t *testing.T) {
	for name, c := range map[string]struct {
		ends func(*scripted)
		want error
	}{
		"terminates": {func(s *scripted) { s.sendState(serverTerminate); s.receiveState(5 * time.Second) }, ErrServerTerminated},
		"is gone":    {func(s *scripted) { s.data[0].(*net.TCPConn).SetLinger(0); s.data[0].Close() }, ErrControlClosed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			port := script(t, func(s *scripted) {
				s.begin()
				s.receiveState(300 * time.Millisecond)
				c.ends(s)
			})
			began := time.Now()
			_, err := run(t, Options{Host: "127.0.0.1", Port: port, Bytes: 256 << 10, Window: 200_000})
			if took := time.Since(began); !errors.Is(err, c.want) || took > 10*time.Second {
				t.Errorf("%v after %s", err, took)
			}
		})
	}
}

// TestRudeServers ends a client's test in every other way.
func TestRudeServers(t *testing.T) {
	for _, c := range []struct {
		name string
		play func(*scripted)
		want error  // nil: says tells
		says string // in the error
	}{
		{"closes at once", func(*scripted) {}, ErrControlClosed, ""},
		{"denies", func(s *scripted) { s.sendState(accessDenied) }, ErrAccessDenied, ""},
		{"fails with no number", func(s *scripted) { s.sendState(serverErrorState) }, ErrControlClosed, ""},
		{"fails", func(s *scripted) {
			s.sendState(paramExchange)
			s.receiveJSON(maxParameters, time.Second)
			s.sendError(ErrorAuth, 0)
		}, nil, "authorization failed"},
		{"fails with an errno", func(s *scripted) { s.sendError(9999, 13) }, nil, "error 9999"},
		{"terminates", func(s *scripted) { s.begin(); s.sendState(serverTerminate) }, ErrServerTerminated, ""},
		{"goes while traffic runs", func(s *scripted) { s.begin() }, nil, "closed unexpectedly"},
		{"breaks the streams and says why", func(s *scripted) {
			s.begin()
			s.data[0].(*net.TCPConn).SetLinger(0)
			s.data[0].Close()
			s.sendError(ErrorTotalRate, 0)
			s.receiveState(5 * time.Second)
		}, nil, "total rate"},
		{"says nonsense", func(s *scripted) { s.sendState(42) }, nil, "state 42"},
		{"says nonsense while traffic runs", func(s *scripted) { s.begin(); s.sendState(displayResults); s.receiveState(5 * time.Second) }, nil, "DISPLAY_RESULTS"},
		{"4 GiB of results", func(s *scripted) {
			s.begin()
			s.finish()
			s.sendRaw([]byte{0xff, 0xff, 0xff, 0xff}, "{")
			s.receiveState(5 * time.Second)
		}, nil, "4294967295 bytes"},
		{"wrong results", func(s *scripted) {
			s.begin()
			s.finish()
			s.sendRaw([]byte{0, 0, 0, 2}, "{}")
			s.receiveState(5 * time.Second)
		}, nil, `"cpu_util_total" is missing`},
		{"results of others", func(s *scripted) {
			s.begin()
			s.finish()
			body := strings.Replace(scriptedResults, `"id":1`, `"id":3`, 1)
			s.sendRaw(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body)
			s.receiveState(5 * time.Second)
		}, nil, "stream 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			port := script(t, c.play)
			r, err := run(t, Options{Host: "127.0.0.1", Port: port, Duration: 200 * time.Millisecond})
			if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v; want %v %q", err, c.want, c.says)
			}
			r.failure(t)
			if len(r.starts) > 0 && (len(r.ends) != 1 || !r.ends[0].Partial) {
				t.Errorf("what there was is not told: %+v", r.ends)
			}
		})
	}
}

// TestARefusalEndsAGreeting: a server that has no socket for a UDP stream says so at the control connection, and answers nothing.
func TestARefusalEndsAGreeting(t *testing.T) {
	port := script(t, func(s *scripted) {
		at := s.listener.Addr().(*net.TCPAddr)
		deaf, err := net.ListenUDP("udp", &net.UDPAddr{IP: at.IP, Port: at.Port})
		if err != nil {
			t.Error(err)
			return
		}
		defer deaf.Close()
		s.sendState(paramExchange)
		_, _ = s.receiveJSON(maxParameters, 5*time.Second)
		s.sendState(createStreams)
		_, _ = deaf.Read(make([]byte, 16))
		s.sendError(ErrorStreamAccept, 24)
		_, _ = s.receiveState(5 * time.Second) // until the client is gone
	})
	began := time.Now()
	_, err := run(t, Options{Host: "127.0.0.1", Port: port, Protocol: UDP, Duration: 200 * time.Millisecond})
	if no := (*ServerError)(nil); !errors.As(err, &no) || no.Number != ErrorStreamAccept || time.Since(began) > greetingTimeout/2 {
		t.Errorf("after %s: %v", time.Since(began), err)
	}
}

// TestSilentServer ends a reverse test to which nothing comes.
func TestSilentServer(t *testing.T) {
	port := script(t, func(s *scripted) { s.begin(); s.receiveState(5 * time.Second) })
	_, err := run(t, Options{Host: "127.0.0.1", Port: port, Duration: 20 * time.Second, Reverse: true, ReceiveTimeout: 200 * time.Millisecond})
	if !errors.Is(err, ErrNothingReceived) {
		t.Errorf("%v; want %v", err, ErrNothingReceived)
	}
}

// TestNothingWasTried: a host without an address that may be used was not asked for a server.
func TestNothingWasTried(t *testing.T) {
	for name, c := range map[string]struct {
		family int
		bind   string
		says   string
	}{
		"127.0.0.1": {6, "", "none of the family"},
		"::1":       {4, "", "none of the family"},
		"127.0.0.2": {0, "::1", "none of the family"},
		"no..name":  {0, "", "is no..name its name?"}, // which no resolver is asked for
	} {
		o := new(host).options()
		o.Host, o.Family, o.Bind = name, c.family, c.bind
		if _, err := run(t, o); err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "running there") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWhoHasNoRouteIsToldThat, and not to look for a server where it cannot go.
func TestWhoHasNoRouteIsToldThat(t *testing.T) {
	c := &client{options: Options{Host: "2001:db8::1", Port: 5202}}
	for why, says := range map[syscall.Errno]string{
		syscall.ENETUNREACH:   "has no route there",
		syscall.ENETDOWN:      "is the interface up",
		syscall.EADDRNOTAVAIL: "no address here to come from",
		syscall.ECONNREFUSED:  "is an iperf3 server running there, and may port 5202 pass?",
		syscall.EHOSTUNREACH:  "is an iperf3 server running there", // which a firewall may say, too
	} {
		err := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", why)}
		if hint := c.hint(err); !strings.Contains(hint, says) || strings.Contains(hint, "server") != strings.Contains(says, "server") {
			t.Errorf("%v: %s", why, hint)
		}
	}
}

// TestARefusedClientKnowsWhomItAsked, if the server refuses when it knows what is asked for.
func TestARefusedClientKnowsWhomItAsked(t *testing.T) {
	for name, c := range map[string]struct {
		play func(*scripted)
		want int
	}{
		"what is asked for": {func(s *scripted) {
			s.sendState(paramExchange)
			s.receiveJSON(maxParameters, 5*time.Second)
			s.sendError(ErrorAuth, 0)
		}, 1},
		"whoever it is": {func(s *scripted) { s.sendState(accessDenied) }, 0},
	} {
		var asked []Start
		o := Options{Host: "127.0.0.1", Port: script(t, c.play), Asked: func(s Start) { asked = append(asked, s) }}
		if _, err := run(t, o); err == nil || len(asked) != c.want {
			t.Errorf("%s: %v, asked %+v", name, err, asked)
		}
		for _, s := range asked {
			if s.Host != o.Host || s.Port != o.Port || len(s.Cookie) != 36 || s.Time.IsZero() || s.ControlMSS == 0 || s.Test.Protocol != TCP || len(s.Connections) > 0 {
				t.Errorf("%s: %+v", name, s)
			}
		}
	}
}

// TestAServerThatClosesWithoutAWordIsAskedForAUser, as one of 3.21 closes where it wants another one.
func TestAServerThatClosesWithoutAWordIsAskedForAUser(t *testing.T) {
	port := script(t, func(s *scripted) {
		s.sendState(paramExchange)
		s.receiveJSON(maxParameters, 5*time.Second)
	})
	if _, err := run(t, Options{Host: "127.0.0.1", Port: port}); !errors.Is(err, ErrControlClosedUnsaid) || !errors.Is(err, ErrControlClosed) || !strings.Contains(err.Error(), "wants a user") {
		t.Errorf("%v", err)
	}
}

// TestARefusalMayLackItsErrno, as that of a user by iperf3 3.12 does: its server closes behind the number.
func TestARefusalMayLackItsErrno(t *testing.T) {
	port := script(t, func(s *scripted) {
		s.sendState(paramExchange)
		s.receiveJSON(maxParameters, 5*time.Second)
		s.send([]byte{0xfe, 0, 0, 0, ErrorAuth})
	})
	var refused *ServerError
	if _, err := run(t, Options{Host: "127.0.0.1", Port: port}); !errors.As(err, &refused) || *refused != (ServerError{Number: ErrorAuth}) {
		t.Errorf("%v", err)
	}
}

// TestALostAnswerToAGreetingCostsNoTest in which this end sends: a server that starts one has all its streams.
func TestALostAnswerToAGreetingCostsNoTest(t *testing.T) {
	port := script(t, func(s *scripted) {
		packets, err := net.ListenPacket("udp", s.listener.Addr().String())
		if err != nil {
			t.Error(err)
			return
		}
		defer packets.Close()
		s.sendState(paramExchange)
		s.receiveJSON(maxParameters, 5*time.Second)
		s.sendState(createStreams)
		b := make([]byte, 64)
		packets.SetReadDeadline(time.Now().Add(5 * time.Second))
		if n, _, err := packets.ReadFrom(b); err != nil || n != udpHelloSize {
			t.Errorf("%d bytes for a greeting, %v", n, err)
		}
		s.sendState(testStart)
		s.sendState(testRunning)
		s.sendState(serverTerminate)
	})
	r, err := run(t, Options{Host: "127.0.0.1", Port: port, Protocol: UDP, BitsPerSecond: 1e6})
	if !errors.Is(err, ErrServerTerminated) || len(r.starts) != 1 {
		t.Errorf("%v, %+v", err, r.starts)
	}
}

// TestAClientThatIsInterruptedSaysSo, also while it makes its streams.
func TestAClientThatIsInterruptedSaysSo(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	heard := make(chan state, 1)
	port := script(t, func(s *scripted) {
		s.sendState(paramExchange)
		s.receiveJSON(maxParameters, 5*time.Second)
		s.sendState(createStreams) // and it answers no greeting
		interrupt()
		got, _ := s.receiveState(5 * time.Second)
		heard <- got
	})
	err := Run(ctx, Options{Host: "127.0.0.1", Port: port, Protocol: UDP, BitsPerSecond: 1e6}, &record{})
	if got := <-heard; !errors.Is(err, ErrInterrupted) || got != clientTerminate {
		t.Errorf("%v, and the server heard %s", err, got)
	}
}

// TestNobodyThere says what to do next.
func TestNobodyThere(t *testing.T) {
	h := serve(t, ServerOptions{})
	h.stop()
	if _, err := run(t, h.options()); err == nil || !strings.Contains(err.Error(), "is an iperf3 server running there") {
		t.Error(err)
	}
}

// TestNoWayThere is not asked of a server that cannot be reached.
func TestNoWayThere(t *testing.T) {
	for why, says := range map[syscall.Errno]string{syscall.ENETUNREACH: "no route there", syscall.EADDRNOTAVAIL: "no route there", syscall.ECONNREFUSED: "running there"} {
		err := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", why)}
		if hint := (&client{options: Options{Host: "::1"}}).hint(err); !strings.Contains(hint, says) {
			t.Errorf("%v: %s", why, hint)
		}
	}
}

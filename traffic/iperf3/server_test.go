package iperf3

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"
)

// TestManyClients has 64 tests at once, of both protocols and all directions.
func TestManyClients(t *testing.T) {
	const clients = 64
	h := serve(t, ServerOptions{})
	ends := make([]End, clients)
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			o := h.options()
			o.Bytes, o.Duration, o.Length, o.BitsPerSecond = 1<<16, 0, 1<<10, 2e6
			o.Protocol = []Protocol{TCP, UDP}[i%2]
			o.Parallel = 1 + i/2%2
			o.Reverse, o.Bidirectional = i/4%3 == 1, i/4%3 == 2
			r, err := run(t, o)
			if err != nil {
				t.Errorf("client %d: %v", i, err)
				return
			}
			ends[i] = r.end(t)
		})
	}
	all.Wait()
	if t.Failed() {
		return
	}
	mine, theirs := map[uint64]int{}, map[uint64]int{}
	for i := range clients {
		var came uint64
		for _, s := range ends[i].Streams {
			if s.Sent.Bytes < s.Received.Bytes {
				t.Errorf("client %d: %+v", i, s)
			}
			came += s.Received.Bytes
			mine[s.Sent.Bytes<<32|s.Received.Bytes]++
		}
		if came == 0 {
			t.Errorf("client %d: nothing came: %+v", i, ends[i].Streams)
		}
		for _, s := range h.session(t, uint64(i+1)).end(t).Streams {
			theirs[s.Sent.Bytes<<32|s.Received.Bytes]++
		}
	}
	for figures, n := range mine {
		if theirs[figures] != n {
			t.Errorf("%d streams of %d sent and %d received bytes at the clients, %d at the server", n, figures>>32, figures&(1<<32-1), theirs[figures])
		}
	}
}

// TestCPUOfSeveralClients is told apart from that of one.
func TestCPUOfSeveralClients(t *testing.T) {
	h := serve(t, ServerOptions{})
	o := h.options()
	if _, err := run(t, o); err != nil {
		t.Fatal(err)
	}
	if h.session(t, 1).end(t).CPUShared {
		t.Error("the only client shares the server's CPU time")
	}
	o.Duration = time.Second
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var first sync.WaitGroup
	flows := make(chan struct{}, 100)
	first.Go(func() { Run(ctx, o, &onInterval{&record{}, func() { flows <- struct{}{} }}) })
	<-flows
	if _, err := run(t, h.options()); err != nil {
		t.Fatal(err)
	}
	first.Wait()
	for number := range uint64(2) {
		if !h.session(t, 2+number).end(t).CPUShared {
			t.Errorf("session %d does not say that another one ran", 2+number)
		}
	}
}

// TestManyAddresses lets clients of as many addresses make UDP streams at once:
// none may get a greeting that is another's.
func TestManyAddresses(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs a loopback that has more addresses than one")
	}
	h := serve(t, ServerOptions{})
	var all sync.WaitGroup
	for i := range 32 {
		all.Go(func() {
			o := h.options()
			o.Protocol, o.Bind, o.Parallel, o.BitsPerSecond, o.Length = UDP, fmt.Sprintf("127.0.0.%d", 2+i), 4, 5e5, 200
			o.Duration = 2 * time.Second // 128 senders share the CPUs with as many receivers, and each is to have a turn
			r, err := run(t, o)
			if err != nil {
				t.Errorf("client %d: %v", i, err)
				return
			}
			for _, s := range r.end(t).Streams {
				if s.Received.Bytes == 0 || s.Received.Bytes > s.Sent.Bytes { // a busy machine may lose some
					t.Errorf("client %d: %+v, %+v", i, s, s.UDP)
				}
			}
		})
	}
	all.Wait()
}

// rude is a client that goes its own way.
type rude struct {
	t    *testing.T
	conn *net.TCPConn
	name cookie
	*control
}

func (h *host) dial(t *testing.T) *net.TCPConn {
	t.Helper()
	conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(h.port)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn.(*net.TCPConn)
}

// rude opens a session.
func (h *host) rude(t *testing.T) *rude {
	t.Helper()
	r := &rude{t: t, conn: h.dial(t), name: newCookie()}
	r.control = newControl(context.Background(), r.conn)
	t.Cleanup(r.control.release)
	r.send(r.name[:])
	return r
}

// say sends a message after the server asked for it.
func (r *rude) say(message string) {
	r.t.Helper()
	if err := r.expect(paramExchange, 5*time.Second); err != nil {
		r.t.Fatal(err)
	}
	r.sendJSON(json.RawMessage(message))
}

// refusedWith wants a certain error of the server next.
func (r *rude) refusedWith(number int) {
	r.t.Helper()
	err := r.expect(createStreams, 5*time.Second)
	var refused *ServerError
	if !errors.As(err, &refused) || refused.Number != number {
		r.t.Errorf("%v; want error %d", err, number)
	}
}

// alive makes an ordinary test beside whatever else goes on.
func (h *host) alive(t *testing.T) {
	t.Helper()
	for _, protocol := range []Protocol{TCP, UDP} {
		o := h.options()
		o.Protocol, o.Bytes, o.Duration, o.BitsPerSecond = protocol, 1<<17, 0, 50e6
		r, err := run(t, o)
		if err != nil {
			t.Fatalf("an ordinary test: %v", err)
		}
		r.end(t)
	}
}

// TestRudeClients does what no client should; each costs its own session alone.
func TestRudeClients(t *testing.T) {
	h := serve(t, ServerOptions{})
	for name, misbehave := range h.rudeness() {
		t.Run(name, func(t *testing.T) {
			misbehave(t)
			h.alive(t)
		})
	}
	for name, misbehave := range h.rudenessUnderWay() {
		t.Run(name, func(t *testing.T) {
			misbehave(t)
			h.alive(t)
		})
	}
}

const twoStreams = `{"tcp":true,"time":10,"parallel":2,"len":1024}`

// rudeness is what a client may do before its streams stand.
func (h *host) rudeness() map[string]func(*testing.T) {
	return map[string]func(*testing.T){
		"a length of 4 GiB": func(t *testing.T) {
			r := h.rude(t)
			r.expect(paramExchange, 5*time.Second)
			r.send([]byte{0xff, 0xff, 0xff, 0xff, '{', '}'})
			r.refusedWith(ErrorRecvParams)
		},
		"wrong types": func(t *testing.T) {
			r := h.rude(t)
			r.say(`{"tcp":true,"time":"10","parallel":1,"len":1024}`)
			r.refusedWith(ErrorRecvParams)
		},
		"no JSON": func(t *testing.T) {
			r := h.rude(t)
			r.expect(paramExchange, 5*time.Second)
			r.send([]byte("\x00\x00\x00\x04[[[["))
			r.refusedWith(ErrorRecvParams)
		},
		"goes in the cookie":  func(t *testing.T) { h.dial(t).Write([]byte("abc")) },
		"goes with a reset":   func(t *testing.T) { r := h.rude(t); r.conn.SetLinger(0); r.conn.Close() },
		"goes for parameters": func(t *testing.T) { h.rude(t).conn.Close() },
		"goes for streams": func(t *testing.T) {
			r := h.rude(t)
			r.say(twoStreams)
			r.expect(createStreams, 5*time.Second)
			r.conn.Close()
		},
		"speaks for streams": func(t *testing.T) {
			r := h.rude(t)
			r.say(twoStreams)
			r.expect(createStreams, 5*time.Second)
			r.sendState(displayResults)
			r.refusedWith(ErrorMessage)
		},
		"no cookie": func(t *testing.T) {
			c := h.dial(t)
			c.Write([]byte("GET / HTTP/1.1\r\nHost: somebody.example\r\n\r\n"))
			c.SetReadDeadline(time.Now().Add(5 * time.Second))
			if n, err := c.Read(make([]byte, 1)); err == nil {
				t.Errorf("the server answered with %d bytes", n)
			}
		},
		"an unknown congestion control": func(t *testing.T) {
			r := h.rude(t)
			r.say(`{"tcp":true,"time":1,"len":1024,"congestion":"nobody"}`)
			r.expect(createStreams, 5*time.Second)
			r.stream()
			if runtime.GOOS == "linux" {
				r.refusedWith(ErrorSetCongestion)
			}
		},
	}
}

// rudenessUnderWay is what it may do later.
func (h *host) rudenessUnderWay() map[string]func(*testing.T) {
	return map[string]func(*testing.T){
		"a congestion control that is not there": func(t *testing.T) {
			r := h.rude(t)
			r.say(`{"tcp":true,"time":1,"len":1024,"congestion":"nosuch"}`)
			r.expect(createStreams, 5*time.Second)
			r.stream()
			r.refusedWith(ErrorSetCongestion)
		},
		"kills itself while traffic runs": func(t *testing.T) {
			r := h.rude(t)
			r.say(twoStreams)
			r.expect(createStreams, 5*time.Second)
			a, b := r.stream(), r.stream()
			r.expect(testStart, 5*time.Second)
			r.expect(testRunning, 5*time.Second)
			a.Write(make([]byte, 5000))
			for _, c := range []*net.TCPConn{a, b, r.conn} {
				c.SetLinger(0)
				c.Close()
			}
		},
		"results that lie": func(t *testing.T) {
			r := h.rude(t)
			r.say(`{"tcp":true,"time":10,"len":1024}`)
			r.expect(createStreams, 5*time.Second)
			r.stream()
			r.expect(testStart, 5*time.Second)
			r.expect(testRunning, 5*time.Second)
			r.sendState(testEnd)
			r.expect(exchangeResults, 5*time.Second)
			r.sendJSON(json.RawMessage(`{"cpu_util_total":0,"cpu_util_user":0,"cpu_util_system":0,"sender_has_retransmits":0,"streams":[{"id":99,"bytes":1,"retransmits":0,"jitter":0,"errors":0,"packets":0}]}`))
			r.refusedWith(ErrorRecvResults)
		},
	}
}

// stream makes a data stream of the session.
func (r *rude) stream() *net.TCPConn {
	r.t.Helper()
	conn, err := net.Dial("tcp", r.conn.RemoteAddr().String())
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { conn.Close() })
	conn.Write(r.name[:])
	return conn.(*net.TCPConn)
}

// TestStalledClients stop in the middle, TCP and UDP, and hold nobody up. The ordinary test beside them may have to wait
// for a CPU, for less than the time-out.
func TestStalledClients(t *testing.T) {
	h := serve(t, ServerOptions{ReceiveTimeout: time.Second, StallTimeout: time.Second})
	h.rude(t) // never sends parameters
	waiting := h.rude(t)
	waiting.say(`{"tcp":true,"time":10,"parallel":2,"len":1024}`) // never makes its streams
	silent := h.rude(t)
	silent.say(`{"tcp":true,"time":10,"len":1024}`)
	silent.expect(createStreams, 5*time.Second)
	silent.stream() // never sends
	silent.expect(testStart, 5*time.Second)
	silent.expect(testRunning, 5*time.Second)
	deaf := h.rude(t)
	deaf.say(`{"tcp":true,"time":10,"len":1024,"reverse":true}`)
	deaf.expect(createStreams, 5*time.Second)
	deaf.stream() // never reads
	deaf.expect(testStart, 5*time.Second)
	deaf.expect(testRunning, 5*time.Second)
	h.alive(t)
	silent.refusedWith(ErrorNoMessage)
	deaf.refusedWith(ErrorStreamWrite)
}

// TestStalledGreeting: a session that makes no UDP stream loses its turn to
// others of its address.
func TestStalledGreeting(t *testing.T) {
	t.Parallel()
	h := serve(t, ServerOptions{})
	r := h.rude(t)
	r.say(`{"udp":true,"time":10,"len":1024}`)
	if err := r.expect(createStreams, 5*time.Second); err != nil {
		t.Fatal(err)
	}
	h.alive(t) // its UDP test waits for hurriedTimeout
	r.refusedWith(ErrorStreamAccept)
}

// TestForeignStream: a connection with another's cookie, at the wrong time or one
// too many, is denied.
func TestForeignStream(t *testing.T) {
	h := serve(t, ServerOptions{})
	r := h.rude(t)
	r.say(`{"tcp":true,"time":10,"len":1024}`)
	r.expect(createStreams, 5*time.Second)
	r.stream()
	r.expect(testStart, 5*time.Second)
	r.expect(testRunning, 5*time.Second)
	extra := r.stream()
	extra.SetReadDeadline(time.Now().Add(5 * time.Second))
	if got, _ := io.ReadAll(extra); string(got) != "\xff" {
		t.Errorf("a stream too many is answered with %q", got)
	}
}

func TestBusyServer(t *testing.T) {
	h := serve(t, ServerOptions{MaxClients: 1})
	r := h.rude(t)
	if err := r.expect(paramExchange, 5*time.Second); err != nil {
		t.Fatal(err)
	}
	if _, err := run(t, h.options()); !errors.Is(err, ErrAccessDenied) {
		t.Errorf("%v; want %v", err, ErrAccessDenied)
	}
	r.conn.Close()
	h.session(t, 1)
	for limit := time.Now().Add(10 * time.Second); ; {
		_, err := run(t, h.options())
		if err == nil {
			break
		}
		if time.Now().After(limit) {
			t.Fatal(err)
		}
	}
}

// TestShutdown ends a server in the middle of a test: both ends tell what there was.
func TestShutdown(t *testing.T) {
	h := serve(t, ServerOptions{})
	o := h.options()
	o.Duration = 20 * time.Second
	started := make(chan struct{})
	client := &record{}
	ended := make(chan error, 1)
	go func() {
		ended <- Run(context.Background(), o, &onInterval{client, sync.OnceFunc(func() { close(started) })})
	}()
	<-started
	if err := h.stop(); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, ErrServerTerminated) {
		t.Errorf("%v; want %v", err, ErrServerTerminated)
	}
	server := h.session(t, 1)
	if !errors.Is(server.failure(t), ErrServerTerminated) || !server.ends[0].Partial || !client.ends[0].Partial || client.ends[0].Streams[0].Sent.Bytes == 0 {
		t.Errorf("the client has %+v, the server %+v", client.ends, server.ends)
	}
}

// onInterval calls a function at the first interval.
type onInterval struct {
	*record
	then func()
}

func (o *onInterval) Interval(v Interval) { o.record.Interval(v); o.then() }

// TestInterrupted ends a client in the middle of a test.
func TestInterrupted(t *testing.T) {
	for _, protocol := range []Protocol{TCP, UDP} {
		h := serve(t, ServerOptions{})
		o := h.options()
		o.Protocol, o.Duration, o.BitsPerSecond = protocol, 20*time.Second, 10e6
		ctx, cancel := context.WithCancel(context.Background())
		client := &record{}
		err := Run(ctx, o, &onInterval{client, cancel})
		cancel()
		server := h.session(t, 1)
		if !errors.Is(err, ErrInterrupted) || !client.ends[0].Partial || client.ends[0].Streams[0].Sent.Bytes == 0 {
			t.Errorf("%v, %+v", err, client.ends)
		}
		if !errors.Is(server.failure(t), ErrClientTerminated) || server.ends[0].Streams[0].Received.Bytes == 0 {
			t.Errorf("%v, %+v", server.failures, server.ends)
		}
	}
}

// TestWhatIsOmittedNeverCounts, also where the test ends before anything else has come: by its client's interrupt, and by
// the end of one whose limit a server hears of while it still omits.
func TestWhatIsOmittedNeverCounts(t *testing.T) {
	nothing := func(who string, r *record) {
		t.Helper()
		first, end := r.intervals[0], r.ends[0].Streams[0]
		if sent, came := end.Sent, end.Received; !first.Omitted || first.Streams[0].Bytes == 0 || sent.Bytes != 0 || came.Bytes != 0 || sent.BitsPerSecond != 0 || came.BitsPerSecond != 0 {
			t.Errorf("%s: after %+v it ended with %+v", who, first, end)
		}
	}
	for _, protocol := range []Protocol{TCP, UDP} {
		for _, reverse := range []bool{false, true} {
			h := serve(t, ServerOptions{Interval: 100 * time.Millisecond})
			o := h.options()
			o.Protocol, o.Reverse, o.Omit, o.BitsPerSecond = protocol, reverse, 20*time.Second, 50e6
			ctx, cancel := context.WithCancel(t.Context())
			client := &record{}
			if err := Run(ctx, o, &onInterval{client, cancel}); !errors.Is(err, ErrInterrupted) {
				t.Error(err)
			}
			cancel()
			nothing(fmt.Sprintf("a client of %s, reverse %v", protocol, reverse), client)
		}
	}
	h := serve(t, ServerOptions{Interval: 100 * time.Millisecond})
	r := h.rude(t)
	r.say(`{"tcp":true,"omit":20,"num":1024,"len":1024}`)
	r.expect(createStreams, 5*time.Second)
	data := r.stream()
	for _, step := range []state{testStart, testRunning} {
		if err := r.expect(step, 5*time.Second); err != nil {
			t.Fatal(err)
		}
	}
	data.Write(make([]byte, 4<<10))
	r.sendState(testEnd)
	r.expect(exchangeResults, 5*time.Second)
	r.sendJSON(json.RawMessage(`{"cpu_util_total":0,"cpu_util_user":0,"cpu_util_system":0,"sender_has_retransmits":0,"streams":[{"id":1,"bytes":0,"retransmits":0,"jitter":0,"errors":0,"packets":0}]}`))
	body, err := r.receiveJSON(maxResults, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if told, err := readResults(body, map[int]bool{1: true}); err != nil || told.Streams[0].Bytes != 0 {
		t.Errorf("%v: the client hears %s", err, body)
	}
	nothing("the server", h.session(t, 1))
}

func TestOneOffAndIdle(t *testing.T) {
	h := serve(t, ServerOptions{OneOff: true, IdleTimeout: time.Minute})
	if _, err := run(t, h.options()); err != nil {
		t.Error(err)
	}
	if err := h.stop(); err != nil { // it has ended by itself, or this ends it
		t.Error(err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- Serve(context.Background(), ServerOptions{Host: "127.0.0.1", Port: -1, IdleTimeout: 50 * time.Millisecond}, nil)
	}()
	select {
	case err := <-ended:
		if !errors.Is(err, ErrIdle) {
			t.Errorf("%v; want %v", err, ErrIdle)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("an idle server did not end")
	}
}

// printed is a server's Observer that keeps what it prints.
type printed struct {
	record
	text string
	json json.RawMessage
}

func (p *printed) Transcript() (string, json.RawMessage) { return p.text, p.json }

func TestServerOutput(t *testing.T) {
	for _, c := range []*printed{{text: "what a server prints\n"}, {json: json.RawMessage(`{"end":{}}`)}} {
		ctx, cancel := context.WithCancel(context.Background())
		ready, ended := make(chan string, 1), make(chan error, 1)
		go func() {
			ended <- Serve(ctx, ServerOptions{Host: "127.0.0.1", Port: -1, Ready: func(a string) { ready <- a }}, func(uint64, string) Observer { return c })
		}()
		_, port, _ := net.SplitHostPort(<-ready)
		o := (&host{}).options()
		o.Port, _ = strconv.Atoi(port)
		o.GetServerOutput = true
		r, err := run(t, o)
		cancel()
		<-ended
		if err != nil {
			t.Fatal(err)
		}
		if e := r.end(t); e.ServerOutputText != c.text || string(e.ServerOutputJSON) != string(c.json) {
			t.Errorf("the client has %q and %s", e.ServerOutputText, e.ServerOutputJSON)
		}
	}
}

// TestPortTaken is Serve's own error.
func TestPortTaken(t *testing.T) {
	h := serve(t, ServerOptions{})
	if err := Serve(context.Background(), ServerOptions{Host: "127.0.0.1", Port: h.port}, nil); err == nil {
		t.Error("two servers have one port")
	}
}

// TestNothingIsLeft runs every kind of end and counts what stays.
func TestNothingIsLeft(t *testing.T) {
	// A program's first socket opens Go's own descriptors for its poller.
	if first, err := net.Listen("tcp", "127.0.0.1:0"); err == nil {
		first.Close()
	}
	before, files := runtime.NumGoroutine(), descriptors()
	h := serve(t, ServerOptions{})
	h.alive(t)
	r := h.rude(t)
	r.say(`{"tcp":true,"time":10,"parallel":2,"len":1024}`)
	r.expect(createStreams, 5*time.Second)
	stream := r.stream()
	u := h.rude(t)
	u.say(`{"udp":true,"time":10,"parallel":2,"len":1024}`)
	u.expect(createStreams, 5*time.Second)
	h.stop()
	for _, own := range []net.Conn{stream, r.conn, u.conn} {
		own.Close()
	}
	for limit := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before || descriptors() > files; time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			var b [1 << 16]byte
			t.Fatalf("%d goroutines, before %d; %d descriptors, before %d\n%s", runtime.NumGoroutine(), before, descriptors(), files, b[:runtime.Stack(b[:], true)])
		}
	}
}

// descriptors is how many this process has open, 0 where the system does not tell.
func descriptors() int {
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(open)
}

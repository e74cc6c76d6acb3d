package iperf3

import (
	"context"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"
)

// record is an Observer that keeps everything.
type record struct {
	mu        sync.Mutex
	starts    []Start
	intervals []Interval
	ends      []End
	failures  []error
}

func (r *record) Connected(s Start) { r.mu.Lock(); r.starts = append(r.starts, s); r.mu.Unlock() }
func (r *record) Interval(v Interval) {
	r.mu.Lock()
	r.intervals = append(r.intervals, v)
	r.mu.Unlock()
}
func (r *record) Ended(e End)      { r.mu.Lock(); r.ends = append(r.ends, e); r.mu.Unlock() }
func (r *record) Failed(err error) { r.mu.Lock(); r.failures = append(r.failures, err); r.mu.Unlock() }

// end is the one result of a test without failures.
func (r *record) end(t *testing.T) End {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.starts) != 1 || len(r.ends) != 1 || len(r.failures) != 0 {
		t.Fatalf("%d starts, %d ends, failures %v; want one test without a failure", len(r.starts), len(r.ends), r.failures)
	}
	return r.ends[0]
}

// failure is the one failure.
func (r *record) failure(t *testing.T) error {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.failures) != 1 {
		t.Fatalf("failures %v; want one", r.failures)
	}
	return r.failures[0]
}

// host is a server on loopback.
type host struct {
	port     int
	mu       sync.Mutex
	sessions map[uint64]*record
	refused  []error
	stop     func() error // ends it and waits
}

// serve starts a server on a free port of loopback; the test's end stops it.
func serve(t *testing.T, o ServerOptions) *host {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	h := &host{sessions: map[uint64]*record{}}
	if o.Host == "" {
		o.Host = "127.0.0.1"
	}
	o.Port = quietPort(t)
	ready := make(chan string, 1)
	o.Ready = func(address string) { ready <- address }
	o.Refused = func(_ string, why error) { h.mu.Lock(); h.refused = append(h.refused, why); h.mu.Unlock() }
	ended := make(chan error, 1)
	go func() {
		ended <- Serve(ctx, o, h.observe)
	}()
	h.stop = sync.OnceValue(func() error { cancel(); return <-ended })
	t.Cleanup(func() { h.stop() })
	select {
	case address := <-ready:
		_, port, _ := net.SplitHostPort(address)
		h.port, _ = strconv.Atoi(port)
	case err := <-ended:
		ended <- err
		t.Fatal(err)
	}
	return h
}

// quietPort is free, for TCP and UDP, and below those that systems give to whoever asks for any (ip_local_port_range): a server binds the
// one of UDP when it needs it, and some other program's socket may have got it by then.
func quietPort(t *testing.T) int {
	t.Helper()
	for range 100 {
		port := 26000 + rand.IntN(6000)
		tcp, err := net.ListenTCP("tcp", &net.TCPAddr{Port: port})
		if err != nil {
			continue
		}
		udp, err := net.ListenUDP("udp", &net.UDPAddr{Port: port})
		tcp.Close()
		if err == nil {
			udp.Close()
			return port
		}
	}
	t.Fatal("no free port")
	return 0
}

func (h *host) observe(session uint64, _ string) Observer {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := &record{}
	h.sessions[session] = r
	return r
}

// session waits for a session's first end or failure.
func (h *host) session(t *testing.T, number uint64) *record {
	t.Helper()
	for limit := time.Now().Add(20 * time.Second); time.Now().Before(limit); time.Sleep(time.Millisecond) {
		h.mu.Lock()
		r := h.sessions[number]
		h.mu.Unlock()
		if r == nil {
			continue
		}
		r.mu.Lock()
		over := len(r.ends) > 0 && !r.ends[len(r.ends)-1].Partial || len(r.failures) > 0
		r.mu.Unlock()
		if over {
			return r
		}
	}
	t.Fatalf("session %d did not end", number)
	return nil
}

// options are a short test against the host.
func (h *host) options() Options {
	return Options{Host: "127.0.0.1", Port: h.port, Duration: 300 * time.Millisecond, Interval: 100 * time.Millisecond, Congestion: reno()}
}

// run makes one client's test and returns what it saw.
func run(t *testing.T, o Options) (*record, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	r := &record{}
	err := Run(ctx, o, r)
	return r, err
}

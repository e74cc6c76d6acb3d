//go:build e2e

package e2e

import (
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"windtunnel/result"
	"windtunnel/traffic"
	"windtunnel/traffic/frame"
)

// stack is a network namespace without a name, and the thread that holds it. What
// a worker asks of the network it asks in Prepare, so that is called here.
type stack struct {
	t    *testing.T
	asks chan func()
	tid  int
}

func newStack(t *testing.T) *stack {
	t.Helper()
	s := &stack{t: t, asks: make(chan func())}
	ready := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the namespace ends with the thread
		err := unix.Unshare(unix.CLONE_NEWNET)
		s.tid = unix.Gettid()
		ready <- err
		for ask := range s.asks {
			ask()
		}
	}()
	if err := <-ready; err != nil {
		t.Fatal("making a network namespace:", err)
	}
	t.Cleanup(func() { close(s.asks) })
	s.run("ip link set lo up")
	return s
}

func (s *stack) do(f func()) {
	done := make(chan struct{})
	s.asks <- func() { defer close(done); f() }
	<-done
}

// run runs commands in the namespace, one a line.
func (s *stack) run(lines ...string) {
	s.t.Helper()
	for _, line := range lines {
		argv := strings.Fields(line)
		var out []byte
		var err error
		s.do(func() { out, err = exec.Command(argv[0], argv[1:]...).CombinedOutput() })
		if err != nil {
			s.t.Fatalf("%s: %v: %s", line, err, out)
		}
	}
}

// pairTo makes a veth pair, an end in each namespace, both up.
func (s *stack) pairTo(device string, other *stack, peer string) {
	s.t.Helper()
	s.run(fmt.Sprintf("ip link add %s numtxqueues 1 numrxqueues 1 type veth peer name %s numtxqueues 1 numrxqueues 1 netns %d", device, peer, other.tid))
	for at, name := range map[*stack]string{s: device, other: peer} {
		at.run("ip link set "+name+" addrgenmode none up", "ethtool -K "+name+" gro off")
	}
}

// frameBed is two endpoints and what lies between.
type frameBed struct{ from, to *stack }

// direct is a veth pair from endpoint to endpoint.
//
//	from eth0 ---- eth0 to
func direct(t *testing.T) frameBed {
	b := frameBed{newStack(t), newStack(t)}
	b.from.pairTo("eth0", b.to, "eth0")
	b.address()
	return b
}

// bridged is two containers at the bridge of a third namespace.
//
//	from eth0 ---- v1 [br0] v2 ---- eth0 to
func bridged(t *testing.T) (frameBed, *stack) {
	b, host := frameBed{newStack(t), newStack(t)}, newStack(t)
	host.run("ip link add br0 type bridge")
	host.pairTo("v1", b.from, "eth0")
	host.pairTo("v2", b.to, "eth0")
	host.run("ip link set v1 master br0", "ip link set v2 master br0", "ip link set br0 addrgenmode none up")
	b.address()
	return b, host
}

func (b frameBed) address() {
	for last, s := range []*stack{b.from, b.to} {
		s.run(fmt.Sprintf("ip addr add 10.0.0.%d/24 dev eth0", last+1), fmt.Sprintf("ip addr add fd00::%d/64 dev eth0 nodad", last+1))
	}
}

// frames runs one trial.
func (b frameBed) frames(t *testing.T, address string, load result.Options, when traffic.Schedule) (sent, got result.PairEnd) {
	t.Helper()
	receive := b.prepare(t, b.to, traffic.Order{Role: traffic.Receive, Load: load, Address: address})
	send := b.prepare(t, b.from, traffic.Order{Role: traffic.Send, Load: load, Address: receive.Address()})
	when.Start = time.Now().Add(150 * time.Millisecond)
	var both sync.WaitGroup
	run := func(w traffic.Worker, at *stack, end *result.PairEnd) {
		var err error
		if *end, err = w.Run(t.Context(), when); err != nil {
			t.Error(err)
		}
		at.do(func() { err = w.Close() })
		if err != nil {
			t.Error(err)
		}
	}
	both.Go(func() { run(receive, b.to, &got) })
	both.Go(func() { run(send, b.from, &sent) })
	both.Wait()
	if sent.Error != "" || got.Error != "" {
		t.Errorf("sender %q, receiver %q", sent.Error, got.Error)
	}
	t.Logf("%s -> %s: sent %d of %d bytes, %.3f Mpps (%d refused), got %d, lost %d, %+v", sent.Offered.Method, got.Frames.CountedAt,
		sent.Packets, sent.Frames.Size, float64(sent.Packets)/sent.WindowSeconds/1e6, sent.Offered.Refused, got.Packets, got.Arrived.Lost, *got.Arrived)
	return sent, got
}

func (b frameBed) prepare(t *testing.T, at *stack, order traffic.Order) (w traffic.Worker) {
	t.Helper()
	var err error
	at.do(func() { w, err = frame.Kind{}.Prepare(t.Context(), order) })
	if err != nil {
		t.Fatalf("preparing to %s: %v", order.Role, err)
	}
	t.Cleanup(func() { at.do(func() { w.Close() }) })
	return w
}

// briefly is a short trial.
var briefly = traffic.Schedule{WarmUp: 50 * time.Millisecond, Window: 300 * time.Millisecond}

// exact fails unless every frame came once and in order.
func exact(t *testing.T, sent, got result.PairEnd) {
	t.Helper()
	a := got.Arrived
	if got.Packets != sent.Packets || a.Expected != sent.Packets || a.Lost+a.Late+a.Duplicate+a.Reordered+a.Corrupt != 0 {
		t.Errorf("sent %d, got %d: %+v", sent.Packets, got.Packets, *a)
	}
}

func TestFramesBetweenTwoEnds(t *testing.T) {
	needsRoot(t)
	cases := map[string]struct {
		address string
		load    result.Options
	}{
		"one flow":               {"10.0.0.2", result.Options{}},
		"64 flows":               {"10.0.0.2", result.Options{"flows": 64}},
		"a million flows":        {"10.0.0.2", result.Options{"flows": 1_000_000}},
		"a million by addresses": {"10.0.0.2", result.Options{"flows": 1_000_000, "vary": "addresses"}},
		"largest":                {"10.0.0.2", result.Options{"size": 1518}},
		"IPv6":                   {"fd00::2", result.Options{"size": 84}},
		"IPv6, addresses":        {"fd00::2", result.Options{"size": 1518, "flows": 1000, "vary": "addresses"}},
		"two threads":            {"10.0.0.2", result.Options{"flows": 7, "threads": 2}},
		"counted at tc":          {"10.0.0.2", result.Options{"sink": "tc", "packets": 50000.0}},
		"af-packet":              {"10.0.0.2", result.Options{"method": "af-packet", "flows": 100}},
		"af-packet, IPv6":        {"fd00::2", result.Options{"method": "af-packet", "size": 512, "flows": 100, "vary": "addresses"}},
		"af-packet both":         {"10.0.0.2", result.Options{"method": "af-packet", "sink": "af-packet", "flows": 70000, "packets": 20000.0}},
		"paced, 800 bytes":       {"10.0.0.2", result.Options{"sink": "auto", "size": 800, "packets": 100000.0}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			sent, got := direct(t).frames(t, c.address, c.load, briefly)
			exact(t, sent, got)
			if sent.Packets == 0 || sent.Bytes != sent.Packets*uint64(sent.Frames.Size) {
				t.Errorf("%d frames of %d bytes are not %d bytes", sent.Packets, sent.Frames.Size, sent.Bytes)
			}
		})
	}
}

// TestFrameRate keeps 10,000 frames a second by both methods.
func TestFrameRate(t *testing.T) {
	needsRoot(t)
	for _, method := range []string{"xdp", "af-packet"} {
		t.Run(method, func(t *testing.T) {
			when := traffic.Schedule{WarmUp: 100 * time.Millisecond, Window: time.Second}
			sent, got := direct(t).frames(t, "10.0.0.2", result.Options{"packets": 10000.0, "method": method, "flows": 10}, when)
			exact(t, sent, got)
			// While others had its CPU, a thread sent nothing, and catches up by a burst only.
			waited := sent.Offered.WaitSeconds / sent.WindowSeconds
			if rate := float64(sent.Packets) / sent.WindowSeconds; rate > 10100 || rate < 9900-10000*waited {
				t.Errorf("%.1f frames/s, waited %.3f of the time", rate, waited)
			}
		})
	}
}

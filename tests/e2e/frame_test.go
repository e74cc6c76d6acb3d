//go:build e2e

package e2e

import (
	"fmt"
	"math"
	"net"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"windtunnel/bench/wire"
	"windtunnel/result"
	"windtunnel/traffic"
	"windtunnel/traffic/frame"
)

// stack is a network namespace without a name, and the thread that holds it. What
// a worker asks of the network it asks in Prepare, so that is called here.
type stack struct {
	t    testing.TB
	asks chan func()
	tid  int
}

func newStack(t testing.TB) *stack {
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
func direct(t testing.TB) frameBed {
	b := frameBed{newStack(t), newStack(t)}
	b.from.pairTo("eth0", b.to, "eth0")
	b.address()
	return b
}

// bridged is two containers at the bridge of a third namespace.
//
//	from eth0 ---- v1 [br0] v2 ---- eth0 to
func bridged(t testing.TB) (frameBed, *stack) {
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

// frames runs a trial, and again where others had the CPUs for much of its window.
func (b frameBed) frames(t testing.TB, address string, load result.Options, when traffic.Schedule) (sent, got result.PairEnd) {
	t.Helper()
	for try := 1; ; try++ {
		sent, got = b.trial(t, address, load, when)
		starved := sent.Packets == 0 || sent.WindowSeconds < 0.7*when.Window.Seconds()
		if !starved || try == 5 {
			break
		}
		t.Logf("again: a window of %.3f s, %d frames, waited for a CPU for %.3f s", sent.WindowSeconds, sent.Packets, sent.Offered.WaitSeconds)
	}
	if sent.Error != "" || got.Error != "" {
		t.Errorf("sender %q, receiver %q", sent.Error, got.Error)
	}
	return sent, got
}

func (b frameBed) trial(t testing.TB, address string, load result.Options, when traffic.Schedule) (sent, got result.PairEnd) {
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
	if sent.Offered == nil || got.Arrived == nil {
		t.Fatalf("sender %q, receiver %q", sent.Error, got.Error)
	}
	t.Logf("%s -> %s: sent %d of %g bytes, %.3f Mpps (%d refused), got %d, lost %d, %+v", sent.Offered.Method, got.Frames.CountedAt,
		sent.Packets, sent.Frames.Size, float64(sent.Packets)/sent.WindowSeconds/1e6, sent.Offered.Refused, got.Packets, got.Arrived.Lost, *got.Arrived)
	return sent, got
}

func (b frameBed) prepare(t testing.TB, at *stack, order traffic.Order) (w traffic.Worker) {
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
func exact(t testing.TB, sent, got result.PairEnd) {
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
		"a mix of sizes":         {"10.0.0.2", result.Options{"size": "imix", "flows": 12, "packets": 100000.0}},
		"af-packet, a mix":       {"10.0.0.2", result.Options{"size": "imix", "method": "af-packet", "sink": "af-packet"}},
		"paced, 800 bytes":       {"10.0.0.2", result.Options{"sink": "auto", "size": 800, "packets": 100000.0}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			sent, got := direct(t).frames(t, c.address, c.load, briefly)
			exact(t, sent, got)
			if sent.Packets == 0 || sent.Bytes != uint64(math.Round(float64(sent.Packets)*sent.Frames.Size)) {
				t.Errorf("%d frames of %g bytes are not %d bytes", sent.Packets, sent.Frames.Size, sent.Bytes)
			}
			if most := sent.BusiestSeconds; (sent.Threads > 1) != (most > 0) || most > sent.CPUSeconds {
				t.Errorf("of %d threads that used %g s the busiest used %g s", sent.Threads, sent.CPUSeconds, most)
			}
			// A sender tells the mean, a receiver what came: they differ by what lacks of a round of a mix.
			if differ := math.Abs(float64(sent.Bytes) - float64(got.Bytes)); differ > 2*1518 {
				t.Errorf("%d bytes sent, %d counted", sent.Bytes, got.Bytes)
			}
		})
	}
}

// TestFrameRate keeps 10,000 frames a second by both methods.
func TestFrameRate(t *testing.T) { measured(t, testFrameRate) }

func testFrameRate(t *attempt) {
	needsRoot(t)
	for _, method := range []string{"xdp", "af-packet"} {
		t.Run(method, func(t *attempt) {
			when := traffic.Schedule{WarmUp: 100 * time.Millisecond, Window: time.Second}
			sent, got := direct(t).frames(t, "10.0.0.2", result.Options{"packets": 10000.0, "method": method, "flows": 10}, when)
			exact(t, sent, got)
			// While others had its CPU, a thread sent nothing, and catches up by a burst only.
			waited := sent.Offered.WaitSeconds / sent.WindowSeconds
			if lag := sent.Offered.Lag; lag == nil || lag.Count+1 < sent.Packets || lag.Count > sent.Packets+1 {
				t.Errorf("%d frames sent, the lag is of %+v", sent.Packets, lag)
			}
			if rate := float64(sent.Packets) / sent.WindowSeconds; rate > 10100 || rate < 9900-10000*waited {
				t.Errorf("%.1f frames/s, waited %.3f of the time", rate, waited)
			}
		})
	}
}

// TestFramesThroughABridge: live frames enter where GRO is on at the host's ends, and
// where it is off, the sender finds out and says so.
func TestFramesThroughABridge(t *testing.T) {
	needsRoot(t)
	load := result.Options{"packets": 20000.0, "flows": 64}
	t.Run("GRO on", func(t *testing.T) {
		bed, host := bridged(t)
		host.run("ethtool -K v1 gro on")
		sent, got := bed.frames(t, "10.0.0.2", load, briefly)
		exact(t, sent, got)
		if sent.Offered.Method != "xdp-live-frames" || got.Arrived.Method != "xdp" {
			t.Errorf("sent by %s (%s), counted at %s", sent.Offered.Method, sent.Offered.Why, got.Arrived.Method)
		}
	})
	t.Run("GRO off", func(t *testing.T) {
		bed, _ := bridged(t)
		sent, got := bed.frames(t, "10.0.0.2", load, briefly)
		exact(t, sent, got)
		if o := sent.Offered; o.Method != "af-packet" || !strings.Contains(o.Why, "GRO on") || !strings.Contains(o.Why, "another namespace") {
			t.Errorf("sent by %s, because %q", o.Method, o.Why)
		}
	})
}

// TestFramesOpenAPeer: the other end of the sender's veth is in its own namespace,
// so that it can be let take live frames, without a setting that would stay after a kill by force.
func TestFramesOpenAPeer(t *testing.T) {
	needsRoot(t)
	bed := frameBed{newStack(t), newStack(t)}
	here := bed.from
	here.run("ip link add br0 type bridge", "ip link add eth0 type veth peer name v1", "ip link set v1 master br0",
		"ethtool -K v1 gro off", "ip link set v1 addrgenmode none up", "ip link set eth0 up", "ip link set br0 up")
	here.pairTo("v2", bed.to, "eth0")
	here.run("ip link set v2 master br0")
	bed.address()
	const settings = "ethtool -k v1; ip link show v1"
	before := here.output(settings)
	sent, got := bed.frames(t, "10.0.0.2", result.Options{"packets": 20000.0}, briefly)
	exact(t, sent, got)
	if o := sent.Offered; o.Method != "xdp-live-frames" || !strings.Contains(o.Why, "has a program at its XDP") {
		t.Errorf("sent by %s, because %q", o.Method, o.Why)
	}
	if now := here.output(settings); now != before || !strings.Contains(now, "generic-receive-offload: off") {
		t.Errorf("the peer is not as it was:\n%s\nbefore:\n%s", now, before)
	}
}

func (s *stack) output(line string) string {
	var out []byte
	s.do(func() { out, _ = exec.Command("sh", "-c", line).CombinedOutput() })
	return string(out)
}

// atIngress runs a program at the ingress of an interface until the test ends.
func (s *stack) atIngress(device string, instructions asm.Instructions) {
	s.t.Helper()
	var err error
	s.do(func() { err = s.attach(device, instructions) })
	if err != nil {
		s.t.Skip("skip: no program at tc on this kernel: ", err)
	}
}

func (s *stack) attach(device string, instructions asm.Instructions) error {
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SchedCLS, Instructions: instructions, License: "GPL"})
	if err != nil {
		return err
	}
	defer program.Close() // the link holds it
	at, err := net.InterfaceByName(device)
	if err != nil {
		return err
	}
	l, err := link.AttachTCX(link.TCXOptions{Interface: at.Index, Program: program, Attach: ebpf.AttachTCXIngress})
	if err == nil {
		s.t.Cleanup(func() { l.Close() })
	}
	return err
}

// lose drops every n-th packet of so many bytes, exactly. It runs on one CPU at a time.
func lose(t testing.TB, n int32, length int32) asm.Instructions {
	counter, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { counter.Close() })
	return slices.Concat(asm.Instructions{
		asm.LoadMem(asm.R2, asm.R1, 0, asm.Word), // skb->len
		asm.JNE.Imm(asm.R2, length, "pass"),
	}, wire.AddOne(counter, "pass"), asm.Instructions{
		asm.Mod.Imm(asm.R1, n),
		asm.JNE.Imm(asm.R1, 0, "pass"),
		asm.Mov.Imm(asm.R0, 2), // TC_ACT_SHOT
		asm.Return(),
		asm.Mov.Imm(asm.R0, -1).WithSymbol("pass"), // TC_ACT_UNSPEC
		asm.Return(),
	})
}

// TestFramesLost: what is lost on the way is told to the frame.
func TestFramesLost(t *testing.T) {
	needsRoot(t)
	const each = 10
	for name, load := range map[string]result.Options{
		"one flow":    {"packets": 20000.0},
		"1,000 flows": {"packets": 20000.0, "flows": 1000},
		"af-packet":   {"packets": 20000.0, "flows": 3, "method": "af-packet", "sink": "af-packet"},
	} {
		t.Run(name, func(t *testing.T) {
			bed, host := bridged(t)
			host.run("ethtool -K v1 gro on")
			host.atIngress("v1", lose(t, each, 60)) // 64 with FCS
			sent, got := bed.frames(t, "10.0.0.2", load, briefly)
			a := got.Arrived
			if a.Expected != sent.Packets || got.Packets+a.Lost != sent.Packets {
				t.Errorf("sent %d, got %d: %+v", sent.Packets, got.Packets, *a)
			}
			if least := sent.Packets / each; a.Lost < least || a.Lost > least+1 {
				t.Errorf("lost %d of %d, every %dth", a.Lost, sent.Packets, each)
			}
			if a.Reordered+a.Duplicate+a.Late+a.Corrupt != 0 {
				t.Errorf("nothing else happened: %+v", *a)
			}
		})
	}
}

// TestFramesBehindXDP: a path that puts frames into the container behind its XDP
// hook (bpf_redirect_peer) is seen at tc, each frame once.
func TestFramesBehindXDP(t *testing.T) {
	needsRoot(t)
	bed, host := bridged(t)
	host.run("ethtool -K v1 gro on")
	for from, to := range map[string]string{"v1": "v2", "v2": "v1"} {
		host.atIngress(from, asm.Instructions{
			asm.Mov.Imm(asm.R1, int32(host.index(to))),
			asm.Mov.Imm(asm.R2, 0),
			asm.FnRedirectPeer.Call(),
			asm.Return(),
		})
	}
	sent, got := bed.frames(t, "10.0.0.2", result.Options{"packets": 20000.0, "flows": 10}, briefly)
	exact(t, sent, got)
	if got.Arrived.Method != "tc" || got.Frames.CountedAt != "tc eth0" || !strings.Contains(got.Arrived.Why, "behind") {
		t.Errorf("counted at %s, because %q", got.Frames.CountedAt, got.Arrived.Why)
	}
}

func (s *stack) index(device string) (index int) {
	s.t.Helper()
	var err error
	s.do(func() {
		var at *net.Interface
		if at, err = net.InterfaceByName(device); err == nil {
			index = at.Index
		}
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return index
}

// TestFramesOfEverySize: RFC 2544's sizes, and where the MTU is beyond a page: small ones, which leave and are counted as those
// are, and a jumbo frame, which is no live one.
func TestFramesOfEverySize(t *testing.T) {
	needsRoot(t)
	bed := direct(t)
	for _, size := range []int{64, 65, 128, 512, 1280, 1518} {
		sent, got := bed.frames(t, "10.0.0.2", result.Options{"size": size, "packets": 20000.0}, briefly)
		exact(t, sent, got)
		if got.Frames.Size != float64(size) || got.Frames.WireSize != float64(size)+20 || got.Bytes != got.Packets*uint64(size) {
			t.Errorf("%+v, %d bytes", *got.Frames, got.Bytes)
		}
	}
	for _, s := range []*stack{bed.from, bed.to} {
		s.run("ip link set eth0 mtu 9000")
	}
	for size, method := range map[int]string{64: "xdp-live-frames", 3000: "xdp-live-frames", 9018: "af-packet"} {
		sent, got := bed.frames(t, "10.0.0.2", result.Options{"size": size, "packets": 5000.0}, briefly)
		exact(t, sent, got)
		if o := sent.Offered; o.Method != method || strings.Contains(o.Why, "within a page") != (method == "af-packet") || got.Arrived.Method != "xdp" || got.Arrived.Why != "" {
			t.Errorf("%d bytes: sent by %s, because %q; counted at %s, because %q", size, o.Method, o.Why, got.Arrived.Method, got.Arrived.Why)
		}
	}
}

// TestFramesOverMacvlan: devices without XDP send by AF_PACKET and count at tc.
func TestFramesOverMacvlan(t *testing.T) {
	needsRoot(t)
	bed, host := frameBed{newStack(t), newStack(t)}, newStack(t)
	host.pairTo("v0", newStack(t), "far")
	for _, s := range []*stack{bed.from, bed.to} {
		host.run(fmt.Sprintf("ip link add link v0 name eth0 netns %d type macvlan mode bridge", s.tid))
		s.run("ip link set eth0 addrgenmode none up")
	}
	bed.address()
	sent, got := bed.frames(t, "10.0.0.2", result.Options{"packets": 10000.0, "flows": 10}, briefly)
	exact(t, sent, got)
	if sent.Offered.Method != "af-packet" || !strings.Contains(sent.Offered.Why, "macvlan") || got.Arrived.Method != "tc" {
		t.Errorf("sent by %s, because %q; counted at %s", sent.Offered.Method, sent.Offered.Why, got.Arrived.Method)
	}
}

// asChild names, in the environment, the address on which a test's child counts.
const asChild = "FRAME_TEST_CHILD"

// TestFramesOfTwoSessions: two at once between the same interfaces count their own.
func TestFramesOfTwoSessions(t *testing.T) {
	needsRoot(t)
	bed := direct(t)
	load := result.Options{"packets": 10000.0, "flows": 5}
	when := briefly
	var workers []traffic.Worker
	for range 2 {
		receive := bed.prepare(t, bed.to, traffic.Order{Role: traffic.Receive, Load: load, Address: "10.0.0.2"})
		send := bed.prepare(t, bed.from, traffic.Order{Role: traffic.Send, Load: load, Address: receive.Address()})
		workers = append(workers, receive, send)
	}
	when.Start = time.Now().Add(150 * time.Millisecond)
	ends := make([]result.PairEnd, len(workers))
	var all sync.WaitGroup
	for i, w := range workers {
		all.Go(func() {
			var err error
			if ends[i], err = w.Run(t.Context(), when); err != nil || ends[i].Error != "" {
				t.Errorf("worker %d: %v, %s", i, err, ends[i].Error)
			}
		})
	}
	all.Wait()
	for i := 0; i < len(ends); i += 2 {
		if got, sent := ends[i], ends[i+1]; sent.Offered != nil && got.Arrived != nil {
			exact(t, sent, got)
		}
	}
	if a := ends[2].Arrived; a == nil || a.Method != "tc" || !strings.Contains(a.Why, "another program is attached") {
		t.Errorf("the second session found XDP taken: %+v", a)
	}
}

//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"windtunnel/traffic/iperf3"
)

// peersOfIperf3 are the programs to test against: Debian's always, a newer one
// where it is on the PATH.
var peersOfIperf3 = []string{"iperf3", "iperf3-3.21"}

func eachIperf3(t *testing.T, test func(t *testing.T, program string)) {
	for _, name := range peersOfIperf3 {
		t.Run(name, func(t *testing.T) {
			program, err := exec.LookPath(name)
			if err != nil {
				t.Skipf("%s is not on the PATH", name)
			}
			test(t, program)
		})
	}
}

// iperf3Case is one test in both forms.
type iperf3Case struct {
	name  string
	flags string
	set   func(*iperf3.Options)
	least uint64 // bytes that must come
}

// iperf3Cases last a second or two each.
var iperf3Cases = []iperf3Case{
	{"tcp", "-t 1 -C reno", func(o *iperf3.Options) { o.Congestion = "reno" }, 1 << 20},
	{"tcp reverse", "-t 1 -R -C reno", func(o *iperf3.Options) { o.Reverse, o.Congestion = true, "reno" }, 1 << 20},
	{"tcp bidirectional", "-t 1 --bidir -C cubic", func(o *iperf3.Options) { o.Bidirectional, o.Congestion = true, "cubic" }, 1 << 20},
	{"tcp 4 streams", "-t 1 -P 4", func(o *iperf3.Options) { o.Parallel = 4 }, 1 << 20},
	{"tcp 4 streams bidirectional", "-t 1 -P 4 --bidir", func(o *iperf3.Options) { o.Parallel, o.Bidirectional = 4, true }, 1 << 20},
	{"tcp 64 streams", "-t 1 -P 64", func(o *iperf3.Options) { o.Parallel = 64 }, 1 << 20},
	{"tcp omit", "-t 1 -O 1", func(o *iperf3.Options) { o.Omit = time.Second }, 1 << 20},
	{"tcp bytes", "-n 20M", func(o *iperf3.Options) { o.Bytes, o.Duration = 20<<20, 0 }, 0},
	{"tcp bytes reverse", "-n 20M -R", func(o *iperf3.Options) { o.Bytes, o.Duration, o.Reverse = 20<<20, 0, true }, 20 << 20},
	{"tcp bytes in no whole blocks", "-n 1000000", func(o *iperf3.Options) { o.Bytes, o.Duration = 1_000_000, 0 }, 0},
	{"tcp bytes in no whole blocks, reverse", "-n 1000000 -R", func(o *iperf3.Options) { o.Bytes, o.Duration, o.Reverse = 1_000_000, 0, true }, 1_000_000},
	{"tcp blocks", "-k 100", func(o *iperf3.Options) { o.Blocks, o.Duration = 100, 0 }, 0},
	{"tcp small and at once", "-t 1 -l 1390 -N", func(o *iperf3.Options) { o.Length, o.NoDelay = 1390, true }, 1 << 20},
	{"tcp zero copy", "-t 1 -Z", func(o *iperf3.Options) { o.ZeroCopy = true }, 1 << 20},
	{"tcp paced, marked, small window and segment", "-t 1 -b 50M -S 16 -w 200K -M 1000", func(o *iperf3.Options) {
		o.BitsPerSecond, o.TOS, o.Window, o.MSS = 50e6, 16, 200<<10, 1000
	}, 5 << 20},
	{"tcp slow", "-t 1 -b 1M", func(o *iperf3.Options) { o.BitsPerSecond = 1e6 }, 128 << 10},
	{"tcp slow reverse", "-t 1 -b 1M -R", func(o *iperf3.Options) { o.BitsPerSecond, o.Reverse = 1e6, true }, 128 << 10},
	{"tcp bursts", "-t 1 -b 1M/3 -l 10K", func(o *iperf3.Options) { o.BitsPerSecond, o.Burst, o.Length = 1e6, 3, 10<<10 }, 100 << 10},
	{"udp bursts", "-u -b 10M/20 -t 1", func(o *iperf3.Options) { o.Protocol, o.BitsPerSecond, o.Burst = iperf3.UDP, 10e6, 20 }, 1 << 20},
	{"udp", "-u -b 50M -t 1", func(o *iperf3.Options) { o.Protocol, o.BitsPerSecond = iperf3.UDP, 50e6 }, 5 << 20},
	{"udp reverse", "-u -b 50M -t 1 -R", func(o *iperf3.Options) { o.Protocol, o.BitsPerSecond, o.Reverse = iperf3.UDP, 50e6, true }, 5 << 20},
	{"udp bidirectional", "-u -b 20M -t 1 --bidir", func(o *iperf3.Options) { o.Protocol, o.BitsPerSecond, o.Bidirectional = iperf3.UDP, 20e6, true }, 2 << 20},
	{"udp 4 streams", "-u -b 10M -t 1 -P 4", func(o *iperf3.Options) { o.Protocol, o.BitsPerSecond, o.Parallel = iperf3.UDP, 10e6, 4 }, 4 << 20},
	{"udp 64 streams", "-u -b 1M -t 1 -P 64", func(o *iperf3.Options) { o.Protocol, o.BitsPerSecond, o.Parallel = iperf3.UDP, 1e6, 64 }, 6 << 20},
	{"udp 64 bit counters", "-u -b 50M -t 1 --udp-counters-64bit", func(o *iperf3.Options) {
		o.Protocol, o.BitsPerSecond, o.Counters64Bit = iperf3.UDP, 50e6, true
	}, 5 << 20},
	{"udp 64 bit counters reverse", "-u -b 50M -t 1 --udp-counters-64bit -R", func(o *iperf3.Options) {
		o.Protocol, o.BitsPerSecond, o.Counters64Bit, o.Reverse = iperf3.UDP, 50e6, true, true
	}, 5 << 20},
	{"udp omit", "-u -b 50M -t 1 -O 1", func(o *iperf3.Options) { o.Protocol, o.BitsPerSecond, o.Omit = iperf3.UDP, 50e6, time.Second }, 5 << 20},
	{"udp bytes", "-u -b 50M -n 2M -l 1000", func(o *iperf3.Options) {
		o.Protocol, o.BitsPerSecond, o.Bytes, o.Duration, o.Length = iperf3.UDP, 50e6, 2<<20, 0, 1000
	}, 2 << 20},
	{"udp blocks", "-u -b 50M -k 1000 -l 1000", func(o *iperf3.Options) {
		o.Protocol, o.BitsPerSecond, o.Blocks, o.Duration, o.Length = iperf3.UDP, 50e6, 1000, 0, 1000
	}, 1000 * 1000},
}

// seen is an Observer that keeps the last of everything.
type seen struct {
	mu        sync.Mutex
	start     iperf3.Start
	intervals int
	end       *iperf3.End
	failed    error
	over      chan struct{}
	once      sync.Once
}

func newSeen() *seen { return &seen{over: make(chan struct{})} }

func (s *seen) Connected(v iperf3.Start) { s.mu.Lock(); s.start = v; s.mu.Unlock() }
func (s *seen) Interval(iperf3.Interval) { s.mu.Lock(); s.intervals++; s.mu.Unlock() }
func (s *seen) Failed(err error)         { s.mu.Lock(); s.failed = err; s.mu.Unlock(); s.finish() }
func (s *seen) finish()                  { s.once.Do(func() { close(s.over) }) }
func (s *seen) Ended(e iperf3.End) {
	s.mu.Lock()
	s.end = &e
	s.mu.Unlock()
	if !e.Partial {
		s.finish()
	}
}

// result waits for a test's end.
func (s *seen) result(t testing.TB) iperf3.End {
	t.Helper()
	select {
	case <-s.over:
	case <-time.After(20 * time.Second):
		t.Fatal("the test did not end")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		t.Fatal(s.failed)
	}
	return *s.end
}

// ourIperf3 is our server on loopback; sessions come out of the channel.
func ourIperf3(t testing.TB, o iperf3.ServerOptions) (port string, sessions <-chan *seen) {
	t.Helper()
	all := make(chan *seen, 256)
	ready := make(chan string, 1)
	o.Port = -1
	o.Ready = func(address string) { ready <- address }
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- iperf3.Serve(ctx, o, func(uint64, string) iperf3.Observer { s := newSeen(); all <- s; return s })
	}()
	t.Cleanup(func() { cancel(); <-ended })
	_, port, _ = net.SplitHostPort(<-ready)
	return port, all
}

// iperf3JSON is what the tests read of iperf3's own report.
type iperf3JSON struct {
	Error string `json:"error"`
	Start struct {
		Connected []struct{} `json:"connected"`
	} `json:"start"`
	Intervals []struct{} `json:"intervals"`
	End       struct {
		Streams []struct {
			Sender, Receiver struct {
				Bytes       uint64 `json:"bytes"`
				Retransmits *int64 `json:"retransmits"`
				Sender      bool   `json:"sender"`
			}
			UDP *struct {
				Bytes   uint64  `json:"bytes"`
				Packets int64   `json:"packets"`
				Lost    int64   `json:"lost_packets"`
				Jitter  float64 `json:"jitter_ms"`
				Sender  bool    `json:"sender"`
			} `json:"udp"`
		} `json:"streams"`
	} `json:"end"`
}

func decodeIperf3(t testing.TB, out []byte) iperf3JSON {
	t.Helper()
	var v iperf3JSON
	if err := json.Unmarshal(out, &v); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return v
}

// theirClient runs iperf3 as a client.
func theirClient(t testing.TB, program, host, port, flags string, env ...string) iperf3JSON {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
	defer cancel()
	args := append([]string{"-c", host, "-p", port, "-J", "-i", "0.5"}, strings.Fields(flags)...)
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("iperf3 %v: %v\n%s", args, err, out)
	}
	return decodeIperf3(t, out)
}

// iperf3Figures are one stream's, as both sides tell them.
type iperf3Figures struct {
	sent, received uint64
	packets, lost  int64
	jitter         float64 // ms; rounded on its way
}

func (a iperf3Figures) same(b iperf3Figures) bool {
	return a.sent == b.sent && a.received == b.received && a.packets == b.packets && a.lost == b.lost && math.Abs(a.jitter-b.jitter) < 1e-3
}

// agreeWithIperf3 wants iperf3's report and ours to hold the same figures of each stream.
func agreeWithIperf3(t testing.TB, theirs iperf3JSON, ours iperf3.End, least uint64) {
	t.Helper()
	if theirs.Error != "" {
		t.Fatal(theirs.Error)
	}
	if len(theirs.End.Streams) != len(ours.Streams) || ours.Partial {
		t.Fatalf("%d streams there, %d here, partial %v", len(theirs.End.Streams), len(ours.Streams), ours.Partial)
	}
	var came uint64
	left := []iperf3Figures{} // iperf3 groups a bidirectional test's streams otherwise
	for _, s := range theirs.End.Streams {
		if s.UDP != nil {
			left = append(left, iperf3Figures{sent: s.UDP.Bytes, packets: s.UDP.Packets, lost: s.UDP.Lost, jitter: s.UDP.Jitter})
			continue
		}
		left = append(left, iperf3Figures{sent: s.Sender.Bytes, received: s.Receiver.Bytes})
	}
	for _, s := range ours.Streams {
		came += s.Received.Bytes
		mine := iperf3Figures{sent: s.Sent.Bytes, received: s.Received.Bytes}
		if s.UDP != nil {
			mine = iperf3Figures{sent: s.Sent.Bytes, packets: s.UDP.SentPackets, lost: s.UDP.Lost, jitter: s.UDP.JitterSeconds * 1000}
		}
		at := slices.IndexFunc(left, mine.same)
		if at < 0 {
			t.Errorf("stream %d: here %+v; there are left %+v", s.ID, mine, left)
			continue
		}
		left = slices.Delete(left, at, at+1)
	}
	if came < least {
		t.Errorf("%d bytes came; want at least %d", came, least)
	}
}

func TestIperf3AsClient(t *testing.T) {
	besideOthers(t)
	eachIperf3(t, func(t *testing.T, program string) {
		port, sessions := ourIperf3(t, iperf3.ServerOptions{Interval: 500 * time.Millisecond})
		for _, c := range iperf3Cases {
			t.Run(c.name, func(t *testing.T) {
				theirs := theirClient(t, program, "127.0.0.1", port, c.flags)
				agreeWithIperf3(t, theirs, (<-sessions).result(t), c.least)
			})
		}
		t.Run("IPv6", func(t *testing.T) {
			agreeWithIperf3(t, theirClient(t, program, "::1", port, "-6 -t 1"), (<-sessions).result(t), 1<<20)
			agreeWithIperf3(t, theirClient(t, program, "::1", port, "-6 -t 1 -u -b 10M"), (<-sessions).result(t), 1<<20)
		})
	})
}

// theirServer runs iperf3 as a server for one test; its report comes from wait.
func theirServer(t testing.TB, program string, flags ...string) (port int, wait func() iperf3JSON) {
	t.Helper()
	port = freePort(t)
	var out bytes.Buffer
	cmd := exec.Command(program, append([]string{"-s", "-1", "-J", "-i", "0.5", "-p", strconv.Itoa(port)}, flags...)...)
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { cmd.Process.Kill() })
	awaitListener(t, port)
	return port, func() iperf3JSON {
		select {
		case <-ended:
		case <-time.After(15 * time.Second):
			t.Fatal("iperf3 -s did not end")
		}
		return decodeIperf3(t, out.Bytes())
	}
}

// firstOwnPort and ownPorts are below the ports that connections get (net.ipv4.ip_local_port_range, from 32768 on), and above those of
// ntttcpPort: under Wine a server takes more than a second to begin, and cannot listen where another test's connection came meanwhile.
const (
	firstOwnPort = 31_100
	ownPorts     = 1_600
)

// portsGiven is how many ports tests were given, from a place that no other run has.
var portsGiven atomic.Uint32

func init() { portsGiven.Store(rand.Uint32N(ownPorts)) }

// freePort is a port that nobody has.
func freePort(t testing.TB) int {
	t.Helper()
	for range ownPorts {
		port := firstOwnPort + int(portsGiven.Add(1)%ownPorts)
		if portFree(t, port) {
			return port
		}
	}
	t.Fatal("no port is free")
	return 0
}

// portFree does not listen, because a process that another test starts has the socket, too, until it has become its program:
// awaitListener then took it for the server's.
func portFree(t testing.TB, port int) bool {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := errors.Join(
		unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 0),
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1), // nor is it in the server's way meanwhile
	); err != nil {
		t.Fatal(err)
	}
	err = unix.Bind(fd, &unix.SockaddrInet6{Port: port})
	if err != nil && err != unix.EADDRINUSE {
		t.Fatal(err)
	}
	return err == nil
}

// awaitListener looks at the kernel's table instead of connecting, which would be
// the server's one test. It asks as this thread: /proc/net is the first thread's,
// which another test may have left in a namespace that is gone.
func awaitListener(t testing.TB, port int) {
	t.Helper()
	want := fmt.Sprintf(":%04X", port)
	for limit := time.Now().Add(10 * time.Second); time.Now().Before(limit); time.Sleep(5 * time.Millisecond) {
		for _, table := range []string{"/proc/thread-self/net/tcp", "/proc/thread-self/net/tcp6"} {
			text, _ := os.ReadFile(table)
			for line := range strings.Lines(string(text)) {
				if f := strings.Fields(line); len(f) > 3 && f[3] == "0A" /* listens */ && strings.HasSuffix(f[1], want) {
					return
				}
			}
		}
	}
	t.Fatalf("nobody listens on port %d", port)
}

func TestIperf3AsServer(t *testing.T) {
	besideOthers(t)
	eachIperf3(t, func(t *testing.T, program string) {
		cases := append([]iperf3Case{{"IPv6", "", func(o *iperf3.Options) { o.Host, o.Family = "::1", 6 }, 1 << 20},
			{"IPv6 udp", "", func(o *iperf3.Options) { o.Host, o.Protocol, o.BitsPerSecond = "::1", iperf3.UDP, 20e6 }, 1 << 20}}, iperf3Cases...)
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				port, wait := theirServer(t, program)
				o := iperf3.Options{Host: "127.0.0.1", Port: port, Duration: time.Second, Interval: 500 * time.Millisecond}
				c.set(&o)
				ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
				defer cancel()
				mine := newSeen()
				if err := iperf3.Run(ctx, o, mine); err != nil {
					t.Fatal(err)
				}
				ours, theirs := mine.result(t), wait()
				agreeWithServer(t, theirs, ours, mine.start.Test.Length)
			})
		}
	})
}

// agreeWithServer compares what a server of iperf3 knows: its report is made
// before the client's results come, so it holds its own side's figures alone.
func agreeWithServer(t testing.TB, theirs iperf3JSON, ours iperf3.End, length int) {
	t.Helper()
	if theirs.Error != "" || ours.Partial || len(theirs.End.Streams) != len(ours.Streams) {
		t.Fatalf("%d streams there, %d here, %q", len(theirs.End.Streams), len(ours.Streams), theirs.Error)
	}
	left := map[uint64]int{}
	for _, s := range theirs.End.Streams {
		left[s.Sender.Bytes]++
		left[s.Receiver.Bytes]++
		if s.UDP != nil {
			left[s.UDP.Bytes]++
		}
	}
	for _, s := range ours.Streams {
		there := s.Received.Bytes // we sent: the server received
		if !s.Sender {
			there = s.Sent.Bytes
		} else if s.UDP != nil {
			continue // the server shows what was sent, which it does not know
		}
		shown, found := nearest(left, there)
		if there == 0 || !found || shown != there && (s.Sender || shown > there || there-shown > maxRaced) {
			t.Errorf("stream %d: the server is said to have %d bytes; it shows %v", s.ID, there, left)
		}
		left[shown]--
		if s.UDP == nil {
			continue
		}
		// A sender of theirs since 3.16 may be between counting a packet and its bytes.
		if whole := uint64(s.UDP.SentPackets) * uint64(length); s.Sent.Bytes != whole && (s.Sender || whole-s.Sent.Bytes != uint64(length)) {
			t.Errorf("stream %d: %d bytes in %d packets", s.ID, s.Sent.Bytes, s.UDP.SentPackets)
		}
	}
}

// maxRaced is what a server of iperf3 since 3.16 may send between its report and
// its results: its senders are threads that it does not wait for.
const maxRaced = 1 << 20

// nearest is the figure that is still left and closest.
func nearest(left map[uint64]int, to uint64) (at uint64, found bool) {
	apart := func(v uint64) uint64 { return max(v, to) - min(v, to) }
	for v, n := range left {
		if n > 0 && (!found || apart(v) < apart(at)) {
			at, found = v, true
		}
	}
	return at, found
}

// TestIperf3ManyClients lets many of their clients test at once.
func TestIperf3ManyClients(t *testing.T) {
	eachIperf3(t, func(t *testing.T, program string) {
		port, sessions := ourIperf3(t, iperf3.ServerOptions{})
		var all sync.WaitGroup
		for i := range 64 {
			flags := "-t 3 -b 2M"
			if i%2 == 1 {
				flags += " -u"
			}
			all.Go(func() {
				report := theirClient(t, program, "127.0.0.1", port, flags)
				if len(report.End.Streams) != 1 {
					t.Errorf("%d streams", len(report.End.Streams))
				}
			})
		}
		all.Wait()
		for range 64 {
			var came uint64
			for _, s := range (<-sessions).result(t).Streams {
				came += s.Received.Bytes
			}
			if came < 6e5 || came > 1e6 {
				t.Errorf("%d bytes came of 6 Mbit", came)
			}
		}
	})
}

// TestIperf3Interrupted ends tests in every way but the regular one.
func TestIperf3Interrupted(t *testing.T) {
	eachIperf3(t, func(t *testing.T, program string) {
		for _, c := range []struct {
			name   string
			signal os.Signal
			want   error
		}{{"killed", os.Kill, iperf3.ErrControlClosed}, {"Ctrl-C", os.Interrupt, iperf3.ErrClientTerminated}} {
			t.Run("their client "+c.name, func(t *testing.T) {
				port, sessions := ourIperf3(t, iperf3.ServerOptions{Interval: 100 * time.Millisecond})
				cmd := exec.Command(program, "-c", "127.0.0.1", "-p", port, "-t", "30", "-u", "-b", "10M", "--bidir")
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				s := <-sessions
				s.awaitInterval(t)
				cmd.Process.Signal(c.signal)
				cmd.Wait()
				if err := s.refusal(t); !errors.Is(err, c.want) {
					t.Errorf("%v; want %v", err, c.want)
				}
				agreeWithIperf3(t, theirClient(t, program, "127.0.0.1", port, "-n 1M"), (<-sessions).result(t), 0)
			})
		}
		t.Run("our server", func(t *testing.T) { endOurServer(t, program) })
		t.Run("our client", func(t *testing.T) { interruptOurs(t, program) })
	})
}

// awaitInterval waits until traffic has run for an interval.
func (s *seen) awaitInterval(t testing.TB) {
	t.Helper()
	for limit := time.Now().Add(20 * time.Second); time.Now().Before(limit); time.Sleep(time.Millisecond) {
		s.mu.Lock()
		n := s.intervals
		s.mu.Unlock()
		if n > 0 {
			return
		}
	}
	t.Fatal("no traffic ran")
}

// endOurServer wants their client to say that the server went, with its figures.
func endOurServer(t testing.TB, program string) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ready, ended, all := make(chan string, 1), make(chan error, 1), make(chan *seen, 1)
	o := iperf3.ServerOptions{Port: -1, Interval: 100 * time.Millisecond, Ready: func(a string) { ready <- a }}
	go func() {
		ended <- iperf3.Serve(ctx, o, func(uint64, string) iperf3.Observer { s := newSeen(); all <- s; return s })
	}()
	_, port, _ := net.SplitHostPort(<-ready)
	var out bytes.Buffer
	cmd := exec.Command(program, "-c", "127.0.0.1", "-p", port, "-t", "30", "-J")
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	(<-all).awaitInterval(t)
	cancel()
	cmd.Wait()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if report := decodeIperf3(t, out.Bytes()); report.Error != "the server has terminated" || len(report.End.Streams) != 1 || report.End.Streams[0].Sender.Bytes == 0 {
		t.Errorf("their client: %q, %+v", report.Error, report.End)
	}
}

// interruptOurs meets a busy server, and leaves one in the middle of a test.
func interruptOurs(t testing.TB, program string) {
	port, wait := theirServer(t, program)
	o := iperf3.Options{Host: "127.0.0.1", Port: port, Duration: 30 * time.Second, Interval: 100 * time.Millisecond}
	ctx, cancel := context.WithCancel(context.Background())
	mine, ended := newSeen(), make(chan error, 1)
	go func() { ended <- iperf3.Run(ctx, o, mine) }()
	mine.awaitInterval(t)
	if err := iperf3.Run(context.Background(), o, newSeen()); !errors.Is(err, iperf3.ErrAccessDenied) {
		t.Errorf("a busy server: %v", err)
	}
	cancel()
	if err := <-ended; !errors.Is(err, iperf3.ErrInterrupted) || mine.end == nil || mine.end.Streams[0].Sent.Bytes == 0 {
		t.Errorf("our client: %v, %+v", err, mine.end)
	}
	if report := wait(); report.Error != "the client has terminated" {
		t.Errorf("their server: %q", report.Error)
	}
}

// TestIperf3ServerOutput asks their server for what it prints, and for what only
// some versions can do.
func TestIperf3ServerOutput(t *testing.T) {
	eachIperf3(t, func(t *testing.T, program string) {
		port, wait := theirServer(t, program)
		o := iperf3.Options{Host: "127.0.0.1", Port: port, Bytes: 1 << 20, GetServerOutput: true, Title: "a title", ExtraData: "more"}
		mine := newSeen()
		if err := iperf3.Run(context.Background(), o, mine); err != nil {
			t.Fatal(err)
		}
		if e := mine.result(t); !json.Valid(e.ServerOutputJSON) || !bytes.Contains(e.ServerOutputJSON, []byte(`"test_start"`)) {
			t.Errorf("%s", e.ServerOutputJSON)
		}
		wait()
	})
}

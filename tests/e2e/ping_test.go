//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"windtunnel/result"
)

// background starts a program in the namespace and ends it with the test.
func (s *stack) background(args ...string) {
	s.t.Helper()
	cmd := exec.Command(filepath.Join(bin, "windtunnel"), args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	var err error
	s.do(func() { err = cmd.Start() })
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if s.t.Failed() {
			s.t.Logf("windtunnel %s: %s", strings.Join(args, " "), said.String())
		}
	})
	limit := time.Now().Add(10 * time.Second)
	for {
		var out []byte
		s.do(func() { out, _ = exec.Command("ss", "-Hltn").Output() })
		if bytes.Contains(out, []byte(":5210 ")) {
			return
		}
		if time.Now().After(limit) {
			s.t.Fatalf("windtunnel %s does not listen: %s", strings.Join(args, " "), said.String())
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// ping runs one `windtunnel ping` in the namespace and returns the pair's result.
func (s *stack) ping(args ...string) (pair result.PairSample) {
	s.t.Helper()
	args = append([]string{"ping", "--json", "--no-calibrate", "--warmup", "200ms", "--interval", "0s"}, args...)
	cmd := exec.Command(filepath.Join(bin, "windtunnel"), args...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	var err error
	s.do(func() { err = cmd.Start() })
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		s.t.Fatalf("windtunnel %s: %v\n%s%s", strings.Join(args, " "), err, out.String(), said.String())
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	var last struct{ Pair result.PairSample }
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil {
		s.t.Fatalf("the last line is no result: %v\n%s", err, out.String())
	}
	return last.Pair
}

func TestPingCrossesAWire(t *testing.T) {
	needsRoot(t)
	cases := map[string][]string{
		"closed TCP":       {"10.0.0.2"},
		"closed UDP":       {"10.0.0.2", "--protocol", "udp"},
		"open TCP, IPv6":   {"fd00::2", "--rate", "1000/s"},
		"open UDP, IPv6":   {"fd00::2", "--protocol", "udp", "--rate", "1000/s"},
		"many UDP flows":   {"10.0.0.2", "--protocol", "udp", "--rate", "5000/s", "--flows", "50", "--threads", "2", "--arrivals", "poisson"},
		"many TCP flows":   {"10.0.0.2", "--flows", "50", "--message", "1000B", "--response", "10000B"},
		"busy polling UDP": {"10.0.0.2", "--protocol", "udp", "--poll", "busy"},
	}
	for name, args := range cases {
		t.Run(name, func(t *testing.T) {
			b := direct(t)
			b.to.background("recv", "--only", "native", "--once")
			pair := b.from.ping(append(args, "--time", "1s")...)
			s, r := pair.Sender, pair.Receiver
			if s.Error+r.Error != "" || s.Packets == 0 || r.Packets == 0 || s.Arrived.Lost+s.Arrived.Late+s.Arrived.Corrupt+s.Arrived.Duplicate != 0 {
				t.Fatalf("sender %+v, receiver %+v", s, r)
			}
			actual := s.Latencies[result.LatencyActual]
			t.Logf("%d transactions, median %.1f us, p99 %.1f us from the actual time", s.Packets, 1e6*actual.P50, 1e6*actual.P99)
			if actual.Count != s.Packets {
				t.Errorf("%d latencies of %d transactions", actual.Count, s.Packets)
			}
			if strings.Contains(name, "open") && s.Packets != 1000 {
				t.Errorf("%d transactions at 1000/s in 1 s", s.Packets)
			}
		})
	}
}

// TestPingCountsWhatACutCosts takes the receiver's link down for 100 ms and more,
// because bringing it up takes its time.
func TestPingCountsWhatACutCosts(t *testing.T) { measured(t, testPingCountsWhatACutCosts) }

func testPingCountsWhatACutCosts(t *attempt) {
	needsRoot(t)
	b, host := bridged(t)
	b.to.background("recv", "--only", "native", "--once")
	var cut sync.WaitGroup
	defer cut.Wait()
	over := make(chan struct{})
	defer close(over)
	cut.Go(func() {
		// When a window begins is up to who has the CPUs. The warm-up has 200 requests.
		for host.received("v2") < 400 {
			select {
			case <-over:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
		if said := host.output("ip link set v2 down && sleep 0.1 && ip link set v2 up"); said != "" {
			t.Errorf("the cut: %s", said)
		}
	})
	s := b.from.ping("10.0.0.2", "--protocol", "udp", "--rate", "1000/s", "--time", "2s", "--wait", "300ms").Sender
	if s.Arrived.Expected != 2000 || s.Packets+s.Arrived.Lost+s.Arrived.Late != 2000 || s.Arrived.Lost < 50 || s.Packets < 50 {
		t.Errorf("100 ms without a link at 1000/s: %d answered, %+v", s.Packets, s.Arrived)
	}
}

// received is how many packets have come in by a device of the namespace, 0 where it is not known.
func (s *stack) received(device string) (packets int) {
	_, counts, _ := strings.Cut(s.output("cat /proc/net/dev"), device+":")
	var bytes int
	_, _ = fmt.Sscan(counts, &bytes, &packets)
	return packets
}

// TestPingBesideALoad is latency under load: a stream fills the wire, and the probe's
// tail is not that of an idle one.
func TestPingBesideALoad(t *testing.T) { measured(t, testPingBesideALoad) }

func testPingBesideALoad(t *attempt) {
	needsRoot(t)
	b := direct(t)
	b.from.run("tc qdisc add dev eth0 root tbf rate 100mbit burst 32kb limit 500kb")
	b.to.background("recv", "--only", "native")
	idle := b.from.ping("10.0.0.2", "--rate", "500/s", "--time", "1s").Sender.Latencies[result.LatencyIntended]
	load := exec.Command(filepath.Join(bin, "windtunnel"), "send", "10.0.0.2", "--streams", "4", "--time", "3s", "--json", "--no-calibrate")
	var err error
	b.from.do(func() { err = load.Start() })
	if err != nil {
		t.Fatal(err)
	}
	b.from.awaitBacklog("eth0")
	loaded := b.from.ping("10.0.0.2", "--rate", "500/s", "--time", "1s").Sender.Latencies[result.LatencyIntended]
	if err := load.Wait(); err != nil {
		t.Error("the load:", err)
	}
	says := fmt.Sprintf("median idle %.2f ms, under load %.2f ms", 1e3*idle.P50, 1e3*loaded.P50)
	t.Log(says)
	// 500 kB before the bottleneck are 40 ms; TCP lets one stream queue a third of that (tcp_small_queue_check).
	if loaded.P50 < 4*idle.P50 || loaded.P50 < 0.02 {
		t.Error("a full queue before the bottleneck does not show:", says)
	}
}

// backlog is what tc tells of a queue that holds 100 kB.
var backlog = regexp.MustCompile(`backlog ([0-9]{6,}|[0-9]{3,}K)b`)

// awaitBacklog returns when a device's queue holds 100 kB: the load has begun.
func (s *stack) awaitBacklog(device string) {
	s.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if backlog.MatchString(s.output("tc -s qdisc show dev " + device)) {
			return
		}
	}
	s.t.Fatal("nothing queues before the bottleneck: ", s.output("tc -s qdisc show dev "+device))
}

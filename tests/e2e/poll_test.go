//go:build e2e

package e2e

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"windtunnel/result"
)

// pollSuite has one cell in poll mode: two endpoints at vhost-user sockets of one node's vRouter, and
// frames both ways at once.
const pollSuite = `
suite: poll-mode
asks: What does poll mode carry?
nodes: {a: {}}
traffic: {kind: frame, size: 64B, flows: 100}
cells:
  P:
    says: poll mode
    path: {kind: vrouter, mode: poll, encapsulation: none}
    pairs:
      - {from: {container: one, on: a}, to: {container: two, on: a}}
      - {from: {container: two, on: a}, to: {container: one, on: a}}
`

// hugeLimit is the one setting of the host that poll mode's endpoints need.
const hugeLimit = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_overcommit_hugepages"

// needsPollMode builds what runs on DPDK, beside windtunnel, and returns a suite's file.
func needsPollMode(t testing.TB) string {
	t.Helper()
	needsRoot(t)
	const cannotBuild = 77
	text, err := exec.Command("bash", "../../scripts/poll.sh").CombinedOutput()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == cannotBuild {
		t.Skip("not measured here: " + strings.TrimSpace(string(text)))
	}
	if err != nil {
		t.Fatalf("building poll mode: %v\n%s", err, text)
	}
	return pollSuiteFile(t)
}

func pollSuiteFile(t testing.TB) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "poll.yaml")
	if err := os.WriteFile(file, []byte(pollSuite), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func hugePages(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile(hugeLimit)
	if err != nil {
		t.Log(err) // a kernel without: then none are used
	}
	return string(text)
}

// TestPollModeIsMeasured: both directions, each with its rate, and their sum; what was lost has a name.
func TestPollModeIsMeasured(t *testing.T) { measured(t, testPollModeIsMeasured) }

func testPollModeIsMeasured(t *attempt) {
	suite, before := needsPollMode(t), hugePages(t)
	o := untilMeasured(t, []string{"P"}, "run", suite, "--window", "1s", "--json")
	var r struct {
		Cells map[string]struct {
			Status, Reason string
			Packets        struct {
				Received figure `json:"received_per_second"`
			}
			Pairs []struct {
				Received figure `json:"received_bits_per_second"`
			}
		}
	}
	if err := json.Unmarshal([]byte(o.out), &r); err != nil {
		t.Fatalf("exit code %d, %v\n%s%s", o.code, err, o.out, o.err)
	}
	cell := r.Cells["P"]
	if cell.Status != "measured" || mean(cell.Packets.Received) < 1e4 || len(cell.Pairs) != 2 {
		t.Fatalf("%+v\n%s", cell, o.err)
	}
	sum := 0.0
	for _, pair := range cell.Pairs {
		sum += mean(pair.Received) / (8 * 64)
	}
	if packets := mean(cell.Packets.Received); sum < 0.99*packets || sum > 1.01*packets {
		t.Errorf("the two directions have %.0f packets a second, and their sum %.0f", sum, packets)
	}
	if after := hugePages(t); after != before {
		t.Errorf("the limit of huge pages is %q, and was %q", after, before)
	}
}

// TestPacketsPerSecondSuite: a part of nfv-pps has both directions, what a packet took of the core that
// forwards alone, and shares of a line whose ceiling is that of the encapsulation.
func TestPacketsPerSecondSuite(t *testing.T) { measured(t, testPacketsPerSecondSuite) }

func testPacketsPerSecondSuite(t *attempt) {
	needsPollMode(t)
	if runtime.NumCPU() < 2 {
		t.Skip("not measured here: the suite needs 2 CPUs")
	}
	// Latencies take at most a fifth of the budget, and are left out where it is too short for all of them.
	o := windtunnel(t, 90*time.Second, "run", "nfv-pps", "--cells", "64B-poll-mplsoudp,64B-xdp-mplsoudp,imix-poll-vxlan,smartnic-10g", "--budget", "30s", "--json")
	var r struct {
		Cells map[string]struct {
			Status, Reason string
			Latency        struct{ At result.SearchLatency } `json:"latency_at"`
			Packets        struct {
				Received figure `json:"received_per_second"`
				Sent     figure `json:"sent_per_second"`
				Line     struct {
					Received map[string]figure `json:"received_per_second"`
					Cycles   figure            `json:"cycles_per_packet"`
					Ceiling  figure            `json:"ceiling_10g_per_second"`
					Share    figure            `json:"share_10g_percent"`
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(o.out), &r); err != nil {
		t.Fatalf("exit code %d, %v\n%s%s", o.code, err, o.out, o.err)
	}
	for name, ceiling := range map[string]float64{"64B-poll-mplsoudp": 10.78e6, "64B-xdp-mplsoudp": 10.78e6, "imix-poll-vxlan": 2.949e6} {
		cell := r.Cells[name]
		line := cell.Packets.Line
		sum := mean(line.Received["near to far"]) + mean(line.Received["far to near"])
		if cell.Status != "measured" || len(line.Received) != 2 || math.Abs(sum/mean(cell.Packets.Received)-1) > 0.01 {
			t.Fatalf("%s: %+v\n%s", name, cell, o.err)
		}
		if at := cell.Latency.At; at.Share != 0.5 || !(at.Seconds["p50"].Mean > 0) && !strings.Contains(at.Reason, "budget ended") || math.Abs(at.Load/mean(cell.Packets.Received)-0.5) > 0.01 {
			t.Errorf("%s: the latency at half the rate is %+v", name, at)
		}
		if mean(cell.Packets.Received) < mean(cell.Packets.Sent)/2 {
			t.Errorf("%s: of %.0f frames a second %.0f are counted: does the sink get its time?", name, mean(cell.Packets.Sent), mean(cell.Packets.Received))
		}
		if math.Abs(mean(line.Ceiling)/ceiling-1) > 0.001 || math.Abs(mean(line.Share)/(50*sum/ceiling)-1) > 0.01 || mean(line.Cycles) < 10 {
			t.Errorf("%s: %+v, want a ceiling of %g", name, line, ceiling)
		}
	}
	if nic := r.Cells["smartnic-10g"]; nic.Status != "skipped" || !strings.Contains(nic.Reason, "smartnic") {
		t.Errorf("the SmartNIC's cell: %+v", nic)
	}
}

// TestPollModeDiesWithItsAgent: a kill -9 of everybody who could end it or put a setting back.
func TestPollModeDiesWithItsAgent(t *testing.T) {
	suite, before := needsPollMode(t), hugePages(t)
	cmd := exec.Command(filepath.Join(bin, "windtunnel"), "run", suite, "--budget", "10s", "--out", filepath.Join(t.TempDir(), "run"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	wait := func(what string, done func() bool) {
		for deadline := time.Now().Add(20 * time.Second); !done(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal(what)
			}
		}
	}
	polling := func() int { return len(find("bin/frame-poll ")) + len(find("bin/vrouter-poll ")) }
	wait("poll mode does not start", func() bool { return polling() == 2 })
	if before != "" && hugePages(t) == before {
		t.Errorf("the limit of huge pages was not raised: %q", before)
	}
	for _, pid := range append(find("bin/windtunnel agent"), cmd.Process.Pid) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	<-ended
	wait("poll mode goes on", func() bool { return polling() == 0 })
	clean(t)
	if after := hugePages(t); after != before {
		t.Errorf("the limit of huge pages is %q, and was %q", after, before)
	}
}

// TestPollModeIsNotHere: without its programs, a cell is not measured, and it is said what to do.
func TestPollModeIsNotHere(t *testing.T) {
	needsRoot(t)
	dir := t.TempDir()
	for _, program := range []string{"windtunnel", "vrouter"} {
		if err := os.Link(filepath.Join(bin, program), filepath.Join(dir, program)); err != nil {
			t.Skipf("not tried here: %v", err) // a folder on another disk
		}
	}
	run := exec.Command(filepath.Join(dir, "windtunnel"), "run", pollSuiteFile(t), "--budget", "5s", "--out", filepath.Join(dir, "run"))
	run.Env = append(os.Environ(), "PATH=/usr/bin:/bin")
	text, err := run.CombinedOutput()
	if err == nil || !strings.Contains(strings.Join(strings.Fields(string(text)), " "), "needs the program vrouter-poll: build it with `make poll`") {
		t.Errorf("%v\n%s", err, text)
	}
}

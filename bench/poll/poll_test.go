package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"windtunnel/agent"
	"windtunnel/bench"
)

// TestRatiosHaveTheirCells: every cell that a ratio names is one, of whole frames.
func TestRatiosHaveTheirCells(t *testing.T) {
	all, err := cells(settings{routes: fewRoutes})
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, c := range all {
		names[c.name] = true
		if len(c.frames.template) != frameSize || c.frames.at < offsetTo || c.frames.count < 1 {
			t.Errorf("%s: frames of %d bytes that differ at %d, %d of them", c.name, len(c.frames.template), c.frames.at, c.frames.count)
		}
	}
	goals, costs := ratios(settings{routes: fewRoutes})
	for _, r := range append(goals, costs...) {
		if !names[r.over] || !names[r.under] {
			t.Errorf("%s: there is no cell %s or %s", r.what, r.over, r.under)
		}
	}
}

// TestFlowsDiffer: as many flows as are asked for, none of which goes to a tunnel's port.
func TestFlowsDiffer(t *testing.T) {
	seen := map[uint32]bool{}
	for i := range uint32(manyFlows) {
		ports := uint32(0x7041)&^flowMask | i*flowStep&flowMask
		if to := ports & 0xffff; to == 6635 || to == 4789 {
			t.Fatalf("flow %d goes to port %d", i, to)
		}
		seen[ports] = true
	}
	if len(seen) != manyFlows {
		t.Errorf("%d flows", len(seen))
	}
}

// TestPagesAfterAKill: the limit of huge pages is put back at the end, and by `windtunnel clean` or the next lease after
// this process was killed. None are reserved.
func TestPagesAfterAKill(t *testing.T) {
	root, folder := t.TempDir(), t.TempDir()
	limit := filepath.Join(folder, "nr_overcommit_hugepages")
	for name, text := range map[string]string{"nr_overcommit_hugepages": "5\n", "surplus_hugepages": "3\n"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	has := func(want string) {
		t.Helper()
		if text, err := os.ReadFile(limit); err != nil || strings.TrimSpace(string(text)) != want {
			t.Errorf("%q, %v; want %s", text, err, want)
		}
	}
	lease, err := agent.Acquire(root, "test")
	if err != nil {
		t.Fatal(err)
	}
	if err := allowPages(lease, folder, 64); err != nil {
		t.Fatal(err)
	}
	has("35")
	if err := lease.Release(); err != nil {
		t.Error(err)
	}
	has("5")

	killed := exec.Command(os.Args[0])
	killed.Env = append(os.Environ(), killedEnv+"="+root+":"+folder)
	out, err := killed.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "allowed\n" {
		t.Fatalf("%q, %v", line, err)
	}
	has("35")
	_ = killed.Process.Kill()
	_ = killed.Wait() // it was killed
	has("35")
	if said, err := agent.Clean(root); err != nil || len(said) != 2 {
		t.Errorf("%q, %v", said, err)
	}
	has("5")
}

// killedEnv lets this program take a lease and allow for pages, and then wait to be killed.
const killedEnv = "BENCH_POLL_KILLED"

func TestMain(m *testing.M) {
	if root, folder, is := strings.Cut(os.Getenv(killedEnv), ":"); is {
		lease, err := agent.Acquire(root, "test")
		if err == nil {
			err = allowPages(lease, folder, 64)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println("allowed")
		time.Sleep(time.Minute)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// TestSample: the sender's answer and the device's account make a sample, or say why not.
func TestSample(t *testing.T) {
	d := &device{name: "one"}
	s, err := sample{}.of(d, reading{busy: 2000, packets: 10, at: 4000}, "ok 20 16 2000000000")
	if err != nil || s != (sample{cycles: 200, busy: 0.5, rate: 8, sent: 10}) {
		t.Errorf("%+v, %v", s, err)
	}
	for answer, says := range map[string]string{"error: it is not understood": "answers", "ok 20 0 1": "no frame came through"} {
		if _, err := (sample{}).of(d, reading{packets: 1}, answer); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", answer, err)
		}
	}
}

// TestMissing: a ratio of a peer that is not here says why, and others are measured.
func TestMissing(t *testing.T) {
	goals, _ := ratios(settings{routes: fewRoutes})
	samples := map[string]sample{"bare": {cycles: 200, rate: 10}, "mpls": {cycles: 250, rate: 8}}
	with, without := newCompared(goals[0]), newCompared(goals[1])
	for range 9 {
		for _, c := range []compared{with, without} {
			c.add(samples, map[string]string{"testpmd": "needs dpdk-testpmd"})
		}
	}
	if e := with.cycles.Estimate(); e.Estimate != 0.8 || with.cycles.Verdict() != bench.Holds {
		t.Errorf("%s", with.cycles.Row())
	}
	if without.rate.Verdict() != bench.None || !strings.Contains(without.cycles.Row(), "needs dpdk-testpmd") {
		t.Errorf("%s", without.cycles.Row())
	}
}

// TestStages: cycles are of the packets whose rounds were timed, medians, and what tells none has no row.
func TestStages(t *testing.T) {
	s := spent{}
	for _, cycles := range []uint64{10, 30, 20} {
		s.add("bare", sample{cycles: 200, stages: stages{cycles: [4]uint64{10 * cycles, 20, 30, 40}, timed: 10}})
	}
	s.add("ovs", sample{cycles: 300})
	text := s.text([]cell{{name: "bare"}, {name: "ovs"}})
	if !strings.Contains(text, "| bare | 200 | 20 | 2 | 3 | 4 |\n") || strings.Contains(text, "ovs") {
		t.Error(text)
	}
}

// TestDisturbedTrials: a trial in which others had a CPU is made anew, and given up if that goes on; what else is wrong is told
// at once.
func TestDisturbedTrials(t *testing.T) {
	others := disturbance(time.Second, map[string]time.Duration{"one": 99 * time.Millisecond, "two": 300 * time.Millisecond})
	if !errors.Is(others, errDisturbed) || !strings.Contains(others.Error(), "two waited for its own 30 % of the window") {
		t.Errorf("%v", others)
	}
	if err := disturbance(time.Second, map[string]time.Duration{"one": 99 * time.Millisecond}); err != nil {
		t.Error(err)
	}
	tries := 0
	s, err := undisturbed(func() (sample, error) {
		if tries++; tries < 3 {
			return sample{}, others
		}
		return sample{rate: 7}, nil
	})
	if err != nil || s.rate != 7 || tries != 3 {
		t.Errorf("%+v after %d tries, %v", s, tries, err)
	}
	if _, err := undisturbed(func() (sample, error) { return sample{}, others }); !errors.Is(err, errDisturbed) || !strings.Contains(err.Error(), "each of 5 trials") {
		t.Errorf("%v", err)
	}
	tries = 0
	if _, err := undisturbed(func() (sample, error) { tries++; return sample{}, os.ErrClosed }); err == nil || tries != 1 {
		t.Errorf("%d tries, %v", tries, err)
	}
	c := newCompared(ratio{over: "a", under: "b"})
	c.add(map[string]sample{"a": {cycles: 1}}, nil)
	if c.end(); len(c.rate.Ours) != 0 || !strings.Contains(c.cycles.Row(), "others had the CPUs") {
		t.Error(c.cycles.Row())
	}
}

// TestWaited: the times of all threads of all processes.
func TestWaited(t *testing.T) {
	proc := t.TempDir()
	for file, text := range map[string]string{"7/task/7": "1 2000 3\n", "7/task/8": "1 40 3\n", "9/task/9": "5 600000 1\n", "10/task/10": "9 9 9\n"} {
		if err := os.MkdirAll(filepath.Join(proc, file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(proc, file, "schedstat"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if sum := waited(proc, []int{7, 9, 11}); sum != 602040 {
		t.Errorf("%d ns", sum)
	}
}

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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

// TestReservePages: what there was is put back; too few are an error that says so, and leaves nothing.
func TestReservePages(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "nr_hugepages")
	has := func(want string) {
		t.Helper()
		if text, err := os.ReadFile(file); err != nil || strings.TrimSpace(string(text)) != want {
			t.Errorf("%q, %v; want %s", text, err, want)
		}
	}
	if err := os.WriteFile(file, []byte("5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	back, err := reservePages(dir, 64)
	if err != nil {
		t.Fatal(err)
	}
	has("37")
	if err := back(); err != nil {
		t.Error(err)
	}
	has("5")
	if _, err := reservePages(filepath.Join(dir, "none"), 64); err == nil {
		t.Error("huge pages of a machine that has none")
	}
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

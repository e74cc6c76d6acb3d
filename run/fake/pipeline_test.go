package fake_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"windtunnel/datapath"
	"windtunnel/result"
	"windtunnel/run"
	"windtunnel/run/fake"
	"windtunnel/stats"
	"windtunnel/testbed"
)

// records is a Writer that keeps what it is given.
type records struct {
	run       result.Run
	cells     []result.Cell
	searches  []result.Search
	trials    []result.Trial
	latencies []result.LatencyAt
	profiles  []result.Profile
	equal     []result.EqualRate
	end       result.End
	full      int   // trials after which the disk is full; 0: never
	broken    error // as result.Writer's, for what comes after that
}

func (r *records) Run(h result.Run) error       { r.run = h; return nil }
func (r *records) Cell(c result.Cell) error     { r.cells = append(r.cells, c); return nil }
func (r *records) Search(s result.Search) error { r.searches = append(r.searches, s); return nil }
func (r *records) Profile(p result.Profile) error {
	r.profiles = append(r.profiles, p)
	return nil
}

func (r *records) EqualRate(e result.EqualRate) error {
	r.equal = append(r.equal, e)
	return nil
}
func (r *records) Latency(l result.LatencyAt) error { r.latencies = append(r.latencies, l); return nil }
func (r *records) End(e result.End) error           { r.end = e; return r.broken }
func (r *records) Trial(t result.Trial) error {
	if r.full > 0 && len(r.trials) >= r.full {
		r.broken = fmt.Errorf("no space left on device")
		return r.broken
	}
	r.trials = append(r.trials, t)
	return nil
}

// silent is a Progress that keeps the last estimate of every ratio.
type silent struct{ ratios map[string]stats.Estimate }

func (silent) Building(string)                        {}
func (silent) Trial(result.Trial, int, time.Duration) {}
func (silent) Say(string)                             {}
func (s silent) Ratio(r result.Ratio, e stats.Estimate) {
	if s.ratios != nil {
		s.ratios[r.Name()] = e
	}
}

func plan(seed uint64, budget time.Duration, precision float64, ratios []result.Ratio, cells ...string) run.Plan {
	p := run.Plan{Seed: seed, Ratios: ratios, Times: result.Plan{BudgetSeconds: budget.Seconds(), Precision: precision,
		WarmupSeconds: 0.2, WindowSeconds: 1, MinimumBlocks: stats.MinimumBlocks, BlocksPlanned: 12},
		Nodes: []result.RunNode{{Name: "a", CPUs: []int{0}}, {Name: "b", CPUs: []int{1}}}}
	for _, name := range cells {
		p.Cells = append(p.Cells, run.PlannedCell{
			Record: result.Cell{Name: name, Path: "wire", Traffic: "stream",
				Pairs: []result.Pair{{From: result.Place{Node: "a"}, To: result.Place{Node: "b"}}}},
			Laid: datapath.Laid{Graph: testbed.Graph{Cell: name, Nodes: []testbed.Node{{Name: "a"}, {Name: "b"}}},
				Addresses: map[string]string{"a": "192.0.2.1", "b": "192.0.2.2"}},
		})
	}
	return p
}

func conduct(m *fake.Machine, p run.Plan, out *records, show run.Progress) (result.End, error) {
	c := run.Conductor{Plan: p, Nodes: m.Nodes("a", "b"), Clock: m, Out: out, Progress: show}
	return c.Run(context.Background())
}

var over = []result.Ratio{{Metric: result.ReceivedRate, Over: "B", Under: "A"}}

func TestARunStopsAtItsPrecision(t *testing.T) {
	m := fake.New(1, map[string]fake.Truth{"A": {BitsPerSecond: 10e9}, "B": {BitsPerSecond: 5e9}}, fake.Noise{Trial: 0.005})
	out := &records{}
	end, err := conduct(m, plan(1, time.Hour, 0.05, over, "A", "B"), out, silent{})
	if err != nil || end.Why != run.EndPrecision || end.Blocks < stats.MinimumBlocks || end.Blocks > 8 {
		t.Errorf("%+v, %v", end, err)
	}
	if len(out.cells) != 2 || len(out.trials) != 2*end.Blocks || out.end != end {
		t.Errorf("%d cells, %d trials, end %+v", len(out.cells), len(out.trials), out.end)
	}
}

func TestARunStopsAtItsBudget(t *testing.T) {
	m := fake.New(2, nil, fake.Noise{Trial: 0.3})
	out := &records{}
	end, err := conduct(m, plan(2, 30*time.Second, 0.001, over, "A", "B"), out, silent{})
	if err != nil || end.Why != run.EndBudget {
		t.Errorf("%+v, %v", end, err)
	}
	if end.ElapsedSeconds > 30 {
		t.Errorf("it took %.1f s of virtual time", end.ElapsedSeconds)
	}
}

// TestTheLeastBlocksMayGoOver needs 12.3 s of trials for five blocks and has 12.1.
func TestTheLeastBlocksMayGoOver(t *testing.T) {
	out := &records{}
	end, err := conduct(fake.New(2, nil, fake.Noise{Trial: 0.3}), plan(2, 13100*time.Millisecond, 0.001, over, "A", "B"), out, silent{})
	if err != nil || end.Why != run.EndBudget || end.Blocks != stats.MinimumBlocks {
		t.Errorf("%+v, %v", end, err)
	}
}

func TestTheOrderIsRandomAndRepeatable(t *testing.T) {
	order := func(seed uint64) string {
		out := &records{}
		if _, err := conduct(fake.New(1, nil, fake.Noise{}), plan(seed, time.Minute, 0.0001, nil, "A", "B", "C", "D"), out, silent{}); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, trial := range out.trials {
			names = append(names, trial.Cell)
		}
		return strings.Join(names, "")
	}
	first, again := order(7), order(7)
	if first != again {
		t.Error("the same seed gave another order")
	}
	if first == order(8) {
		t.Error("another seed gave the same order")
	}
}

func TestSpoiledTrialsAreMarkedAndRepeated(t *testing.T) {
	m := fake.New(3, nil, fake.Noise{Steal: 0.2, WorkerDeath: 0.1, Trial: 0.02})
	out := &records{}
	end, err := conduct(m, plan(3, 2*time.Minute, 0.0001, over, "A", "B"), out, silent{})
	if err != nil {
		t.Fatal(err)
	}
	excluded, good := map[string]int{}, map[int]int{}
	for _, trial := range out.trials {
		if trial.Excluded != "" {
			excluded[trial.Excluded]++
		} else {
			good[trial.Block]++
		}
	}
	if len(excluded) != 2 {
		t.Errorf("the reasons were %v", excluded)
	}
	whole := 0
	for _, n := range good {
		if n == 2 {
			whole++
		}
	}
	if whole < end.Blocks*9/10 {
		t.Errorf("only %d of %d blocks have both cells", whole, end.Blocks)
	}
}

func TestACellThatCannotBeBuiltDoesNotEndTheSuite(t *testing.T) {
	m := fake.New(4, map[string]fake.Truth{"B": {BuildFails: "no such device"}, "C": {MTUFails: true}}, fake.Noise{})
	out := &records{}
	end, err := conduct(m, plan(4, 20*time.Second, 0.05, over, "A", "B", "C"), out, silent{})
	if err != nil || end.Blocks == 0 {
		t.Errorf("%+v, %v", end, err)
	}
	for _, cell := range out.cells {
		if failed := cell.Failed != ""; failed != (cell.Name != "A") {
			t.Errorf("cell %s: failed %q", cell.Name, cell.Failed)
		}
	}
	if beside := m.Beside(); !slices.Equal(beside, []string{"A"}) {
		t.Errorf("%v stand while A is measured", beside)
	}
}

// TestOneCellStandsAtATime where cells need the same interfaces: each stands for its trials alone, also
// one that was mended, and those that could not be built do not come back.
func TestOneCellStandsAtATime(t *testing.T) {
	m := fake.New(4, map[string]fake.Truth{"B": {BreaksAfter: 3}, "C": {BuildFails: "no such device"}}, fake.Noise{})
	out := &records{}
	p := plan(4, 30*time.Second, 0.0001, over, "A", "B", "C")
	p.OneAtATime, p.Times.RebuildSeconds = true, 0.5
	end, err := conduct(m, p, out, silent{})
	if err != nil || end.Blocks < 5 || end.Blocks > 10 {
		t.Errorf("%+v, %v", end, err)
	}
	if most := m.MostBeside(); most != 1 {
		t.Errorf("%d cells stood at once", most)
	}
	spoiled := 0
	for _, trial := range out.trials {
		if trial.Excluded != "" {
			spoiled++
		}
	}
	if spoiled > 1 {
		t.Errorf("%d trials do not count", spoiled)
	}
}

func TestABrokenTestbedIsRebuilt(t *testing.T) {
	m := fake.New(8, map[string]fake.Truth{"B": {BreaksAfter: 3}}, fake.Noise{Trial: 0.05})
	out := &records{}
	end, err := conduct(m, plan(8, 30*time.Second, 0.0001, over, "A", "B"), out, silent{})
	if err != nil || end.Why != run.EndBudget {
		t.Fatalf("%+v, %v", end, err)
	}
	spoiled := 0
	for _, trial := range out.trials {
		if trial.Excluded != "" {
			spoiled++
		}
	}
	if spoiled != 1 || end.Blocks < 8 {
		t.Errorf("%d trials do not count, %d blocks are whole", spoiled, end.Blocks)
	}
}

func TestATestbedThatStaysBrokenIsLeftOut(t *testing.T) {
	m := fake.New(9, map[string]fake.Truth{"B": {BreaksAfter: 3, StaysBroken: true}}, fake.Noise{})
	out := &records{}
	end, err := conduct(m, plan(9, 30*time.Second, 0.0001, over, "A", "B"), out, silent{})
	if err != nil || end.Why != run.EndBudget || end.Blocks != 2 {
		t.Fatalf("%+v, %v", end, err)
	}
	counted := map[string]int{}
	for _, trial := range out.trials {
		if trial.Excluded == "" {
			counted[trial.Cell]++
		}
	}
	if counted["B"] != 2 || counted["A"] < 15 {
		t.Errorf("trials that count: %v", counted)
	}
	if beside := m.Beside(); !slices.Equal(beside, []string{"A"}) {
		t.Errorf("%v stand while A is measured", beside)
	}
}

// TestABrokenCellsRatioDoesNotKeepTheRun: nothing more will be known of it, and the other one is.
func TestABrokenCellsRatioDoesNotKeepTheRun(t *testing.T) {
	truths := map[string]fake.Truth{"B": {BreaksAfter: 3, StaysBroken: true, Noise: 0.3}}
	ratios := append(slices.Clone(over), result.Ratio{Metric: result.ReceivedRate, Over: "C", Under: "A"})
	out := &records{}
	end, err := conduct(fake.New(9, truths, fake.Noise{Trial: 0.001}), plan(9, time.Minute, 0.05, ratios, "A", "B", "C"), out, silent{})
	if err != nil || end.Why != run.EndPrecision || end.ElapsedSeconds > 30 {
		t.Fatalf("%+v, %v", end, err)
	}
}

func TestADeadNodeEndsTheRunAndKeepsItsTrials(t *testing.T) {
	m := fake.New(5, nil, fake.Noise{})
	m.NodeDiesAfter = 6
	out := &records{}
	end, err := conduct(m, plan(5, time.Minute, 0.0001, over, "A", "B"), out, silent{})
	if err == nil || end.Why != run.EndFailed || !strings.Contains(end.Error, "node b") {
		t.Errorf("%+v, %v", end, err)
	}
	if len(out.trials) < 6 || out.end.Why != run.EndFailed {
		t.Errorf("%d trials, end %+v", len(out.trials), out.end)
	}
}

func TestAFullDiskEndsTheRun(t *testing.T) {
	out := &records{full: 5}
	end, err := conduct(fake.New(6, nil, fake.Noise{}), plan(6, time.Minute, 0.0001, over, "A", "B"), out, silent{})
	if err == nil || end.Why != run.EndFailed || strings.Count(err.Error(), "no space left") != 1 {
		t.Errorf("%+v, %v", end, err)
	}
}

func TestAnInterruptedRunIsNoFailure(t *testing.T) {
	m := fake.New(7, nil, fake.Noise{})
	ctx, cancel := context.WithCancel(context.Background())
	out := &records{}
	c := run.Conductor{Plan: plan(7, time.Hour, 0.0001, over, "A", "B"), Nodes: m.Nodes("a", "b"), Clock: m, Out: out,
		Progress: interrupt{after: 4, cancel: cancel, seen: new(int)}}
	end, err := c.Run(ctx)
	if err != nil || end.Why != run.EndInterrupted || len(out.trials) != 4 {
		t.Errorf("%+v, %v, %d trials", end, err, len(out.trials))
	}
}

type interrupt struct {
	silent
	after  int
	seen   *int
	cancel context.CancelFunc
}

func (i interrupt) Trial(result.Trial, int, time.Duration) {
	if *i.seen++; *i.seen == i.after {
		i.cancel()
	}
}

// TestEveryKindOfLoadIsJudgedAndMeasured takes a cell of each kind, and one with
// a load beside it, from the plan to the records.
func TestEveryKindOfLoadIsJudgedAndMeasured(t *testing.T) {
	p := plan(10, time.Minute, 0.05, nil, "stream", "datagram", "frame", "ping", "beside")
	for i := range p.Cells {
		if record := &p.Cells[i].Record; record.Name == "beside" {
			record.Beside = "ping"
		} else {
			record.Traffic = record.Name
		}
	}
	m := fake.New(10, map[string]fake.Truth{
		"datagram": {Loss: 0.1, Calibrated: 1e6}, "frame": {Calibrated: 1e5},
	}, fake.Noise{})
	out, remembered := &records{}, memory{}
	c := run.Conductor{Plan: p, Nodes: m.Nodes("a", "b"), Clock: m, Out: out, Progress: silent{}, Known: remembered}
	if _, err := c.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, trial := range out.trials {
		pair := trial.Pairs[0]
		if trial.Excluded != "" || pair.Limit == nil {
			t.Fatalf("%+v", trial)
		}
		cell, _ := result.FindCell(out.cells, trial.Cell)
		for _, want := range kindFigures[trial.Cell] {
			if v, err := cell.Value(trial, want.metric); err != nil || v < want.low || v > want.high {
				t.Errorf("%s of %s is %v, %v", want.metric, trial.Cell, v, err)
			}
		}
		if o := pair.Sender.Offered; trial.Cell == "frame" && (o == nil || o.CalibratedPerSecond != 1e5) {
			t.Errorf("the generator of %s is not known: %+v", trial.Cell, o)
		}
	}
	if len(remembered) != 2 {
		t.Errorf("%d generators are remembered: %v", len(remembered), remembered)
	}
}

var kindFigures = map[string][]struct {
	metric    result.Metric
	low, high float64
}{
	"stream":   {{result.ReceivedRate, 0.99e9, 1.01e9}},
	"datagram": {{result.Loss, 9.9, 10.1}, {result.ReceivedPacketRate, 80e3, 81e3}, {result.SentPacketRate, 89e3, 90e3}},
	"frame":    {{result.Loss, 0, 0}, {result.TogetherPacketCost, 1e3, 1e5}},
	"ping":     {{result.Latency(result.LatencyIntended, "p50"), 49e-6, 51e-6}, {result.TransactionRate, 89e3, 90e3}},
	"beside":   {{result.BesideLatency("p99"), 98e-6, 100e-6}, {result.ReceivedRate, 0.99e9, 1.01e9}},
}

// memory is Calibrations without a file.
type memory map[string]float64

func (m memory) Get(key string) (float64, bool)          { v, ok := m[key]; return v, ok }
func (m memory) Put(key string, perSecond float64) error { m[key] = perSecond; return nil }

package fake_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"windtunnel/result"
	"windtunnel/run/fake"
)

// searching is a run of two cells of datagrams, each searched up to 1 Mpps of 1400 bytes.
func searching(m *fake.Machine, budget time.Duration) (*records, result.End, error) {
	return searchingUpTo(m, budget, 1e6)
}

// searchingUpTo is the same up to another rate; 0: what generators reach.
func searchingUpTo(m *fake.Machine, budget time.Duration, most float64) (*records, result.End, error) {
	p := plan(1, budget, 0.05, over, "A", "B")
	for i := range p.Cells {
		c := &p.Cells[i].Record
		c.Traffic, c.Load = "datagram", result.Options{"message": int64(1400)}
		c.Find = &result.Find{Losses: []float64{0, 0.005}, Method: result.MethodMLR, Unit: result.PacketsPerSecond, Max: most, BudgetSeconds: 60}
	}
	p.Loads = map[string][]result.Option{"ping": {{Name: "protocol", Type: result.Word}, {Name: "rate", Type: result.PacketRate}}}
	out := &records{}
	end, err := conduct(m, p, out, silent{})
	return out, end, err
}

// packets is how many of 1400 bytes a rate is.
func packets(bitsPerSecond float64) float64 { return bitsPerSecond / 8 / 1400 }

func TestCellsAreSearchedAndMeasuredAtTheirRates(t *testing.T) {
	m := fake.New(1, map[string]fake.Truth{"A": {BitsPerSecond: 4e9}, "B": {BitsPerSecond: 1e9}}, fake.Noise{})
	out, end, err := searching(m, 5*time.Minute)
	if err != nil || end.Blocks < 5 || len(out.searches) != 2 {
		t.Fatalf("%+v, %d searches, %v", end, len(out.searches), err)
	}
	for i, truth := range []float64{packets(4e9), packets(1e9)} {
		s := out.searches[i]
		for j, want := range []float64{truth, truth / 0.995} {
			if r := s.Found[j]; !r.Regular || math.Abs(r.Rate.Mean/want-1) > 0.005 || r.Limit.Verdict != result.PathLimited {
				t.Errorf("cell %s: %+v, the truth is %g", s.Cell, r, want)
			}
		}
		if len(s.Latencies) != 3 || s.Latencies[2].Reason != "" || !(s.Latencies[2].Seconds["p99"].Mean > 0) {
			t.Errorf("cell %s: %+v", s.Cell, s.Latencies)
		}
	}
	alone := 0 // the latencies' as well
	for _, s := range out.searches {
		alone += len(s.Trials) + len(s.Latencies)
	}
	if got := m.Alone(); got != alone {
		t.Errorf("nodes were not read in %d trials, %d were the searches'", got, alone)
	}
	for _, trial := range out.trials {
		lower := out.searches[strings.Index("AB", trial.Cell)].Found[0].LowerBound
		if got := float64(trial.Pairs[0].Sender.Packets) / trial.WindowSeconds; math.Abs(got/lower-1) > 1e-3 || trial.WindowSeconds != 1 {
			t.Errorf("cell %s: %g packets/s in %g s, found were %g", trial.Cell, got, trial.WindowSeconds, lower)
		}
	}
}

func TestASearchLeavesTimeForBlocks(t *testing.T) {
	m := fake.New(2, map[string]fake.Truth{"A": {BitsPerSecond: 4e9}, "B": {BitsPerSecond: 1e9}}, fake.Noise{Trial: 0.05})
	out, end, err := searching(m, time.Minute)
	if err != nil || end.ElapsedSeconds > 61 || end.Blocks < 3 {
		t.Errorf("%+v, %v", end, err)
	}
	for _, s := range out.searches {
		if s.Ended != result.SearchBudget || s.BudgetSeconds > 25 {
			t.Errorf("cell %s ended by %s, of a budget of %g s", s.Cell, s.Ended, s.BudgetSeconds)
		}
	}
}

func TestACellWithoutARateIsLeftOut(t *testing.T) {
	m := fake.New(3, map[string]fake.Truth{"A": {BitsPerSecond: 4e9, Loss: 0.01}, "B": {BitsPerSecond: 1e9}}, fake.Noise{})
	out, end, err := searching(m, 5*time.Minute)
	if err != nil || end.Why != result.SearchBudget && end.Why != "precision" {
		t.Fatalf("%+v, %v", end, err)
	}
	if s := out.searches[0]; s.Found[0].LowerBound != 0 || s.Found[0].Rate.Known() || s.Found[0].Why == "" {
		t.Errorf("%+v", s.Found[0])
	}
	for _, trial := range out.trials {
		if trial.Cell == "A" {
			t.Fatal("cell A was measured, at no rate")
		}
	}
}

func TestSpoiledTrialsOfASearchAreRepeated(t *testing.T) {
	m := fake.New(4, map[string]fake.Truth{"A": {BitsPerSecond: 4e9}, "B": {BitsPerSecond: 1e9}}, fake.Noise{Steal: 0.2})
	out, _, err := searching(m, 5*time.Minute)
	if err != nil || len(out.searches) != 2 || !out.searches[0].Found[0].Regular {
		t.Errorf("%+v, %v", out.searches, err)
	}
}

// TestABusyMachineEndsNoSearch: where every second trial does not count, neither what a generator reaches nor the rates stay unknown.
func TestABusyMachineEndsNoSearch(t *testing.T) {
	for seed := range uint64(12) {
		m := fake.New(seed, map[string]fake.Truth{"A": {BitsPerSecond: 4e9}, "B": {BitsPerSecond: 1e9}}, fake.Noise{WorkerDeath: 0.5})
		out, _, err := searchingUpTo(m, 10*time.Minute, 0)
		if err != nil || len(out.searches) != 2 {
			t.Fatalf("seed %d: %d searches, %v", seed, len(out.searches), err)
		}
		for _, s := range out.searches {
			if s.Ended == result.SearchFailed || !s.Found[0].Rate.Known() {
				t.Errorf("seed %d, cell %s: %s %s, %+v", seed, s.Cell, s.Ended, s.Error, s.Found)
			}
		}
	}
}

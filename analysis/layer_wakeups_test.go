package analysis

import (
	"math"
	"strings"
	"testing"

	"windtunnel/result"
)

// idled is a run whose node b was busy for 80 % and 60 % of its trials in turn, of which samples found 50 % in its programs and a tenth of idle tasks'
// work; idle tasks had the CPU for the given share of the window.
func idled(share float64) result.File {
	f := sampled(6)
	for i := range f.Trials {
		b := f.Trials[i].Nodes["b"]
		b.CPUs[0].Busy = 0.6 + 0.2*float64(f.Trials[i].Block%2)
	}
	for i := range f.Profiles {
		p := &f.Profiles[i]
		if p.Missing != "" {
			continue
		}
		p.Names = append(p.Names, "schedule_idle")
		p.Tasks = []result.ProfileTask{
			{Name: "windtunnel", Whose: result.OfCell, Frames: []result.ProfileFrame{{-1, 0, 500}}},
			{Name: "idle", Whose: result.OfIdle, Frames: []result.ProfileFrame{{-1, 2, 460}, {-1, 4, 40}}},
		}
		p.IdleSeconds = []float64{share}
	}
	return f
}

// TestIdleWakeUpsAreWhatNoSampleFinds: what idle tasks worked, but for what samples found of it. Trials in which that comes to
// less than nothing count, too.
func TestIdleWakeUpsAreWhatNoSampleFinds(t *testing.T) {
	for name, c := range map[string]struct {
		idle, wakeUps, coverage, sampled float64
	}{
		"as much as was missing":  {idle: 0.5, wakeUps: 0.16, coverage: 100, sampled: 78.75},
		"of some trials nothing":  {idle: 0.39, wakeUps: 0.05, coverage: 84.0, sampled: 78.75},
		"nothing in all":          {idle: 0.30, wakeUps: 0, coverage: 78.75, sampled: 78.75},
		"programs seen too often": {idle: 0.55, wakeUps: 0.21, coverage: 107.3, sampled: 78.75},
	} {
		cell, _ := Of(idled(c.idle)).Cell("B")
		at, found := cell.LayersOf("b"), 0.0
		for _, cost := range at.Costs {
			if cost.Layer == LayerWakeUps {
				found = cost.PerKiB.Mean / 1000 // of a million KiB a second
			}
		}
		if math.Abs(found-c.wakeUps) > 1e-3 || math.Abs(at.Coverage.Mean-c.coverage) > 0.5 || math.Abs(at.Sampled.Mean-c.sampled) > 0.5 {
			t.Errorf("%s: wake-ups %g, want %g; the sum is %g %%, of it samples %g %%, want %g and %g", name, found, c.wakeUps, at.Coverage.Mean, at.Sampled.Mean, c.coverage, c.sampled)
		}
	}
}

// TestSamplesThatMissProgramsAreDoubtedStill: idle tasks' measure does not make up for what is missing of programs' samples.
func TestSamplesThatMissProgramsAreDoubtedStill(t *testing.T) {
	for share, doubted := range map[float64]bool{0.5: false, 0.38: true} {
		if doubts := doubtsOf(Of(idled(share)), "B", "layers"); len(doubts) > 0 != doubted {
			t.Errorf("idle tasks had the CPU for %g of the window: %q", share, doubts)
		}
	}
}

// TestWakeUpsThatAreNotKnown: the sum is of samples alone, as in runs of before.
func TestWakeUpsThatAreNotKnown(t *testing.T) {
	for name, edit := range map[string]func(*result.Profile){
		"not measured": func(p *result.Profile) { p.IdleSeconds, p.IdleMissing = nil, "no tracepoints here" },
		"another CPU":  func(p *result.Profile) { p.CPUs = []int{7} },
	} {
		f := idled(0.5)
		for i := range f.Profiles {
			if f.Profiles[i].Missing == "" {
				edit(&f.Profiles[i])
			}
		}
		cell, _ := Of(f).Cell("B")
		at := cell.LayersOf("b")
		if math.Abs(at.Coverage.Mean-at.Sampled.Mean) > 1e-9 {
			t.Errorf("%s: %+v", name, at)
		}
		for _, cost := range at.Costs {
			if cost.Layer == LayerWakeUps {
				t.Errorf("%s: %+v", name, cost)
			}
		}
		if name == "not measured" && !strings.Contains(at.NoWakeUps, "no tracepoints") {
			t.Errorf("%s: %q", name, at.NoWakeUps)
		}
	}
}

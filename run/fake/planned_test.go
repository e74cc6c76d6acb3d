package fake_test

import (
	"math"
	"testing"
	"time"

	"windtunnel/analysis"
	"windtunnel/result"
	"windtunnel/run/fake"
	"windtunnel/stats"
)

// TestBoundsAreWeighedForThePlan: a run that looks while it measures, and its report, weigh evidence for the blocks that were planned
// before, so that both say the same of a ratio.
func TestBoundsAreWeighedForThePlan(t *testing.T) {
	const blocks = 30
	var reach []float64
	for _, planned := range []int{blocks, 0} {
		p := plan(3, blocks*2*1230*time.Millisecond, 0.001, over, "A", "B")
		p.Times.BlocksPlanned = planned
		out, show := &records{}, silent{ratios: map[string]stats.Estimate{}}
		end, err := conduct(fake.New(3, nil, fake.Noise{Trial: 0.03}), p, out, show)
		if err != nil || end.Blocks < blocks-3 {
			t.Fatalf("%+v, %v", end, err)
		}
		told := analysis.Of(result.File{Run: out.run, Cells: out.cells, Trials: out.trials, End: &out.end}).Ratios[0].Estimate
		shown := show.ratios["B/A"]
		want := stats.Family(1).Planned(planned).OfTrials(out.cells, out.trials, over[0])
		for _, e := range []stats.Estimate{told, shown} {
			if !e.Bounded() || e.N != want.N || math.Abs(*e.Low-*want.Low) > 1e-12 || math.Abs(*e.High-*want.High) > 1e-12 {
				t.Errorf("%d planned: %v, want %v", planned, e, want)
			}
		}
		reach = append(reach, want.HalfWidth())
	}
	if reach[0] > 0.92*reach[1] {
		t.Errorf("known to %.4f as planned, to %.4f without a plan", reach[0], reach[1])
	}
}

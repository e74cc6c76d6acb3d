package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestBlocksNeeded asks the stopping rule itself: how many blocks runs of a known variation take, planned to have so many.
func TestBlocksNeeded(t *testing.T) {
	const precision = 0.03
	for _, planned := range []int{0, 40} {
		plan := Family(4).Planned(planned)
		var taken, seen []float64
		within := 0
		for seed := range uint64(200) {
			random := rand.New(rand.NewPCG(seed, 9))
			blocks := noise{spread: 0.03}.blocks(random, 1, 400)
			n := MinimumBlocks
			for !Known(plan.Ratio(blocks[:n]), precision) {
				n++
			}
			taken = append(taken, float64(n))
			var v Variation
			v.Add(noise{spread: 0.03}.blocks(random, 1, 12))
			about, most := v.Blocks(precision, plan)
			seen = append(seen, float64(about))
			if n <= most {
				within++
			}
		}
		t.Logf("%d planned: runs took %g blocks on the median, %g were foretold; %d of 200 took no more than the most", planned, median(taken), median(seen), within)
		if ratio := median(seen) / median(taken); ratio < 0.8 || ratio > 1.3 {
			t.Errorf("%d planned: runs took %g blocks, %g were foretold", planned, median(taken), median(seen))
		}
		if within < 170 {
			t.Errorf("%d planned: %d of 200 runs took no more than the most", planned, within)
		}
	}
}

func TestVariationPoolsRuns(t *testing.T) {
	var v Variation
	if v.Add(nil); v.Known() {
		t.Error("nothing is known of no blocks")
	}
	// Two runs about levels of their own: only what varies within each counts.
	v.Add([]Block{{Over: 1, Under: 1}, {Over: 1.02, Under: 1}})
	v.Add([]Block{{Over: 2, Under: 1}, {Over: 2.04, Under: 1}})
	if d, want := v.Deviation(), math.Log(1.02)/math.Sqrt2; v.Runs != 2 || math.Abs(d-want) > 1e-9 {
		t.Errorf("%d runs, %g, want %g", v.Runs, d, want)
	}
	if about, most := v.Blocks(0.02, alone.Planned(0)); about < MinimumBlocks || most < about || most > mostNeeded {
		t.Errorf("%d to %d blocks", about, most)
	}
	if n := needed(0, 0.02, alone.Planned(0)); n != MinimumBlocks {
		t.Errorf("%d blocks for what does not vary", n)
	}
}

package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestShare(t *testing.T) {
	whole := []float64{1, 1.1, 0.9, 1.05, 0.95, 1}
	half := make([]float64, len(whole))
	for i, w := range whole {
		half[i] = w / 2
	}
	for name, c := range map[string]struct {
		part      []float64
		mean      float64
		low, high float64
	}{
		"all of it":      {whole, 1, 0.999, 1.001},
		"half of it":     {half, 0.5, 0.499, 0.501},
		"nothing":        {make([]float64, 6), 0, -0.001, 0.001},
		"about a third":  {[]float64{0.33, 0.3, 0.36, 0.33, 0.3, 0.36}, 0.33, 0.2, 0.5},
		"against itself": {[]float64{-1, -1.1, -0.9, -1.05, -0.95, -1}, -1, -1.001, -0.999},
	} {
		got := Share(c.part, whole)
		if !got.Known() || math.Abs(got.Mean-c.mean) > 1e-9 || got.Low == nil || *got.Low < c.low || *got.High > c.high || *got.Low > got.Mean || *got.High < got.Mean {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for name, got := range map[string]bool{
		"no block":      Share(nil, nil).Known(),
		"no difference": Share(half, make([]float64, 6)).Known(),
		"perhaps none":  Share(half, []float64{1, -1, 1, -1, 1, -0.9}).Known(),
	} {
		if got {
			t.Errorf("%s: there is a share", name)
		}
	}
	if few := Share(half[:3], whole[:3]); !few.Known() || few.Low != nil {
		t.Errorf("three blocks: %+v", few)
	}
}

// TestShareHoldsWhatItPromises looks after every block from the fifth on, and counts the runs in which an interval
// ever missed the true share.
func TestShareHoldsWhatItPromises(t *testing.T) {
	const runs, blocks, truth = 1000, 30, 0.6
	random := rand.New(rand.NewPCG(8, 8))
	missed := 0
	for range runs {
		var part, whole []float64
		for range blocks {
			w := 0.5 + 0.05*random.NormFloat64()
			part, whole = append(part, truth*0.5+0.8*truth*(w-0.5)+0.03*random.NormFloat64()), append(whole, w)
			if s := Share(part, whole); s.Low != nil && (*s.Low > truth || *s.High < truth) {
				missed++
				break
			}
		}
	}
	if missed > runs/20 {
		t.Errorf("%d of %d runs had an interval without the truth", missed, runs)
	}
}

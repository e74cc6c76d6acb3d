package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestMedianRatio(t *testing.T) {
	over := []float64{2, 2.2, 0.01, 1.8, 2.1, 1.9, 2, 300, 2.05, 1.95, 2.1, 1.9}
	under := make([]float64, len(over))
	for i := range under {
		under[i] = 1
	}
	e := MedianRatio(over, under)
	if !e.Bounded() || e.N != 12 || math.Abs(e.Estimate-2) > 1e-9 || math.Abs(*e.Low-1.8) > 1e-9 || math.Abs(*e.High-2.2) > 1e-9 {
		t.Errorf("got %v: the second and the second last are the bounds", e)
	}
	if few := MedianRatio(over[:5], under[:5]); few.Bounded() || !few.Known() {
		t.Errorf("5 pairs have bounds: %v", few)
	}
	if six := MedianRatio(over[:6], under[:6]); !six.Bounded() || math.Abs(*six.Low-0.01) > 1e-9 || math.Abs(*six.High-2.2) > 1e-9 {
		t.Errorf("6 pairs: %v", six)
	}
	if none := MedianRatio([]float64{1, 0}, []float64{1, 1}); none.Known() || none.Reason == "" {
		t.Errorf("a ratio of nothing: %v", none)
	}
}

func TestMediansBoundsLeaveOut(t *testing.T) {
	for n, want := range map[int]int{1: 0, 5: 0, 6: 1, 11: 1, 12: 2, 20: 4, 30: 7, 60: 18, 100: 33} {
		if got := leftOut(n); got != want {
			t.Errorf("n=%d: bound %d, want %d", n, got, want)
		}
	}
}

// Under no effect each pair is as likely above as below, whatever the noise is.
func TestMedianMissesSeldom(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const runs, most = 4000, 300
	var out [most + 1]int
	for n := range out {
		out[n] = leftOut(n)
	}
	missed := 0
	for range runs {
		below := 0
		for n := 1; n <= most; n++ {
			below += random.IntN(2)
			if side := min(below, n-below); out[n] > side {
				missed++
				break
			}
		}
	}
	if share := float64(missed) / runs; share > mistake {
		t.Errorf("%.1f %% of runs left the truth out at some look, more than %.0f %%", 100*share, 100*mistake)
	}
}

func TestMedianHoldsInAllNoises(t *testing.T) {
	for name, n := range noises {
		random := rand.New(rand.NewPCG(3, 4))
		const runs = 2000
		missed := 0
		for range runs {
			blocks := n.blocks(random, 1, 30)
			var over, under []float64
			for _, b := range blocks {
				over, under = append(over, b.Over), append(under, b.Under)
				if len(over) >= 6 && MedianRatio(over, under).Differs() {
					missed++
					break
				}
			}
		}
		if share := float64(missed) / runs; share > mistake {
			t.Errorf("%s: %.1f %% of A/A runs claim a difference", name, 100*share)
		}
	}
}

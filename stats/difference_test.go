package stats

import (
	"math"
	"testing"
)

func TestDifference(t *testing.T) {
	over, under := []float64{12, 9, 11, 13, 10, 99}, []float64{10, 8, 8, 11, 9}
	f := Difference(over, under)
	if math.Abs(f.Mean-1.8) > 1e-12 || f.N != 5 || f.Low == nil || math.Abs(f.Mean-*f.Low-(*f.High-f.Mean)) > 1e-12 {
		t.Errorf("%+v", f)
	}
	if mean, reach := around([]float64{2, 1, 3, 2, 1}, alone); math.Abs(*f.High-mean-reach) > 1e-12 {
		t.Errorf("%g, not %g", *f.High, mean+reach)
	}
	if few := Difference(over[:4], under[:4]); few.Low != nil || few.N != 4 {
		t.Errorf("bounds of four blocks: %+v", few)
	}
	for name, f := range map[string][2][]float64{"nothing": {nil, nil}, "no number": {{math.NaN()}, {1}}, "infinity": {{math.Inf(1)}, {1}}} {
		if d := Difference(f[0], f[1]); d.Known() {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

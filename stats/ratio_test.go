package stats

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"windtunnel/result"
)

func TestRatioOf(t *testing.T) {
	under := []float64{100, 110, 90, 105, 95}
	over := []float64{41, 44, 37, 43, 38.5}
	e := RatioOf(over, under)
	if !e.Bounded() || e.N != 5 || math.Abs(e.Estimate-0.409) > 0.002 {
		t.Fatalf("got %v", e)
	}
	if !(*e.Low < e.Estimate && e.Estimate < *e.High) || !e.Differs() {
		t.Errorf("bounds %v", e)
	}
	if few := RatioOf(over[:4], under[:4]); few.Bounded() || !few.Known() || Known(few, 10) {
		t.Errorf("4 blocks have bounds: %v", few)
	}
}

func TestRatioThatIsNone(t *testing.T) {
	for name, c := range map[string]struct{ over, under []float64 }{
		"no blocks": {},
		"zero":      {[]float64{0, 1}, []float64{1, 1}},
		"over zero": {[]float64{1, 1}, []float64{1, 0}},
		"negative":  {[]float64{-1}, []float64{-1}},
		"nan":       {[]float64{math.NaN()}, []float64{1}},
		"infinite":  {[]float64{math.Inf(1)}, []float64{1}},
	} {
		e := RatioOf(c.over, c.under)
		if e.Known() || e.Reason == "" || e.Bounded() || Known(e, math.MaxFloat64) {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

func TestKnownIsTheHalfWidth(t *testing.T) {
	e := RatioOf([]float64{1.00, 1.01, 0.99, 1.02, 0.98}, []float64{1, 1, 1, 1, 1})
	if w := e.HalfWidth(); !Known(e, w) || Known(e, w*0.999) {
		t.Errorf("half-width %g", w)
	}
	if w, want := e.HalfWidth(), *e.High/e.Estimate-1; math.Abs(w-want) > 1e-12 {
		t.Errorf("half-width %g, want %g", w, want)
	}
}

// Turning a ratio over turns its estimate and bounds over.
func TestRatioIsSymmetric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		positive := rapid.Float64Range(1e-3, 1e12)
		n := rapid.IntRange(1, 20).Draw(t, "n")
		over := rapid.SliceOfN(positive, n, n).Draw(t, "over")
		under := rapid.SliceOfN(positive, n, n).Draw(t, "under")
		e, inverse := RatioOf(over, under), RatioOf(under, over)
		if math.Abs(e.Estimate*inverse.Estimate-1) > 1e-9 {
			t.Fatalf("%v and %v", e, inverse)
		}
		if e.Bounded() && math.Abs(math.Log(*e.Low)+math.Log(*inverse.High)) > 1e-6*(1+math.Abs(math.Log(*e.Low))) {
			t.Fatalf("%v and %v", e, inverse)
		}
	})
}

func TestMean(t *testing.T) {
	for name, c := range map[string]struct {
		samples []float64
		mean    float64
		bounded bool
	}{
		"few":    {[]float64{1, 2, 3}, 2, false},
		"spread": {[]float64{8, 9, 10, 11, 12}, 10, true},
		"zeros":  {[]float64{0, 0, 0, 0, 0}, 0, true},
		"skewed": {[]float64{1, 1, 1, 1, 1e6}, 200000.8, true},
	} {
		f := Mean(c.samples)
		if math.Abs(f.Mean-c.mean) > 1e-6*c.mean || (f.Low != nil) != c.bounded || f.N != len(c.samples) {
			t.Errorf("%s: %+v", name, f)
		}
		if f.Low != nil && (*f.Low > f.Mean || *f.High < f.Mean || *f.Low < 0) {
			t.Errorf("%s: bounds %g %g", name, *f.Low, *f.High)
		}
	}
	if f := Mean(nil); f.Known() || f.Reason == "" {
		t.Errorf("no samples: %+v", f)
	}
	if f := Mean([]float64{math.NaN()}); f.Known() {
		t.Errorf("nan: %+v", f)
	}
}

func trial(cell string, block, order int, bytes uint64) result.Trial {
	end := result.PairEnd{WindowSeconds: 1, Bytes: bytes}
	return result.Trial{Cell: cell, Block: block, Order: order, Pairs: []result.PairSample{{Sender: end, Receiver: end}}}
}

func TestBlocksPairTrials(t *testing.T) {
	excluded := trial("B", 2, 1, 7)
	excluded.Excluded = "steal"
	trials := []result.Trial{
		trial("A", 1, 1, 100), trial("B", 1, 2, 50),
		trial("A", 2, 2, 100), excluded, trial("B", 2, 3, 40),
		trial("A", 3, 1, 100),
	}
	cells := []result.Cell{{Name: "A"}, {Name: "B"}}
	blocks, _ := Blocks(cells, trials, result.Ratio{Over: "B", Under: "A"})
	no := false
	want := []Block{{1, 400, 800, &no}, {2, 320, 800, &no}}
	if d := cmp.Diff(want, blocks); d != "" {
		t.Error(d)
	}
	if e := OfTrials(cells, trials, result.Ratio{Over: "B", Under: "Z"}); e.Known() || e.Reason == "" {
		t.Errorf("an unknown cell: %+v", e)
	}
	e := OfTrials(cells, trials, result.Ratio{Metric: result.SenderCost, Over: "B", Under: "A"})
	if e.Known() || e.Reason == "" {
		t.Errorf("a missing figure: %+v", e)
	}
}

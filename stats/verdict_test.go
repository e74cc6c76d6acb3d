package stats

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"windtunnel/result"
)

func estimate(mid, low, high float64) Estimate {
	return Estimate{Estimate: mid, Low: &low, High: &high, N: 7}
}

func TestVerdict(t *testing.T) {
	words := Words{"slower", "faster", "as fast"}
	for want, e := range map[string]Estimate{
		"6.1 % slower [4.8, 7.4]":                              estimate(0.939, 0.926, 0.952),
		"59 % slower [56, 62]":                                 estimate(0.41, 0.38, 0.44),
		"10 % faster [8.0, 12]":                                estimate(1.10, 1.08, 1.12),
		"4.63 times as fast [4.20, 5.10]":                      estimate(4.63, 4.2, 5.1),
		"not distinguishable: less than 2.1 % apart":           estimate(1.001, 0.979, 1.02),
		"not distinguishable: less than 2.2 % apart":           estimate(1.001, 0.9789, 1.02), // rounded up: less is not known
		"not distinguishable: less than 13 % apart":            estimate(1.01, 0.9, 1.123),
		"not distinguishable: less than 0.1 % apart":           estimate(1, 1, 1),
		"not distinguishable: less than a factor of 68 apart":  estimate(1.3, 0.4, 67.45),
		"not distinguishable: less than a factor of 5.0 apart": estimate(0.5, 0.2, 1.3),         // not 80 %
		"0.003 times as fast [0.0021, 0.0042]":                 estimate(0.003, 0.0021, 0.0042), // not 100 % slower
		"99.3 % slower [98.9, 99.6]":                           estimate(0.007, 0.004, 0.0111),
		"100 % slower, without bounds: 3 of at least 5 blocks": {Estimate: 0, N: 3},
		"59 % slower, without bounds: 3 of at least 5 blocks":  {Estimate: 0.41, N: 3},
		"no ratio: nothing was received":                       {Reason: "nothing was received"},
	} {
		if got := Verdict(e, words); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestEstimateOnOneLine(t *testing.T) {
	for want, e := range map[string]Estimate{
		"0.41 [0.38, 0.44] n=7": estimate(0.41, 0.38, 0.44),
		"0.41 n=2":              {Estimate: 0.41, N: 2},
		"no block":              {Reason: "no block"},
	} {
		if got := e.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// The words and the bounds never disagree, and neither do the judgements.
func TestVerdictAgreesWithBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		low := math.Exp(rapid.Float64Range(-9, 5).Draw(t, "low"))
		mid := low * math.Exp(rapid.Float64Range(1e-6, 3).Draw(t, "mid"))
		high := mid * math.Exp(rapid.Float64Range(0, 3).Draw(t, "high"))
		e := estimate(mid, low, high)
		text := Verdict(e, Words{"slower", "faster", "as fast"})
		claims := !strings.HasPrefix(text, "not distinguishable")
		if claims != (low > 1 || high < 1) {
			t.Fatalf("[%g, %g]: %s", low, high, text)
		}
		if claims && (mid < 1) != strings.Contains(text, "slower") && mid >= fraction {
			t.Fatalf("%g: %s", mid, text)
		}
		if claims && strings.HasPrefix(text, "100 %") {
			t.Fatalf("%g is said as nothing at all: %s", mid, text)
		}
		one := 1.0
		below, above := Judge(result.Comparison{High: &one}, e), Judge(result.Comparison{Low: &one}, e)
		if claims != (below != Undecided && above != Undecided) {
			t.Fatalf("[%g, %g]: %s, <= 1 is %s, >= 1 is %s", low, high, text, below, above)
		}
	})
}

func TestJudge(t *testing.T) {
	two, four := 2.0, 4.0
	between := result.Comparison{Low: &two, High: &four}
	for name, c := range map[string]struct {
		e    Estimate
		want Judgement
	}{
		"inside":    {estimate(3, 2.5, 3.5), Supported},
		"touching":  {estimate(3, 2, 4), Supported},
		"crossing":  {estimate(2.1, 1.9, 2.4), Undecided},
		"around":    {estimate(3, 1, 5), Undecided},
		"below":     {estimate(1.5, 1.2, 1.9), Refuted},
		"above":     {estimate(5, 4.1, 6), Refuted},
		"unbounded": {Estimate{Estimate: 3, N: 2}, Undecided},
		"missing":   {Estimate{Reason: "skipped"}, NotMeasured},
	} {
		if got := Judge(between, c.e); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	for value, want := range map[float64]Judgement{2.0: Supported, 1.998: Supported, 1.98: Refuted, 4.63: Refuted} {
		if got := JudgeValue(between, value); got != want {
			t.Errorf("published %g: %s, want %s", value, got, want)
		}
	}
}

func TestAll(t *testing.T) {
	for _, c := range []struct {
		parts []Judgement
		want  Judgement
	}{
		{nil, NotMeasured},
		{[]Judgement{Supported, Supported}, Supported},
		{[]Judgement{Supported, Undecided}, Undecided},
		{[]Judgement{NotMeasured, Refuted}, Refuted},
		{[]Judgement{NotMeasured, Supported}, NotMeasured},
	} {
		if got := All(c.parts); got != c.want {
			t.Errorf("%v: %s, want %s", c.parts, got, c.want)
		}
	}
}

func TestWarnings(t *testing.T) {
	for name, c := range map[string]struct {
		samples []float64
		kind    string
	}{
		"few":     {[]float64{1, 2, 3}, "few-blocks"},
		"bimodal": {[]float64{10, 20.1, 10.2, 20.3, 10.1, 20, 10.3, 20.2}, "bimodal"},
		"outlier": {[]float64{10, 10.1, 10.3, 9.9, 10.2, 9.8, 4, 10}, "outlier"},
		"drift":   {[]float64{10, 10.2, 10.3, 10.5, 10.9, 11, 11.3, 11.5}, "drift"},
	} {
		got := Warnings(c.samples)
		if len(got) != 1 || got[0].Kind != c.kind {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestWarningsOfPlainNoiseAreRare(t *testing.T) {
	for _, n := range []int{8, 10, 15, 30} {
		count, runs := map[string]int{}, 4000
		random := rand.New(rand.NewPCG(3, uint64(n)))
		for range runs {
			samples := make([]float64, n)
			for i := range samples {
				samples[i] = 100 + random.NormFloat64()
			}
			for _, w := range Warnings(samples) {
				count[w.Kind]++
			}
		}
		t.Logf("n=%d: of %d sets %v", n, runs, count)
		for kind, c := range count {
			if float64(c) > 0.02*float64(runs) {
				t.Errorf("n=%d: %s in %d of %d", n, kind, c, runs)
			}
		}
	}
}

func TestOrderWarning(t *testing.T) {
	yes, no := true, false
	same := []Block{{OverFirst: &yes}, {OverFirst: &yes}, {OverFirst: &yes}, {OverFirst: &yes}, {OverFirst: &yes}}
	if _, ok := OrderWarning(same); !ok {
		t.Error("five blocks in the same order pass")
	}
	same[2].OverFirst = &no
	if _, ok := OrderWarning(same); ok {
		t.Error("a warning for mixed orders")
	}
	same[2].OverFirst = nil
	if _, ok := OrderWarning(same); ok {
		t.Error("a warning for an order that is not known")
	}
}

func TestScatterWarning(t *testing.T) {
	if w, ok := ScatterWarning([]float64{5, 9, 3, 8, 2}); !ok || w.Kind != "scatter" {
		t.Errorf("wild samples: %v", w)
	}
	for _, calm := range [][]float64{{10, 11, 10, 9, 10}, {5, 9}, {0, 0, 0, 0, 0}, nil} {
		if w, ok := ScatterWarning(calm); ok {
			t.Errorf("%v: %v", calm, w)
		}
	}
}

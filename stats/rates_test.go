package stats

import (
	"math"
	"strings"
	"testing"

	"windtunnel/result"
)

func found(low, mean, high float64) result.Figure {
	return result.Figure{Mean: mean, Low: &low, High: &high, N: 20}
}

func TestOfRates(t *testing.T) {
	e := OfRates(found(90, 100, 110), found(180, 200, 220))
	if !e.Bounded() || e.Estimate != 0.5 || math.Abs(*e.Low-90.0/220) > 1e-12 || math.Abs(*e.High-110.0/180) > 1e-12 || !e.Differs() {
		t.Errorf("%+v", e)
	}
	if one := 1.0; Judge(result.Comparison{Low: &one}, e) != Refuted {
		t.Error("half a rate is as much")
	}
}

func TestRatesWithoutARatio(t *testing.T) {
	for says, f := range map[string]result.Figure{
		"no bounds":    {Mean: 50, N: 9},
		"no load met":  result.Missing("no load met the goal"),
		"has no ratio": found(0, 0, 0),
	} {
		for _, e := range []Estimate{OfRates(f, found(1, 2, 3)), OfRates(found(1, 2, 3), f)} {
			if e.Known() || !strings.Contains(e.Reason, says) {
				t.Errorf("%s: %+v", says, e)
			}
		}
	}
}

// TestRatesOfWhichOneSideIsKnown: a rate of 50 or more has a ratio of at least so much to another one, and another one at most so much to it.
func TestRatesOfWhichOneSideIsKnown(t *testing.T) {
	low, w := 50.0, Words{Less: "slower", More: "faster", As: "as fast"}
	least, one, two, quarter := result.Figure{Mean: 60, Low: &low, N: 9}, 1.0, 2.0, 0.25
	for _, c := range []struct {
		over, under   result.Figure
		low, high     *float64
		text, verdict string
		above, below  Judgement // a ratio of 1 or more, and of a quarter or less
	}{
		{least, found(20, 22, 24), &two, nil, ">= 2.08 n=9", "2.08 times as fast or more", Supported, Refuted},
		{found(10, 11, 12.4), least, nil, &quarter, "<= 0.25 n=9", "75 % slower or more", Refuted, Supported},
		{least, found(90, 95, 100), new(float64), nil, ">= 0.50 n=9", "not distinguishable: 50 % slower at most", Undecided, Refuted},
	} {
		e := OfRates(c.over, c.under)
		if !e.Known() || !e.OneSided() || e.Bounded() || (e.Low == nil) != (c.low == nil) || (e.High == nil) != (c.high == nil) {
			t.Errorf("%+v", e)
			continue
		}
		if got := e.String(); got != c.text || Verdict(e, w) != c.verdict {
			t.Errorf("%s, %s; want %s, %s", got, Verdict(e, w), c.text, c.verdict)
		}
		if above, below := Judge(result.Comparison{Low: &one}, e), Judge(result.Comparison{High: &quarter}, e); above != c.above || below != c.below {
			t.Errorf("%s: 1 or more is %s, a quarter or less is %s", c.text, above, below)
		}
	}
	if e := OfRates(least, least); e.Known() || !strings.Contains(e.Reason, "at least") {
		t.Errorf("both: %+v", e)
	}
	if ten := Family(10).OfRates(least, found(20, 22, 25)); !ten.OneSided() || *ten.Low >= 1.99 {
		t.Errorf("among ten: %+v", ten)
	}
}

// TestRatesOfAFamily have wider bounds, as a Gaussian logarithm's would be.
func TestRatesOfAFamily(t *testing.T) {
	a, b := found(90, 100, 110), found(180, 200, 220)
	one, ten := Family(1).OfRates(a, b), Family(10).OfRates(a, b)
	if one != OfRates(a, b) && (*one.Low != *OfRates(a, b).Low || *one.High != *OfRates(a, b).High) {
		t.Errorf("alone %v", one)
	}
	// 2.807 and 1.960 are the 99.75th and the 97.5th percentile of the standard normal distribution.
	wider := math.Log(*ten.High/ten.Estimate) / math.Log(*one.High/one.Estimate)
	if math.Abs(wider-2.807/1.960) > 1e-3 || *ten.Low >= *one.Low || ten.Estimate != one.Estimate {
		t.Errorf("among ten %v, %.4f times as wide", ten, wider)
	}
	if far := Family(1<<20).OfRates(found(1e-300, 1, 1e300), found(1e-300, 1, 1e300)); far.Bounded() || !far.Known() {
		t.Errorf("bounds beyond all numbers: %v", far)
	}
}

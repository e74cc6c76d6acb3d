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
	least := 50.0
	for says, f := range map[string]result.Figure{
		"at least 50":  {Mean: least, Low: &least, N: 9},
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

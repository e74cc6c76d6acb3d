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

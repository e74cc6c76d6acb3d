package report

import (
	"math"
	"strings"
	"testing"
)

func TestScales(t *testing.T) {
	for _, c := range []struct {
		name string
		s    scale
		want []string
	}{
		{"to 18161", linearScale(18161), []string{"0", "5000", "10000", "15000", "20000"}},
		{"of nothing", linearScale(0), []string{"0", "0.2", "0.4", "0.6", "0.8", "1"}},
		{"near 1", logScale(0.97, 1.02), []string{"0.96", "0.98", "1", "1.02", "1.04"}},
		{"a decade and more", logScale(0.2, 4), []string{"0.2", "0.5", "1", "2"}},
		{"many decades", logScale(1e-6, 1e6), nil},
	} {
		var got []string
		for _, v := range c.s.ticks() {
			got = append(got, tickLabel(v))
		}
		if c.want != nil && strings.Join(got, " ") != strings.Join(c.want, " ") {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		if len(got) < 2 || len(got) > 12 {
			t.Errorf("%s: %d ticks: %v", c.name, len(got), got)
		}
	}
}

// A scale keeps the order of what it holds, and puts what it does not hold at its ends; no figure makes it fail.
func TestScalesKeepOrder(t *testing.T) {
	for _, s := range []scale{linearScale(7), logScale(0.1, 30), logScale(), linearScale(math.Inf(1)), logScale(math.MaxFloat64), linearScale(math.NaN())} {
		s = s.between(100, 500)
		last := s.low
		for _, v := range []float64{math.Inf(-1), -1, 0, 1e-300, 0.5, 1, 2, 100, math.MaxFloat64, math.Inf(1)} {
			at := s.at(v)
			if !(at >= last && at <= s.high) {
				t.Errorf("%+v: %g stands at %g, after %g", s, v, at, last)
			}
			last = at
		}
		if at := s.at(math.NaN()); at != s.low {
			t.Errorf("%+v: no number stands at %g", s, at)
		}
	}
}

func TestRatiosAreSymmetric(t *testing.T) {
	s := logScale(0.5, 2).between(0, 100)
	if half, twice := s.at(0.5), s.at(2); math.Abs(half+twice-100) > 1e-9 || math.Abs(s.at(1)-50) > 1e-9 {
		t.Errorf("half stands at %g, twice at %g, 1 at %g", half, twice, s.at(1))
	}
}

func TestLabelsFit(t *testing.T) {
	for _, s := range []string{"", "short", strings.Repeat("a name without an end ", 50), strings.Repeat("網", 100), strings.Repeat("W", 5000)} {
		cut := fit(s, textSize, 120)
		if w := textWidth(cut, textSize); w > 120 {
			t.Errorf("%.20q: %g wide", cut, w)
		}
		if cut != s && !strings.HasSuffix(cut, "…") {
			t.Errorf("%.20q was cut and does not show it", cut)
		}
	}
}

func TestCoordinatesAreNumbers(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e300, -1e300} {
		if got := px(v); got != "0" && got != "10000" && got != "-10000" {
			t.Errorf("%g is %s", v, got)
		}
	}
}

package analysis

import (
	"math"
	"strings"
	"testing"

	"windtunnel/result"
	"windtunnel/stats"
)

// searchedFor is the search of a cell that found a rate for one goal.
func searchedFor(cell, unit string, loss float64, rate result.Figure) result.Search {
	return result.Search{Cell: cell, Unit: unit, Goals: []result.SearchGoal{{LossRatio: loss}}, Found: []result.SearchResult{{Rate: rate}}}
}

func between(low, mean, high float64) result.Figure {
	return result.Figure{Mean: mean, Low: &low, High: &high, N: 12}
}

func atLeast(low float64) result.Figure { return result.Figure{Mean: 1.1 * low, Low: &low, N: 12} }

// TestOfARateTheLowerSideIsKnown: ratio, hypothesis and gate go by it, and no further.
func TestOfARateTheLowerSideIsKnown(t *testing.T) {
	twice := result.Ratio{Metric: result.FoundRate, Over: "B", Under: "A"}
	file := run(6, nil)
	file.Searches = []result.Search{searchedFor("A", "bit/s", 0, between(99, 100, 101)), searchedFor("B", "bit/s", 0, atLeast(202))}
	file.Run.Ratios = []result.Ratio{twice}
	one, three := 1.0, 3.0
	file.Run.Hypotheses = []result.Hypothesis{
		{ID: "faster", Holds: result.Predicate{All: []result.Comparison{{Ratio: twice, Low: &one}}}},
		{ID: "far faster", Holds: result.Predicate{All: []result.Comparison{{Ratio: twice, Low: &three}}}},
		{ID: "slower", Holds: result.Predicate{All: []result.Comparison{{Ratio: twice, High: &one}}}},
	}
	f := Of(file)
	if r := f.Ratios[0]; !r.Estimate.OneSided() || math.Abs(*r.Estimate.Low-2) > 1e-9 || !strings.Contains(r.Verdict, "2.00 times as fast or more") {
		t.Errorf("%+v, %s", r.Estimate, r.Verdict)
	}
	for i, want := range []stats.Judgement{stats.Supported, stats.Undecided, stats.Refuted} {
		if h := f.Hypotheses[i]; h.Verdict != want {
			t.Errorf("%s: %s", h.ID, h.Verdict)
		}
	}
	for name, c := range map[string]struct {
		before, after result.Figure
		want          Gate
	}{
		"it carries as much or more": {between(99, 100, 101), atLeast(100), GateHolds},
		"it may carry less":          {between(99, 100, 101), atLeast(50), GateUndecided},
		"it carried more":            {atLeast(100), between(49, 50, 51), GateBroken},
		"it may have carried more":   {atLeast(50), between(49, 50, 51), GateUndecided},
		"nobody knows":               {atLeast(50), atLeast(50), GateUnjudged},
	} {
		if got := gateOf(stats.OfRates(c.after, c.before), result.FoundRate, 0.05); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestWhatGeneratorsReachedIsCompared where they set both runs' rates.
func TestWhatGeneratorsReachedIsCompared(t *testing.T) {
	cell := func(low, mean, high float64) Cell {
		s := searchedFor("A", "packets/s", 0, result.Figure{Mean: mean, Low: &low, N: 12})
		reached := between(low, mean, high)
		s.Found[0].Reached = &reached
		return Cell{Search: &s}
	}
	e, together := compareFound(cell(99, 100, 101), cell(79, 80, 81), 1)
	if !together || !e.Bounded() || gateOf(e, result.FoundRate, 0.1) != GateBroken {
		t.Errorf("%v, %v", e, together)
	}
	known := searchedFor("A", "packets/s", 0, between(59, 60, 61))
	if e, together := compareFound(cell(99, 100, 101), Cell{Search: &known}, 1); together || !e.OneSided() || *e.High > 0.62 {
		t.Errorf("%v, %v", e, together)
	}
}

func TestFoundRatesHaveARatio(t *testing.T) {
	half := result.Ratio{Metric: result.FoundRate, Over: "B", Under: "A"}
	for name, c := range map[string]struct {
		searches []result.Search
		reason   string
	}{
		"found":       {[]result.Search{searchedFor("A", "bit/s", 0, between(99, 100, 101)), searchedFor("B", "bit/s", 0, between(49, 50, 51))}, ""},
		"not B":       {[]result.Search{searchedFor("A", "bit/s", 0, between(99, 100, 101))}, "cell B: the cell has no `find`"},
		"other unit":  {[]result.Search{searchedFor("A", "bit/s", 0, between(99, 100, 101)), searchedFor("B", "packets/s", 0, between(49, 50, 51))}, "in packets/s, cell A in bit/s"},
		"other goal":  {[]result.Search{searchedFor("A", "bit/s", 0, between(99, 100, 101)), searchedFor("B", "bit/s", 0.01, between(49, 50, 51))}, "the first goal of cell B"},
		"both least":  {[]result.Search{searchedFor("A", "bit/s", 0, atLeast(5)), searchedFor("B", "bit/s", 0, atLeast(4))}, "both rates are only known to be at least so high: 4 and 5"},
		"nothing met": {[]result.Search{searchedFor("A", "bit/s", 0, between(99, 100, 101)), searchedFor("B", "bit/s", 0, result.Missing("no load met the goal"))}, "cell B: no load met"},
		"broke off":   {[]result.Search{searchedFor("A", "bit/s", 0, between(99, 100, 101)), {Cell: "B", Unit: "bit/s", Error: "node b went away"}}, "cell B: node b went away"},
	} {
		file := run(6, nil)
		file.Searches = c.searches
		file.Run.Ratios = []result.Ratio{half}
		one := 0.6
		file.Run.Hypotheses = []result.Hypothesis{{ID: "h", Holds: result.Predicate{All: []result.Comparison{{Ratio: half, High: &one}}}}}
		f := Of(file)
		r, h := f.Ratios[0], f.Hypotheses[0]
		if c.reason != "" {
			if r.Estimate.Known() || !strings.Contains(r.Estimate.Reason, c.reason) || h.Verdict != stats.NotMeasured {
				t.Errorf("%s: %+v, %s", name, r.Estimate, h.Verdict)
			}
			continue
		}
		if e := r.Estimate; !e.Bounded() || math.Abs(e.Estimate-0.5) > 1e-12 || *e.Low > 49.0/101 || *e.High < 51.0/99 || h.Verdict != stats.Supported || !strings.Contains(r.Verdict, "slower") {
			t.Errorf("%s: %+v, %s, %s", name, e, r.Verdict, h.Verdict)
		}
	}
}

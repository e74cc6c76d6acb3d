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

func TestFoundRatesHaveARatio(t *testing.T) {
	half := result.Ratio{Metric: result.FoundRate, Over: "B", Under: "A"}
	least := 5.0
	for name, c := range map[string]struct {
		searches []result.Search
		reason   string
	}{
		"found":       {[]result.Search{searchedFor("A", "bit/s", 0, between(99, 100, 101)), searchedFor("B", "bit/s", 0, between(49, 50, 51))}, ""},
		"not B":       {[]result.Search{searchedFor("A", "bit/s", 0, between(99, 100, 101))}, "cell B: the cell has no `find`"},
		"other unit":  {[]result.Search{searchedFor("A", "bit/s", 0, between(99, 100, 101)), searchedFor("B", "packets/s", 0, between(49, 50, 51))}, "in packets/s, cell A in bit/s"},
		"other goal":  {[]result.Search{searchedFor("A", "bit/s", 0, between(99, 100, 101)), searchedFor("B", "bit/s", 0.01, between(49, 50, 51))}, "the first goal of cell B"},
		"at least":    {[]result.Search{searchedFor("A", "bit/s", 0, result.Figure{Mean: 5, Low: &least, N: 3}), searchedFor("B", "bit/s", 0, between(4, 5, 6))}, "cell A: one rate is only known to be at least 5"},
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

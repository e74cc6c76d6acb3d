package analysis

import (
	"slices"
	"strings"
	"testing"

	"windtunnel/result"
)

// limited is a run of cell A alone, whose trials have the verdicts of a word each, a pair's after the other's.
func limited(trials ...string) Findings {
	words := map[string]string{"rate": result.RateReached, "path": result.PathLimited, "receiver": result.ReceiverLimited, "generator": result.GeneratorLimited}
	f := run(len(trials), nil)
	var kept []result.Trial
	for _, t := range f.Trials {
		if t.Cell != "A" {
			continue
		}
		t.Pairs = nil
		for _, word := range strings.Fields(trials[t.Block-1]) {
			p := trial("A", t.Block, 1).Pairs[0]
			p.Limit = &result.Limit{Verdict: words[word], Says: "the " + word}
			t.Pairs = append(t.Pairs, p)
		}
		kept = append(kept, t)
	}
	f.Trials, f.Cells = kept, f.Cells[:1]
	for len(f.Cells[0].Pairs) < len(kept[0].Pairs) {
		f.Cells[0].Pairs = append(slices.Clip(f.Cells[0].Pairs), f.Cells[0].Pairs[0])
	}
	return Of(f)
}

// Of several pairs in a trial the nearest limit counts, as of two directions of one.
func TestTheNearestLimitOfPairs(t *testing.T) {
	for name, c := range map[string]struct {
		trials []string
		want   string
	}{
		"one pair":                       {[]string{"path", "path", "generator"}, result.PathLimited},
		"a receiver beside a reached":    {[]string{"rate receiver", "rate receiver", "rate receiver"}, result.ReceiverLimited},
		"mostly a receiver":              {[]string{"rate receiver", "rate receiver", "rate rate"}, result.ReceiverLimited},
		"a receiver beside the path":     {[]string{"receiver path", "path receiver"}, result.ReceiverLimited},
		"as many of either, one pair":    {[]string{"receiver", "path"}, result.ReceiverLimited},
		"a generator in one of three":    {[]string{"path generator", "path path", "path path"}, result.PathLimited},
		"the rate was reached by either": {[]string{"rate rate", "rate rate"}, result.RateReached},
	} {
		if cell, _ := limited(c.trials...).Cell("A"); cell.Limited() != c.want {
			t.Errorf("%s: %s, want %s (%v)", name, cell.Limited(), c.want, cell.Limits)
		}
	}
}

// A doubt of one of several pairs says which.
func TestALimitOfAPairIsNamed(t *testing.T) {
	for _, d := range limited("rate generator", "rate generator").Doubts {
		if d.Kind == result.GeneratorLimited {
			if !strings.Contains(d.Says, "a to b: the generator") {
				t.Error(d.Says)
			}
			return
		}
	}
	t.Error("no doubt")
}

// Where now one end and now the other was the limit, in most trials neither was it the path.
func TestBothEndsInTurnAreDoubted(t *testing.T) {
	got := kinds(limited("generator", "receiver", "generator", "receiver", "path").Doubts)
	if !slices.Contains(got, "A generator-limited") || !slices.Contains(got, "A receiver-limited") {
		t.Errorf("%v", got)
	}
	if got = kinds(limited("generator", "generator", "generator", "receiver", "path").Doubts); slices.Contains(got, "A receiver-limited") {
		t.Errorf("one of five: %v", got)
	}
}

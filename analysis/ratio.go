package analysis

import (
	"fmt"
	"math"

	"windtunnel/result"
	"windtunnel/stats"
)

func (f Findings) ratioOf(file result.File, r result.Ratio) Ratio {
	if r.Metric == "" {
		r.Metric = result.ReceivedRate
	}
	words := Words(r.Metric)
	found := Ratio{Ratio: r, Estimate: f.estimate(file, r)}
	found.Verdict = stats.Verdict(found.Estimate, words)
	if value, ok := f.published(r); ok {
		found.Published = &value
		found.PublishedVerdict = stats.Change(value, words)
	}
	if found.Estimate.Known() {
		over, _ := f.Cell(r.Over)
		under, _ := f.Cell(r.Under)
		found.Evidence = evidence(over, under)
		found.Doubts = f.ratioDoubts(file, r, found.Estimate)
	}
	return found
}

// estimate is the ratio in the run's data. A cell that was not measured says why
// there is none.
func (f Findings) estimate(file result.File, r result.Ratio) stats.Estimate {
	for _, name := range []string{r.Over, r.Under} {
		if c, ok := f.Cell(name); ok && c.Status != Measured {
			return stats.Estimate{Reason: fmt.Sprintf("%s was %s: %s", name, notMeasured[c.Status], c.Reason)}
		}
	}
	return stats.OfTrials(file.Cells, file.Trials, r)
}

var notMeasured = map[string]string{Skipped: "not measured here", Failed: "not measured"}

// published is the ratio of the published figures, where both cells have one.
func (f Findings) published(r result.Ratio) (float64, bool) {
	over, okOver := f.Cell(r.Over)
	under, okUnder := f.Cell(r.Under)
	if !okOver || !okUnder {
		return 0, false
	}
	a, okA := over.Spec.Published[r.Metric]
	b, okB := under.Spec.Published[r.Metric]
	return a / b, okA && okB && a > 0 && b > 0 && !math.IsInf(a/b, 0)
}

// ratioDoubts are the reasons to trust this ratio less, as sentences.
func (f Findings) ratioDoubts(file result.File, r result.Ratio, e stats.Estimate) []string {
	var doubts []string
	if e.N < stats.MinimumBlocks {
		doubts = append(doubts, fmt.Sprintf("only %d of at least %d blocks: no bounds", e.N, stats.MinimumBlocks))
	}
	blocks, _ := stats.Blocks(file.Cells, file.Trials, r)
	for _, w := range stats.Warnings(stats.LogRatios(blocks)) {
		if says, ok := ratioWarnings[w.Kind]; ok {
			doubts = append(doubts, says)
		}
	}
	if w, ok := stats.OrderWarning(blocks); ok {
		doubts = append(doubts, w.Says)
	}
	if p := file.Run.Plan.Precision; e.Bounded() && p > 0 && !stats.Known(e, p) {
		doubts = append(doubts, fmt.Sprintf("known to %s, not to the %s that was asked for", percent(e.HalfWidth()), percent(p)))
	}
	return doubts
}

// ratioWarnings say of a ratio what Warnings says of samples.
var ratioWarnings = map[string]string{
	"bimodal": "the blocks' ratios fall in two groups: the mean describes neither",
	"outlier": "one block's ratio lies far from the others; it widens the bounds",
	"drift":   "the ratio drifts over the run",
}

// Line is a ratio's state on one line, for the progress of a run: "D/B  0.41
// [0.38, 0.44] n=5".
func Line(r result.Ratio, e stats.Estimate) string { return r.Short() + "  " + e.String() }

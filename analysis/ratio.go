package analysis

import (
	"fmt"
	"math"
	"strings"

	"windtunnel/result"
	"windtunnel/stats"
)

func (f Findings) ratioOf(d data, r result.Ratio) Ratio {
	if r.Metric == "" {
		r.Metric = result.ReceivedRate
	}
	words := Words(r.Metric)
	found := Ratio{Ratio: r, Estimate: f.estimate(d, r)}
	found.Verdict = stats.Verdict(found.Estimate, words)
	if value, ok := f.published(r); ok {
		found.Published = &value
		found.PublishedVerdict = stats.Change(value, words)
	}
	if found.Estimate.Known() && r.Metric != result.FoundRate { // else the search has the doubts
		over, _ := f.Cell(r.Over)
		under, _ := f.Cell(r.Under)
		found.Evidence = comparison{d, over, under}.evidence()
		found.Causes = f.causes(d, r, found.Estimate)
		found.Doubts = f.ratioDoubts(d, r, found.Estimate)
		found.Layers = layerChanges(over, under)
	}
	return found
}

// estimate is the ratio in the run's data. Where a cell was not measured it says
// so; the cell says why.
func (f Findings) estimate(d data, r result.Ratio) stats.Estimate {
	if r.Metric == result.FoundRate {
		return f.foundRatio(r)
	}
	for _, name := range []string{r.Over, r.Under} {
		c, ok := f.Cell(name)
		if ok && c.Status == Skipped {
			return stats.Estimate{Reason: "cell " + name + " is not measured here"}
		}
		if ok && c.Status == Failed {
			return stats.Estimate{Reason: "cell " + name + " failed"}
		}
	}
	return f.Family.Planned(d.Run.Plan.BlocksPlanned).OfTrials(d.Cells, d.both(r), r)
}

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
func (f Findings) ratioDoubts(d data, r result.Ratio, e stats.Estimate) []string {
	var doubts []string
	if e.N < stats.MinimumBlocks {
		doubts = append(doubts, fmt.Sprintf("only %d of at least %d blocks: no bounds", e.N, stats.MinimumBlocks))
	}
	blocks, _ := stats.Blocks(d.Cells, d.both(r), r)
	for _, w := range stats.Warnings(stats.LogRatios(blocks)) {
		if w.Kind == "outlier" {
			doubts = append(doubts, oddBlocks(blocks, w.At))
		} else if says, ok := ratioWarnings[w.Kind]; ok {
			doubts = append(doubts, says)
		}
	}
	if w, ok := stats.OrderWarning(blocks); ok {
		doubts = append(doubts, w.Says)
	}
	if p := d.Run.Plan.Precision; e.Bounded() && p > 0 && !stats.Known(e, p) {
		doubts = append(doubts, fmt.Sprintf("known to %s, not to the %s that was asked for", percent(e.HalfWidth()), percent(p)))
	}
	return doubts
}

// ratioWarnings say of a ratio what Warnings says of samples.
var ratioWarnings = map[string]string{
	"bimodal": "the blocks' ratios fall in two groups: the mean describes neither",
	"drift":   "the ratio drifts over the run",
}

// oddBlocks names the blocks whose ratios lie far from the others'.
func oddBlocks(blocks []stats.Block, at []int) string {
	var names []string
	for _, i := range at {
		names = append(names, fmt.Sprintf("%d (%.3g)", blocks[i].Number, blocks[i].Over/blocks[i].Under))
	}
	if len(at) == 1 {
		return "the ratio of block " + names[0] + " lies far from the others; it widens the bounds"
	}
	return "the ratios of blocks " + strings.Join(names, ", ") + " lie far from the others; they widen the bounds"
}

// Line is a ratio's state on one line, for the progress of a run: "D/B  0.41
// [0.38, 0.44] n=5".
func Line(r result.Ratio, e stats.Estimate) string { return r.Short() + "  " + e.String() }

package analysis

import (
	"fmt"
	"math"

	"windtunnel/result"
	"windtunnel/stats"
)

// hypothesisOf asks the run's data and the published data about one sentence.
func (f Findings) hypothesisOf(d data, h result.Hypothesis) Hypothesis {
	found := Hypothesis{ID: h.ID, Says: h.Says, Holds: h.Holds.Text, Published: f.onPublished(h)}
	if h.NotMeasured != "" {
		found.Verdict, found.Reason = stats.NotMeasured, h.NotMeasured
		return found
	}
	var parts []stats.Judgement
	fewest, missing := math.MaxInt, ""
	for _, c := range h.Holds.All {
		e := f.estimate(d, c.Ratio)
		parts = append(parts, stats.Judge(c, e))
		if !e.Known() {
			missing = c.Ratio.Short() + ": " + e.Reason
			continue
		}
		fewest = min(fewest, e.N)
		found.Evidence = append(found.Evidence, fmt.Sprintf("%s is %s; asked: %s", c.Ratio.Short(), e, asked(c)))
	}
	found.Verdict = stats.All(parts)
	found.Reason = whyNot(found.Verdict, fewest, missing)
	if limit := f.limited(h); h.Parallelism && limit != "" {
		found.Verdict, found.Reason = stats.NotMeasured, limit
	}
	return found
}

// asked is the comparison without its ratio's name.
func asked(c result.Comparison) string {
	switch {
	case c.Low != nil && c.High != nil:
		return fmt.Sprintf("between %.4g and %.4g", *c.Low, *c.High)
	case c.Low != nil:
		return fmt.Sprintf("at least %.4g", *c.Low)
	case c.High != nil:
		return fmt.Sprintf("at most %.4g", *c.High)
	}
	return "nothing"
}

// whyNot is the reason for a judgement that is none: of the ratios, the fewest
// blocks and one that is missing.
func whyNot(verdict stats.Judgement, fewest int, missing string) string {
	switch {
	case verdict == stats.NotMeasured:
		return missing
	case verdict != stats.Undecided:
		return ""
	case fewest < stats.MinimumBlocks:
		return fmt.Sprintf("%d of at least %d blocks: no bounds", fewest, stats.MinimumBlocks)
	}
	return "the interval lies on both sides of what is asked"
}

// limited is the reason why a hypothesis about parallel work cannot be judged: a
// node of one of its cells had no CPU left, so that more pairs or threads could
// not have done more, or its CPUs served another node as well. A single full CPU
// beside idle ones does not hinder: that work stays on one CPU is then the finding.
func (f Findings) limited(h result.Hypothesis) string {
	for _, r := range h.Holds.Ratios() {
		for _, name := range []string{r.Over, r.Under} {
			c, _ := f.Cell(name)
			for _, node := range c.involved() {
				if c.Profile.Nodes[node].Saturated() {
					return fmt.Sprintf("every CPU of %s was full in cell %s: that decides it", c.end(node), name)
				}
				if f.shared(node) {
					return fmt.Sprintf("node %s shares its CPUs with another node", node)
				}
			}
		}
	}
	return ""
}

func (f Findings) shared(node string) bool {
	for _, n := range f.Run.Nodes {
		if n.Name == node {
			return n.Shared
		}
	}
	return false
}

// onPublished asks the published figures.
func (f Findings) onPublished(h result.Hypothesis) stats.Judgement {
	var parts []stats.Judgement
	for _, c := range h.Holds.All {
		r := c.Ratio
		if r.Metric == "" {
			r.Metric = result.ReceivedRate
		}
		value, ok := f.published(r)
		if !ok {
			parts = append(parts, stats.NotMeasured)
			continue
		}
		parts = append(parts, stats.JudgeValue(c, value))
	}
	return stats.All(parts)
}

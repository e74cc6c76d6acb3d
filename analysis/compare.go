package analysis

import (
	"cmp"
	"fmt"
	"slices"

	"windtunnel/result"
	"windtunnel/stats"
)

// Compared is what two runs say of each other: first what they differ in, then each cell of both.
type Compared struct {
	Before, After result.Run
	Differences   []Difference // of the runs, forbidding ones first
	Forbidden     string       // why nothing of the runs may be compared; "": it may
	Cells         []ComparedCell
	Ratios        []ComparedRatio // of each run's own blocks: what a machine does to all cells is not in them
	Family        int             // so many comparisons share an error of 5 %
	Limit         float64         // the gate: by what share a figure may be worse; 0: none was asked for
	Gate          Gate
	Doubts        []result.Doubt
}

// Gate is what the intervals say of a limit.
type Gate string

// The words for a gate: a figure is worse by more than the limit, and all of its interval is; is not, and none of
// its interval is; or the interval lies on both sides. Unjudged has no interval.
const (
	GateBroken    Gate = "broken"
	GateHolds     Gate = "holds"
	GateUndecided Gate = "undecided"
	GateUnjudged  Gate = "unjudged"
)

// ComparedCell is one cell of either run.
type ComparedCell struct {
	Name, Says  string
	Reason      string // why it was not compared; "": it was
	Neither     bool   // it could be measured where neither run was: nothing is missing
	Differences []Difference
	Figures     []ComparedFigure
}

// ComparedFigure is one metric of a cell in both runs.
type ComparedFigure struct {
	Metric        result.Metric
	Before, After result.Figure
	Ratio         stats.Estimate // after over before
	Together      bool           // Ratio is of what a generator reached with the path, where no more is known of a found rate
	Verdict       string         // "6.1 % slower [4.8, 7.4]"
	Gate          Gate           // "" without a limit
}

// Estimate is a ratio and what is known of it, under a name for reports, which know no statistics.
type Estimate = stats.Estimate

// ComparedRatio is one ratio that both suites name, in both runs.
type ComparedRatio struct {
	Ratio         result.Ratio
	Before, After stats.Estimate
	Change        stats.Estimate // after over before
	Verdict       string
}

// Comparison says what is to be compared.
type Comparison struct {
	Metrics []result.Metric // of every cell; none: those that its load is for
	Limit   float64         // see Compared.Limit
}

// Compare compares two runs. A difference is claimed only where an interval that it shares out among all
// comparisons leaves "none" out. Runs that may not be compared have their differences alone.
func Compare(before, after result.File, what Comparison) Compared {
	b, a := Of(before), Of(after)
	c := Compared{Before: before.Run, After: after.Run, Limit: what.Limit}
	c.Differences = runDifferences(before.Run, after.Run)
	c.Forbidden = forbidding(c.Differences)
	one, other := trialed{b, result.ByCell(before.Trials)}, trialed{a, result.ByCell(after.Trials)}
	var pairs []pairedCell
	for _, name := range bothNames(b, a) {
		p := pairCells(one, other, name)
		if c.Forbidden != "" && p.Reason == "" {
			p.Reason = c.Forbidden
		}
		if p.Reason == "" {
			p.metrics = metricsOf(p, what.Metrics)
		}
		pairs = append(pairs, p)
	}
	ratios := bothRatios(b, a, pairs)
	for _, p := range pairs {
		c.Family += len(p.metrics)
	}
	c.Family += len(ratios)
	for _, p := range pairs {
		c.Cells = append(c.Cells, p.compare(c.Family, c.Limit))
	}
	for _, r := range ratios {
		c.Ratios = append(c.Ratios, compareRatio(one, other, r, c.Family))
	}
	c.Gate = c.judge()
	c.Doubts = c.doubts(b, a, what.Metrics)
	return c
}

// trialed is a run with its trials by cell.
type trialed struct {
	Findings
	of map[string][]result.Trial
}

// samples are a metric's values in the order of time; trials that do not have it are left out.
func (c trialed) samples(cell Cell, m result.Metric) []float64 {
	trials := slices.Clone(result.Counted(c.of[cell.Spec.Name], cell.Spec.Name))
	slices.SortStableFunc(trials, func(s, t result.Trial) int { return cmp.Compare(s.Block, t.Block) })
	var values []float64
	for _, t := range trials {
		if v, err := cell.Spec.Value(t, m); err == nil {
			values = append(values, v)
		}
	}
	return values
}

// blocks are those that have both cells of a ratio; a file may have many ratios and many trials.
func (c trialed) blocks(r result.Ratio) ([]stats.Block, string) {
	over, _ := c.Cell(r.Over)
	under, _ := c.Cell(r.Under)
	return stats.Blocks([]result.Cell{over.Spec, under.Spec}, slices.Concat(c.of[r.Over], c.of[r.Under]), r)
}

// bothNames are the cells of either run, in the order of the first.
func bothNames(before, after Findings) []string {
	var names []string
	known := map[string]bool{}
	for _, f := range []Findings{before, after} {
		for _, c := range f.Cells {
			if !known[c.Spec.Name] {
				known[c.Spec.Name] = true
				names = append(names, c.Spec.Name)
			}
		}
	}
	return names
}

// pairedCell is a cell of both runs before its figures are compared.
type pairedCell struct {
	ComparedCell
	one, other    trialed
	before, after Cell
	metrics       []result.Metric
}

func pairCells(one, other trialed, name string) pairedCell {
	p := pairedCell{ComparedCell: ComparedCell{Name: name}, one: one, other: other}
	var inBefore, inAfter bool
	p.before, inBefore = one.Cell(name)
	p.after, inAfter = other.Cell(name)
	p.Says = p.after.Spec.Says
	if !inAfter {
		p.Says = p.before.Spec.Says
	}
	switch {
	case !inBefore:
		p.Reason = "the first run has no such cell"
	case !inAfter:
		p.Reason = "the second run has no such cell"
	case p.before.Status == Skipped && p.after.Status == Skipped:
		p.Reason, p.Neither = "neither run could measure it: "+p.after.Reason, true
	case p.before.Status != Measured:
		p.Reason = "the first run did not measure it: " + p.before.Reason
	case p.after.Status != Measured:
		p.Reason = "the second run did not measure it: " + p.after.Reason
	default:
		p.Differences = cellDifferences(one.Run, other.Run, p.before, p.after)
		p.Reason = forbidding(p.Differences)
	}
	return p
}

func (p pairedCell) compare(family int, limit float64) ComparedCell {
	for _, m := range p.metrics {
		f := ComparedFigure{Metric: m, Before: p.before.Figure(m), After: p.after.Figure(m)}
		if m == result.FoundRate {
			f.Ratio, f.Together = compareFound(p.before, p.after, family)
		} else {
			f.Ratio = stats.Independent(p.other.samples(p.after, m), p.one.samples(p.before, m), family)
		}
		f.Verdict = betweenRuns(f.Ratio, m)
		if f.Together {
			f.Verdict += ": what the generator reached with the path, which carries as much or more"
		}
		if limit > 0 {
			f.Gate = gateOf(f.Ratio, m, limit)
		}
		p.Figures = append(p.Figures, f)
	}
	return p.ComparedCell
}

// betweenRuns is the verdict in words that suit trials rather than blocks.
func betweenRuns(e stats.Estimate, m result.Metric) string {
	if e.Known() && !e.Bounded() && !e.OneSided() {
		return fmt.Sprintf("%s, without bounds: a run has %d of at least %d trials", stats.Change(e.Estimate, Words(m)), e.N, stats.MinimumBlocks)
	}
	if e.Bounded() && *e.High > uselessly**e.Low {
		return stats.Change(e.Estimate, Words(m)) + ", with bounds that say nothing: the trials differ too much"
	}
	return stats.Verdict(e, Words(m))
}

// uselessly is from what factor between its bounds on an interval says nothing.
const uselessly = 100

// bothRatios are the ratios that both runs' suites name, of cells that may be compared.
func bothRatios(before, after Findings, pairs []pairedCell) []result.Ratio {
	may := map[string]bool{}
	for _, p := range pairs {
		may[p.Name] = p.Reason == ""
	}
	named := map[string]bool{}
	for _, r := range before.Ratios {
		named[r.Ratio.Name()] = true
	}
	var both []result.Ratio
	for _, r := range after.Ratios {
		if named[r.Ratio.Name()] && may[r.Ratio.Over] && may[r.Ratio.Under] && r.Ratio.Metric != result.FoundRate {
			both = append(both, r.Ratio)
		}
	}
	return both
}

func compareRatio(one, other trialed, r result.Ratio, family int) ComparedRatio {
	b, whyBefore := one.blocks(r)
	a, whyAfter := other.blocks(r)
	found := ComparedRatio{Ratio: r, Before: ratioOfBlocks(b, whyBefore), After: ratioOfBlocks(a, whyAfter)}
	found.Change = stats.IndependentRatios(a, b, family)
	found.Verdict = stats.Verdict(found.Change, stats.Words{Less: "lower", More: "higher", As: "as high"})
	return found
}

func ratioOfBlocks(blocks []stats.Block, why string) stats.Estimate {
	if len(blocks) == 0 && why != "" {
		return stats.Estimate{Reason: why}
	}
	return stats.Ratio(blocks)
}

// gateOf asks an interval about a limit: only one that lies wholly beyond it breaks the gate, so that noise alone
// does so in at most 5 % of comparisons of runs that do not differ at all, and far less often where the limit is
// wider than the noise.
func gateOf(e stats.Estimate, m result.Metric, limit float64) Gate {
	if !e.Bounded() && !e.OneSided() {
		return GateUnjudged
	}
	bound := 1 - limit
	may := result.Comparison{Low: &bound}
	if m.LessIsBetter() {
		bound = 1 + limit
		may = result.Comparison{High: &bound}
	}
	switch stats.Judge(may, e) {
	case stats.Supported:
		return GateHolds
	case stats.Refuted:
		return GateBroken
	}
	return GateUndecided
}

// judge sums up the gates of all figures: the worst word that one of them has. A cell that could not be compared
// breaks nothing, and is a doubt.
func (c Compared) judge() Gate {
	if c.Limit == 0 {
		return ""
	}
	count := map[Gate]int{}
	for _, cell := range c.Cells {
		for _, f := range cell.Figures {
			count[f.Gate]++
		}
	}
	for _, g := range []Gate{GateBroken, GateUndecided, GateHolds} {
		if count[g] > 0 {
			return g
		}
	}
	return GateUnjudged
}

// Count is how many figures the gate has judged so.
func (c Compared) Count(g Gate) int {
	n := 0
	for _, cell := range c.Cells {
		for _, f := range cell.Figures {
			if f.Gate == g {
				n++
			}
		}
	}
	return n
}

// Whole reports whether all was compared and judged that could be: no cell and no figure is missing from what the gate
// says.
func (c Compared) Whole() bool {
	return c.Count(GateUnjudged) == 0 && !slices.ContainsFunc(c.Left(), func(cell ComparedCell) bool { return !cell.Neither })
}

// Left are the cells that were not compared.
func (c Compared) Left() []ComparedCell {
	return slices.DeleteFunc(slices.Clone(c.Cells), func(cell ComparedCell) bool { return cell.Reason == "" })
}

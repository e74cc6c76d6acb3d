package run

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"windtunnel/result"
	"windtunnel/stats"
)

// sameMachine are the lines of a fingerprint that runs here have in common.
var sameMachine = []string{"cpu.model", "cpu.generation", "kernel.release", "machine.product", "machine.vendor"}

// Need is what one ratio takes to be known.
type Need struct {
	Ratio         result.Ratio
	Variation     stats.Variation
	Borrowed      bool // the variation is that of other ratios of the metric: this one was never seen here
	About, AtMost int  // blocks
}

// Needs is what a plan's ratios take, and for how long that keeps the machine. No ratio has a need that nothing
// was seen of.
type Needs struct {
	Ratios        []Need
	Unseen        []result.Ratio
	Runs          int // earlier ones that say something
	Precision     float64
	Window        time.Duration // of a trial
	About, AtMost time.Duration
}

// Needs says how long the plan's ratios take to be known to the precision, from what they varied by in earlier runs on
// this machine, by its fingerprint. Blocks leave out cells whose ratios are known, so that a cell is in
// as many as the ratio that takes most of its.
//
// Unless the window is fixed it is that of the last such run, of this suite if there is one: how much trials of
// other lengths vary is not known.
func (p Plan) Needs(earlier []result.File, here result.Fingerprint, fixed bool) Needs {
	earlier = slices.DeleteFunc(slices.Clone(earlier), func(f result.File) bool { return !like(f.Run, here) })
	if !fixed {
		p.Times = p.timesOf(earlier)
	}
	first := p.needs(earlier, 0)
	// The run that this leads to is planned for what so long a budget holds, and weighs its blocks by that.
	settings := Settings{Budget: first.AtMost, Precision: first.Precision, Window: first.Window, NoProfile: !p.Times.Profile}
	return p.needs(earlier, p.times(settings).BlocksPlanned)
}

// needs reckons with a run that is planned to have so many blocks.
func (p Plan) needs(earlier []result.File, planned int) Needs {
	n := Needs{Precision: p.Times.Precision, Window: time.Duration(p.Times.WindowSeconds * float64(time.Second))}
	family := p.family().Planned(planned)
	blocks := map[string][2]int{} // of each cell: about, at most
	for _, r := range p.measurable() {
		need := Need{Ratio: r}
		need.Variation, need.Borrowed = p.variation(earlier, r)
		if !need.Variation.Known() {
			n.Unseen = append(n.Unseen, r)
			continue
		}
		n.Runs = max(n.Runs, need.Variation.Runs)
		need.About, need.AtMost = need.Variation.Blocks(n.Precision, family)
		n.Ratios = append(n.Ratios, need)
		for _, cell := range []string{r.Over, r.Under} {
			had := blocks[cell]
			blocks[cell] = [2]int{max(had[0], need.About), max(had[1], need.AtMost)}
		}
	}
	n.About, n.AtMost = p.lasts(blocks, 0), p.lasts(blocks, 1)
	return n
}

// timesOf are the plan's times, with the window and the warm-up of the last of earlier runs, the latest first.
func (p Plan) timesOf(earlier []result.File) result.Plan {
	own := func(f result.File) bool { return f.Run.Suite == p.Suite.Suite }
	at := max(0, slices.IndexFunc(earlier, own))
	t := p.Times
	if len(earlier) > 0 && earlier[at].Run.Plan.WindowSeconds > 0 {
		t.WindowSeconds, t.WarmupSeconds = earlier[at].Run.Plan.WindowSeconds, earlier[at].Run.Plan.WarmupSeconds
	}
	return t
}

// measurable are the ratios that blocks make more exact, of cells that will run.
func (p Plan) measurable() []result.Ratio {
	runs := func(name string) bool {
		return slices.ContainsFunc(p.Runnable(), func(c PlannedCell) bool { return c.Record.Name == name })
	}
	return slices.DeleteFunc(p.blockRatios(), func(r result.Ratio) bool { return !runs(r.Over) || !runs(r.Under) })
}

// lasts is how long a run is in which each cell is in so many blocks; cells of no ratio are in all.
func (p Plan) lasts(blocks map[string][2]int, which int) time.Duration {
	most := stats.MinimumBlocks
	for _, n := range blocks {
		most = max(most, n[which])
	}
	all := closingTime + p.setUp() + p.generators()*calibrationTime
	for _, cell := range p.Runnable() {
		trials := most
		if n, ok := blocks[cell.Record.Name]; ok {
			trials = n[which]
		}
		all += time.Duration(trials) * trialTime(p.Times, cell)
	}
	all += p.searchTime(24 * time.Hour)
	return all + p.halvesTime(halfMostOf*all)
}

// like tells whether a run was of simulated nodes, or places, of this machine.
func like(r result.Run, here result.Fingerprint) bool {
	if len(r.Nodes) == 0 || r.Nodes[0].Host != "" {
		return false
	}
	for _, line := range sameMachine {
		if r.Nodes[0].Fingerprint[line] != here[line] {
			return false
		}
	}
	return true
}

// windowsAlike is how many times as long as the plan's a run's window may be, or as short, to say something of its trials.
const windowsAlike = 2

// variation is what a ratio varied by in runs of the suite; else, borrowed, what ratios of its metric did in any.
func (p Plan) variation(earlier []result.File, r result.Ratio) (own stats.Variation, borrowed bool) {
	var others stats.Variation
	for _, f := range earlier {
		if w := f.Run.Plan.WindowSeconds / p.Times.WindowSeconds; !(w <= windowsAlike && w >= 1.0/windowsAlike) {
			continue
		}
		of := result.ByCell(f.Trials)
		for _, had := range f.Run.Ratios {
			if cmp.Or(had.Metric, result.ReceivedRate) != cmp.Or(r.Metric, result.ReceivedRate) {
				continue
			}
			blocks, _ := stats.Blocks(f.Cells, slices.Concat(of[had.Over], of[had.Under]), had)
			others.Add(blocks)
			if f.Run.Suite == p.Suite.Suite && p.sameCells(f.Cells, had, r) {
				own.Add(blocks)
			}
		}
	}
	if own.Known() {
		return own, false
	}
	return others, true
}

// sameCells tells whether a run's ratio is of the plan's cells: by name, path and kind of load.
func (p Plan) sameCells(cells []result.Cell, had, r result.Ratio) bool {
	same := func(a, b string) bool {
		then, ok := result.FindCell(cells, a)
		return ok && a == b && slices.ContainsFunc(p.Cells, func(c PlannedCell) bool {
			return c.Record.Name == b && c.Record.Path == then.Path && c.Record.Traffic == then.Traffic
		})
	}
	return same(had.Over, r.Over) && same(had.Under, r.Under)
}

// Words are what a person reads of it.
func (n Needs) Words() string {
	var b strings.Builder
	precision := fmt.Sprintf("%.3g %%", 100*n.Precision)
	if len(n.Ratios) == 0 {
		fmt.Fprintf(&b, "how long it takes to know every ratio to %s is not known: no run like it was seen on this machine yet; run it once, and ask again\n", precision)
		return b.String()
	}
	fmt.Fprintf(&b, "to know every ratio to %s takes about %s, as ratios varied here so far, or up to %s if those runs were lucky: ",
		precision, rounded(n.About), rounded(n.AtMost))
	if n.AtMost > longestBudget {
		b.WriteString("more than a run may take; ask for less precision, or for fewer --cells\n")
	} else {
		fmt.Fprintf(&b, "--budget %s --window %s\n", rounded(n.AtMost), n.Window)
	}
	for _, r := range n.Ratios {
		whose := fmt.Sprintf("in %d earlier runs", r.Variation.Runs)
		switch {
		case r.Borrowed:
			whose = "as others of its metric do; it was not seen here yet"
		case r.Variation.Runs == 1:
			whose = "in one earlier run"
		}
		fmt.Fprintf(&b, "  %-22s %d to %d blocks: a block's ratio varies by %.2g %%, %s\n", r.Ratio.Short(), r.About, r.AtMost, 100*r.Variation.Deviation(), whose)
	}
	for _, r := range n.Unseen {
		fmt.Fprintf(&b, "  %-22s was not seen here yet, nor any ratio of its metric: its time is not in the sum\n", r.Short())
	}
	return b.String()
}

// longestBudget is what a run may have.
const longestBudget = 24 * time.Hour

// rounded is a time as exact as such an estimate is, rounded up: "90s", "12m", "1h10m".
func rounded(d time.Duration) string {
	unit := 10 * time.Minute
	switch {
	case d < 2*time.Minute:
		unit = 10 * time.Second
	case d < time.Hour:
		unit = time.Minute
	}
	d = (d + unit - 1).Truncate(unit)
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

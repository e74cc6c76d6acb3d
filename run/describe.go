package run

import (
	"fmt"
	"io"
	"strings"
	"time"

	"windtunnel/datapath"
	"windtunnel/result"
	"windtunnel/testbed"
)

// Describe writes what a plan would build, as it would be built, and how long it
// would take.
func Describe(out io.Writer, p Plan) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", p.Suite.Suite, p.Suite.Asks)
	if p.Suite.Source != "" {
		fmt.Fprintf(&b, "source: %s\n", p.Suite.Source)
	}
	for _, n := range p.Nodes {
		if len(n.Exec) > 0 {
			fmt.Fprintf(&b, "node %s: a place that runs already, entered by `%s`\n", n.Name, strings.Join(n.Exec, " "))
			continue
		}
		where := "simulated on this host"
		if n.Host != "" {
			where = "on " + n.Host
		}
		fmt.Fprintf(&b, "node %s: CPUs %v, %s\n", n.Name, n.CPUs, where)
	}
	for _, cell := range p.Cells {
		describeCell(&b, cell)
	}
	describeWhy(&b, p)
	describeTimes(&b, p)
	_, err := io.WriteString(out, b.String())
	return err
}

func describeCell(b *strings.Builder, cell PlannedCell) {
	r := cell.Record
	fmt.Fprintf(b, "\n%s  %s\n", r.Name, r.Says)
	if r.Path == datapath.Existing {
		fmt.Fprintf(b, "  path %s, %s: nothing is built or changed\n", r.Path, r.Traffic)
	} else {
		describeBuilt(b, r)
	}
	if r.Skipped != "" {
		fmt.Fprintf(b, "  not measured here: %s\n", r.Skipped)
	}
	for _, d := range r.Doubts {
		fmt.Fprintf(b, "  doubt: %s\n", d.Says)
	}
	for line := range strings.Lines(r.Topology) {
		b.WriteString("  " + line)
	}
	b.WriteString("\n")
}

func describeBuilt(b *strings.Builder, r result.Cell) {
	fmt.Fprintf(b, "  path %s, %s over a %s wire, segmentation %s, MTU %d on the wire and %d at the endpoints\n",
		r.Path, r.Traffic, r.Wire, r.Segmentation, r.MTU.Wire, r.MTU.Endpoint)
	if by := r.Layout[datapath.FactJoined]; by != "" {
		fmt.Fprintf(b, "  its links are joined by a %s\n", by)
	}
	if r.Checksum != "" {
		fmt.Fprintf(b, "  checksums of the endpoints in %s\n", r.Checksum)
	}
	for _, asked := range []string{r.Queueing.Words(), r.Wired.Words()} {
		if asked != "" {
			fmt.Fprintf(b, "  %s\n", asked)
		}
	}
}

// describeWhy says which suspects are tried, and why others are not.
func describeWhy(b *strings.Builder, p Plan) {
	why := p.Suite.Why
	if why == nil {
		return
	}
	fmt.Fprintf(b, "\nsuspects of %s, each by cells of its own:\n", why.Ratio.Short())
	for _, cell := range p.Cells {
		if i := cell.Record.Intervention; i != nil {
			fmt.Fprintf(b, "  %s: %s\n", cell.Record.Name, i.Says)
		}
	}
	for _, u := range why.Untested {
		fmt.Fprintf(b, "  %s is not tried: %s\n", u.Factor, u.Reason)
	}
}

func describeTimes(b *strings.Builder, p Plan) {
	cells := len(p.Runnable())
	if cells == 0 {
		b.WriteString("\nno cell can be measured here\n")
		describeSkipped(b, p)
		return
	}
	t := p.Times
	block := blockTime(t, p.Runnable())
	fmt.Fprintf(b, "\n%d cells, %d blocks of %s fit a budget of %s: each trial has a window of %.1f s after %.1f s of warm-up\n",
		cells, t.BlocksPlanned, block.Round(100*time.Millisecond),
		time.Duration(t.BudgetSeconds*float64(time.Second)), t.WindowSeconds, t.WarmupSeconds)
	describeSkipped(b, p)
	for _, cell := range p.Runnable() {
		if cell.window > 0 {
			fmt.Fprintf(b, "those of cell %s have a window of %s, as the suite says\n", cell.Record.Name, cell.window)
		}
	}
	if len(p.Searches) > 0 {
		b.WriteString("before them, cells search for their rates; blocks measure them there\n")
	}
	for _, s := range p.Searches {
		fmt.Fprintf(b, "  %s: %s\n", s.named(), s.Words())
	}
	for _, d := range p.Doubts {
		fmt.Fprintf(b, "doubt: %s\n", d.Says)
	}
}

// describeSkipped lists the cells that will not run by why, and that no time is counted for them.
func describeSkipped(b *strings.Builder, p Plan) {
	var reasons []string
	cells := map[string][]string{}
	for _, cell := range p.Cells {
		why := cell.Record.Skipped
		if why == "" {
			continue
		}
		if cells[why] == nil {
			reasons = append(reasons, why)
		}
		cells[why] = append(cells[why], cell.Record.Name)
	}
	for _, why := range reasons {
		of := fmt.Sprintf("%d of the suite's %d cells do", len(cells[why]), len(p.Cells))
		if len(cells[why]) == 1 {
			of = fmt.Sprintf("1 of the suite's %d cells does", len(p.Cells))
		}
		fmt.Fprintf(b, "%s not run, and the plan counts no time for that: %s: %s\n", of, strings.Join(cells[why], ", "), why)
	}
}

// Untried says what of the cells that will run is not known before somebody tries it as root, "" if all is.
func (p Plan) Untried(missing map[string]string) string {
	needs := map[string]bool{}
	for _, cell := range p.Runnable() {
		for _, feature := range featuresOf(cell.Laid.Graph) {
			needs[feature] = true
		}
	}
	var untried []string
	for _, feature := range testbed.Features { // in their order; the first two are of any simulated cell
		if needs[feature] && feature != testbed.FeatureNetns && feature != testbed.FeatureVeth && missing[feature] == "" {
			untried = append(untried, feature)
		}
	}
	if len(untried) == 0 {
		return ""
	}
	return fmt.Sprintf("whether this machine has %s is not known without root: `windtunnel doctor` tries it, and a run, which leaves out the cells that lack it\n", strings.Join(untried, ", "))
}

package analysis

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"windtunnel/result"
	"windtunnel/stats"
)

const fewBlocks = "few-blocks"

// What a figure may have before it is doubted.
const (
	doubtfulSteal  = 0.01 // share of CPU time that the hypervisor took
	shortestWindow = 1.0  // seconds
	doubtfulLosses = 0.001
)

// doubts are the reasons to trust the run less: those that the run and the reader
// recorded, and those that its data give and nobody has recorded.
func (f Findings) doubts(d data) []result.Doubt {
	recorded := slices.Concat(d.Doubts, d.Run.Doubts)
	for _, c := range d.Cells {
		for _, doubt := range c.Doubts {
			doubt.Cell = c.Name
			recorded = append(recorded, doubt)
		}
	}
	for _, s := range d.Searches {
		for _, doubt := range s.Doubts {
			doubt.Cell = s.Cell
			recorded = append(recorded, doubt)
		}
	}
	derived := append(f.endDoubts(), f.runDoubts()...)
	for _, c := range f.Cells {
		derived = append(derived, cellDoubts(c, d.of[c.Spec.Name])...)
	}
	derived = append(derived, f.disagreements(d)...)
	derived = append(derived, f.ceilingDoubts()...)
	return merge(f.current(recorded), derived)
}

// current leaves out the fear of few blocks where they became enough.
func (f Findings) current(recorded []result.Doubt) []result.Doubt {
	return slices.DeleteFunc(recorded, func(d result.Doubt) bool {
		return d.Kind == fewBlocks && f.mostBlocks() >= stats.MinimumBlocks
	})
}

// merge keeps each doubt once, and no derived one of a kind that was recorded of
// the same cell.
func merge(recorded, derived []result.Doubt) []result.Doubt {
	known := map[[2]string]bool{}
	for _, d := range recorded {
		known[[2]string{d.Cell, d.Kind}] = true
	}
	all := append(recorded, slices.DeleteFunc(derived, func(d result.Doubt) bool { return known[[2]string{d.Cell, d.Kind}] })...)
	seen := map[result.Doubt]bool{}
	return slices.DeleteFunc(all, func(d result.Doubt) bool {
		again := seen[d]
		seen[d] = true
		return again
	})
}

// endDoubts tell of a run that did not end as it was meant to.
func (f Findings) endDoubts() []result.Doubt {
	if f.End == nil {
		return nil // the reader has said so
	}
	switch f.End.Why {
	case "interrupted":
		return []result.Doubt{{Kind: "interrupted", Says: "the run was interrupted: it has the trials up to there"}}
	case "failed":
		return []result.Doubt{{Kind: "failed", Says: "the run failed: " + f.End.Error}}
	}
	return nil
}

func (f Findings) runDoubts() []result.Doubt {
	var all []result.Doubt
	add := func(kind, format string, values ...any) {
		all = append(all, result.Doubt{Kind: kind, Says: fmt.Sprintf(format, values...)})
	}
	if n := f.mostBlocks(); f.Measured() > 0 && n < stats.MinimumBlocks {
		add(fewBlocks, "%d of at least %d blocks: ratios have no bounds, and hypotheses are undecided", n, stats.MinimumBlocks)
	}
	if f.Run.Simulated {
		add("simulated-nodes", "%s", simulated(f.Run))
	}
	for _, n := range f.Run.Nodes {
		if n.Shared {
			add("shared-cpus", "node %s shares its CPUs with another node: CPU figures of the two are mixed", n.Name)
			break
		}
	}
	if names := f.congestions(); len(names) > 1 {
		add("congestion", "the cells' TCP used different congestion control: %s", strings.Join(names, "; "))
	}
	return append(all, assumed(f.Run)...)
}

// mostBlocks is the number of blocks of the ratio that has most: one that lost
// blocks has a doubt of its own.
func (f Findings) mostBlocks() int {
	most := f.Blocks
	for _, r := range f.Ratios {
		most = max(most, r.Estimate.N)
	}
	return most
}

var spelled = []string{"no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"}

// simulated says how the nodes were made up.
func simulated(run result.Run) string {
	made := 0
	for _, n := range run.Nodes {
		if len(n.Exec) == 0 {
			made++
		}
	}
	number := strconv.Itoa(made)
	if made < len(spelled) {
		number = spelled[made]
	}
	if made == 1 {
		return "one node simulated on the host"
	}
	if made > 2 {
		return number + " nodes simulated on one host; each wire is a veth pair"
	}
	return number + " nodes simulated on one host; the wire is a veth pair"
}

// congestions lists each congestion control with its cells, where they differ.
func (f Findings) congestions() []string {
	cells := map[string][]string{}
	for _, c := range f.Cells {
		if c.Congestion != "" {
			cells[c.Congestion] = append(cells[c.Congestion], c.Spec.Name)
		}
	}
	var names []string
	for name, of := range cells {
		names = append(names, name+" in "+strings.Join(of, ", "))
	}
	sort.Strings(names)
	return names
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

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

// What a figure may have before it is doubted.
const (
	doubtfulSteal  = 0.01 // share of CPU time that the hypervisor took
	shortestWindow = 1.0  // seconds
	doubtfulLosses = 0.001
)

// doubts are the reasons to trust the run less: those that the run and the reader
// recorded, and those that its data give. Each kind comes once a cell.
func (f Findings) doubts(file result.File) []result.Doubt {
	all := slices.Concat(file.Doubts, file.Run.Doubts)
	for _, c := range file.Cells {
		for _, d := range c.Doubts {
			d.Cell = c.Name
			all = append(all, d)
		}
	}
	all = append(all, f.endDoubts()...)
	all = append(all, f.runDoubts()...)
	for _, c := range f.Cells {
		all = append(all, cellDoubts(c, result.Counted(file.Trials, c.Spec.Name), file.Trials)...)
	}
	return once(all)
}

// once keeps the first doubt of a kind for each cell, except where its text tells
// of something else.
func once(all []result.Doubt) []result.Doubt {
	seen := map[[2]string]bool{}
	var kept []result.Doubt
	for _, d := range all {
		key := [2]string{d.Cell, d.Kind}
		if d.Kind == "" || repeats[d.Kind] {
			key[1] += "\x00" + d.Says
		}
		if !seen[key] {
			seen[key] = true
			kept = append(kept, d)
		}
	}
	return kept
}

// repeats are the kinds that a cell may have several of.
var repeats = map[string]bool{"missing": true, "machine": true, "worker": true}

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
		add("few-blocks", "%d of at least %d blocks: ratios have no bounds, and hypotheses are undecided", n, stats.MinimumBlocks)
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
	number := strconv.Itoa(len(run.Nodes))
	if len(run.Nodes) < len(spelled) {
		number = spelled[len(run.Nodes)]
	}
	if len(run.Nodes) == 1 {
		return "one node simulated on the host"
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

// assumed tells where the machine differs from what the source had. Only the
// number of CPUs and what the fingerprint names alike can be compared.
func assumed(run result.Run) []result.Doubt {
	var all []result.Doubt
	for _, key := range sortedKeys(run.Assumed) {
		want := run.Assumed[key]
		var differ []string
		for _, n := range run.Nodes {
			have, known := n.Fingerprint[key]
			if key == "cpus" {
				have, known = strconv.Itoa(len(n.CPUs)), true
			}
			if known && have != want {
				differ = append(differ, fmt.Sprintf("node %s has %s", n.Name, have))
			}
		}
		if len(differ) > 0 {
			all = append(all, result.Doubt{Kind: "machine", Says: fmt.Sprintf("the source had %s %s; here %s", key, want, strings.Join(differ, ", "))})
		}
	}
	return all
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

package run

import (
	"fmt"
	"slices"
	"strings"

	"windtunnel/result"
)

// spreadCPUs is on how many CPUs work is spread at least.
const spreadCPUs = 2

// tooNarrow says why a cell's work cannot be spread here, "" if it can or is not to be: on one CPU its
// figure would be that of another cell.
func (p Plan) tooNarrow(cell result.Cell) string {
	if !cell.Queueing.Spreads() {
		return ""
	}
	for _, n := range p.nodesOf(cell.Pairs) {
		if len(n.CPUs) < spreadCPUs {
			return fmt.Sprintf("spreading work needs %d CPUs a node, node %s has %d", spreadCPUs, n.Name, len(n.CPUs))
		}
	}
	return ""
}

// narrowDoubts tell of what queues and spread are not on nodes of one CPU.
func (p Plan) narrowDoubts() []result.Doubt {
	var doubts []result.Doubt
	var narrow, served []string
	for _, cell := range p.Cells {
		r := cell.Record
		if r.Queueing.Spreads() && p.tooNarrow(r) != "" {
			narrow = append(narrow, r.Name)
		}
		one := slices.ContainsFunc(p.nodesOf(r.Pairs), func(n result.RunNode) bool { return len(n.CPUs) < spreadCPUs })
		if one && r.Skipped == "" && r.Queueing != nil && r.Queueing.VMQ {
			served = append(served, r.Name)
		}
	}
	if len(served) > 0 {
		doubts = append(doubts, result.Doubt{Kind: "queues",
			Says: "a node's one CPU serves the receive queues of all its adapters, so that what VMQ gains by more CPUs is not in the figures of " + strings.Join(served, ", ")})
	}
	if len(narrow) > 0 {
		doubts = append(doubts, result.Doubt{Kind: "spread",
			Says: "what spreading work over CPUs does is not known from this run, whose nodes have one CPU: " + strings.Join(narrow, ", ")})
	}
	return doubts
}

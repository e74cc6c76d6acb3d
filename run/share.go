package run

import (
	"fmt"
	"slices"

	"windtunnel/scenario"
)

// nodeCPUs is which of the host's CPUs do a node's work.
type nodeCPUs struct {
	name   string
	cpus   []int
	shared bool // they serve another node too
}

// shareCPUs deals the host's CPUs out to the nodes, as evenly as they go, in
// order; places that run already have CPUs of their own. With fewer CPUs than nodes, nodes that allow it share them.
func shareCPUs(cpus []int, nodes []scenario.Node) ([]nodeCPUs, error) {
	cpus = slices.Sorted(slices.Values(cpus))
	if len(cpus) == 0 {
		return nil, fmt.Errorf("this host shows no usable CPU")
	}
	made, i := 0, 0
	for _, node := range nodes {
		if len(node.Exec) == 0 {
			made++
		}
	}
	shares := make([]nodeCPUs, len(nodes))
	for k, node := range nodes {
		shares[k] = nodeCPUs{name: node.Name}
		switch {
		case len(node.Exec) > 0: // its CPUs are its own to tell
			continue
		case len(cpus) < made:
			shares[k].cpus, shares[k].shared = []int{cpus[i%len(cpus)]}, true
		default:
			shares[k].cpus = cpus[i*len(cpus)/made : (i+1)*len(cpus)/made]
		}
		i++
	}
	return shares, nil
}

// unsharable names a node whose CPUs would be shared though the suite does not
// allow it.
func unsharable(nodes []scenario.Node, shares []nodeCPUs) string {
	for i, node := range nodes {
		if shares[i].shared && !node.SharedCPUs {
			return fmt.Sprintf("%d nodes need a CPU each, and this host has fewer (a suite allows sharing with `%s: {cpus: shared}`)",
				len(nodes), node.Name)
		}
	}
	return ""
}

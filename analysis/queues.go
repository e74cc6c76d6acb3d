package analysis

import (
	"fmt"
	"slices"

	"windtunnel/result"
)

// Queues is where a node's packets were received: shares of 1 by the wire's receive queue, and by CPU.
// Nil where it is not known.
type Queues struct {
	Node   string    `json:"node"`
	Queues []float64 `json:"by_queue"`
	CPUs   []float64 `json:"by_cpu"`
}

// notSpread is from which share of its packets on one queue, or one CPU, work was not spread.
const notSpread = 0.9

// queues are those of the nodes of a cell whose suite asks for something.
func (c Cell) queues(trials []result.Trial) []Queues {
	if c.Spec.Queueing == nil {
		return nil
	}
	var all []Queues
	for _, node := range c.involved() {
		q := Queues{Node: node}
		for _, t := range trials {
			sample := t.Nodes[node]
			for _, l := range sample.Links {
				if l.Role == result.RoleWire && len(l.RxQueues) > 0 {
					q.Queues = added(q.Queues, l.RxQueues)
				}
			}
			var cpus []uint64
			for _, cpu := range sample.CPUs {
				if cpu.Processed != nil {
					cpus = append(cpus, *cpu.Processed)
				}
			}
			q.CPUs = added(q.CPUs, cpus)
		}
		q.Queues, q.CPUs = shares(q.Queues), shares(q.CPUs)
		all = append(all, q)
	}
	return all
}

func added(sums []float64, more []uint64) []float64 {
	for i, n := range more {
		if i == len(sums) {
			sums = append(sums, 0)
		}
		sums[i] += float64(n)
	}
	return sums
}

// shares are nil where nothing was counted.
func shares(counts []float64) []float64 {
	sum := 0.0
	for _, n := range counts {
		sum += n
	}
	if sum == 0 {
		return nil
	}
	for i := range counts {
		counts[i] /= sum
	}
	return counts
}

// queueDoubts say where packets did not go to queues and CPUs as the cell asks.
func queueDoubts(c Cell) []result.Doubt {
	var doubts []result.Doubt
	add := func(format string, values ...any) {
		doubts = append(doubts, result.Doubt{Cell: c.Spec.Name, Kind: "queues", Says: fmt.Sprintf(format, values...)})
	}
	asked := c.Spec.Queueing
	for _, q := range c.Queues {
		receives, sends := slices.Contains(c.Spec.Receivers(), q.Node) || c.bothWays(), slices.Contains(c.Spec.Senders(), q.Node) || c.bothWays()
		byQueue := asked.Receive && !asked.BehindQueues(q.Node)
		if (asked.VMQ || byQueue) && q.Queues == nil {
			add("how node %s's packets went to its receive queues is not known", q.Node)
			continue
		}
		if asked.VMQ && receives && q.Queues[0] > 1-notSpread {
			add("%s of node %s's packets came by the receive queue of those that have none of their own: encapsulated packets have the node's address", percent(q.Queues[0]), q.Node)
		}
		if byQueue && !asked.VMQ && receives && slices.Max(q.Queues) > notSpread {
			add("receive spread was asked for, and one queue of node %s had %s of the packets: flows are few, and one flow has one queue", q.Node, percent(slices.Max(q.Queues)))
		}
		if (asked.Receive && receives || asked.Send && sends) && (q.CPUs == nil || slices.Max(q.CPUs) > notSpread) {
			most := "not known"
			if q.CPUs != nil {
				most = percent(slices.Max(q.CPUs))
			}
			add("spread work was asked for, and the share of node %s's packets that one CPU received is %s", q.Node, most)
		}
	}
	return doubts
}

// bothWays tells whether every node both sends and receives.
func (c Cell) bothWays() bool { return c.Spec.Load.Text("direction") == "both" }

package analysis

import (
	"fmt"
	"slices"

	"windtunnel/result"
	"windtunnel/stats"
)

// cellDoubts are the reasons to trust one cell's figures less. all are its trials,
// excluded ones too.
func cellDoubts(c Cell, all []result.Trial) []result.Doubt {
	var doubts []result.Doubt
	trials := result.Counted(all, c.Spec.Name)
	add := func(kind, format string, values ...any) {
		doubts = append(doubts, result.Doubt{Cell: c.Spec.Name, Kind: kind, Says: fmt.Sprintf(format, values...)})
	}
	if c.Excluded > 0 && c.Status == Measured {
		_, why := result.Excluded(all, c.Spec.Name)
		add("excluded", "trials that do not count: %s", counts(why))
	}
	if len(trials) == 0 {
		return doubts
	}
	if w, ok := stats.ScatterWarning(rates(c, trials)); ok {
		add(w.Kind, "received rate: %s", w.Says)
	}
	for _, w := range stats.Warnings(rates(c, trials)) {
		add(w.Kind, "received rate in Mbit/s: %s", w.Says)
	}
	if d, ok := steadyDoubt(c, trials); ok {
		doubts = append(doubts, d)
	}
	if c.WindowSeconds > 0 && c.WindowSeconds < shortestWindow {
		add("short-window", "a window of %.2g s is under a second", c.WindowSeconds)
	}
	if lost, received := unaccounted(trials); received > 0 && (lost > doubtfulLosses*received || lost < -doubtfulLosses*received) {
		add("unaccounted", "%.0f packets of %.0f that its switches received are neither sent on nor named as dropped", lost, received)
	}
	for _, m := range c.Machines {
		if m.Emulated() {
			add(result.DoubtEmulated, "its virtual machines are emulated by QEMU: that traffic passes is all that its figures say")
			break
		}
	}
	if joined, ok := joinedMessages(c, trials); ok {
		doubts = append(doubts, joined)
	}
	doubts = slices.Concat(doubts, layerDoubts(c), queueDoubts(c), outageDoubts(c), limitDoubts(c, trials), lossDoubts(c, trials))
	return append(doubts, probeDoubts(c, trials)...)
}

// rates are the trials' received rates in Mbit/s, in the order of the run.
func rates(c Cell, trials []result.Trial) []float64 {
	var samples []float64
	for _, t := range trials {
		if v, err := c.Spec.Value(t, result.ReceivedRate); err == nil {
			samples = append(samples, v/1e6)
		}
	}
	if len(samples) < stats.MinimumBlocks {
		return nil // few-blocks is said once, of the run
	}
	return samples
}

// probeDoubts tell of what the nodes' probes and the workers said.
func probeDoubts(c Cell, trials []result.Trial) []result.Doubt {
	var doubts []result.Doubt
	add := func(kind, format string, values ...any) {
		doubts = append(doubts, result.Doubt{Cell: c.Spec.Name, Kind: kind, Says: fmt.Sprintf(format, values...)})
	}
	for _, node := range c.involved() {
		p := c.Profile.Nodes[node]
		if p.Steal >= doubtfulSteal {
			add("steal", "the hypervisor took %s of the CPU time of node %s", percent(p.Steal), node)
		}
		switch p.Source {
		case "tick":
			add("cpu-tick", "busy time is the scheduler tick's, which is coarse")
		case "system-times":
			add("cpu-tick", "busy time on node %s is its system's own account, which is kept by the clock's tick and coarse", node)
		}
	}
	for _, t := range trials {
		for _, p := range t.Pairs {
			for _, way := range result.Ways(p.Sender, p.Receiver) {
				if o := way.Sender.Offered; o != nil && o.AwaySeconds > 0 {
					add("away", "%s to %s: for %.3g s of a window the sender's system had no way to the receiver (%s)", p.From, p.To, o.AwaySeconds, o.AwayWhy)
				}
			}
			for _, e := range []string{p.Sender.Error, p.Receiver.Error} {
				if e != "" {
					add("worker", "%s to %s: %s", p.From, p.To, e)
				}
			}
		}
		for _, node := range sortedKeys(t.Nodes) {
			for _, probe := range sortedKeys(t.Nodes[node].Missing) {
				add("missing", "no %s on node %s: %s", probe, node, t.Nodes[node].Missing[probe])
			}
		}
	}
	return doubts
}

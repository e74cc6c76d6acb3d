package analysis

import (
	"fmt"
	"math"
	"slices"

	"windtunnel/result"
)

// The ends of a pair, as causes name them.
const (
	atSender   = "sender"
	atReceiver = "receiver"
	atBoth     = "both"
)

// nodesAt are the nodes of an end.
func (c Cell) nodesAt(end string) []string {
	switch end {
	case atSender:
		return c.Spec.Senders()
	case atReceiver:
		return c.Spec.Receivers()
	}
	return c.involved()
}

// busiestOf is the busy share of an end's busiest CPU in a trial.
func busiestOf(end string) value {
	return func(c Cell, t result.Trial) (float64, bool) {
		most, known := 0.0, false
		for _, node := range c.nodesAt(end) {
			s := t.Nodes[node]
			for _, cpu := range s.CPUs {
				if s.WindowSeconds > 0 {
					most, known = math.Max(most, cpu.Busy/s.WindowSeconds), true
				}
			}
		}
		return most, known
	}
}

// fullCPU is the worse cell's full CPU at an end, if it had one.
func (c contrast) fullCPU(end string) (node string, cpu CPUProfile, is bool) {
	for _, name := range c.worse.nodesAt(end) {
		if one, ok := c.worse.Profile.Nodes[name].Fullest(); ok && one.Busy >= full && one.Busy > cpu.Busy {
			node, cpu, is = name, one, true
		}
	}
	return node, cpu, is
}

// costShare is what the busiest CPU of an end explains: its time for each of what the ratio compares, which with the share
// of the time that it was busy makes up the rate.
func (c contrast) costShare(end string) result.Figure {
	return c.share(c.two(costOf(end, c.ratio.Metric)).logs())
}

// costOf is the time of an end's busiest CPU by a rate.
func costOf(end string, m result.Metric) value {
	busy, rate := busiestOf(end), metric(m)
	return func(of Cell, t result.Trial) (float64, bool) {
		share, okShare := busy(of, t)
		r, okRate := rate(of, t)
		return share / r, okShare && okRate && r > 0
	}
}

// costPerKiB is the same in ns per KiB received.
func costPerKiB(end string) value {
	cost := costOf(end, result.ReceivedRate)
	return func(of Cell, t result.Trial) (float64, bool) {
		v, ok := cost(of, t)
		return v * 8 * 1024 * 1e9, ok
	}
}

// cpuCause says which CPU was full in the worse cell, and with what. It stands for itself where nothing that was looked
// at says why a KiB costs that CPU more; see reckoned.
func cpuCause(c contrast) []Cause {
	var all []Cause
	ends := []string{atReceiver, atSender}
	if slices.Equal(c.worse.Spec.Senders(), c.worse.Spec.Receivers()) {
		ends = []string{atBoth}
	}
	for _, end := range ends {
		node, cpu, is := c.fullCPU(end)
		if !is {
			continue
		}
		share, cost := c.costShare(end), c.two(costPerKiB(end))
		worse, better := c.names()
		w, b := cost.means()
		says := fmt.Sprintf("a CPU was full in %s: %s of %s", worse, which(c.worse.Profile.Nodes[node], cpu), c.worse.end(node))
		evidence := []string{"it was " + split(cpu)}
		if cost.known() {
			evidence = append(evidence, fmt.Sprintf("a KiB took %.0f ns of the busiest CPU there in %s, %.0f in %s", w, worse, b, better))
		}
		if busy, ok := c.better.fullest(end); ok {
			evidence = append(evidence, fmt.Sprintf("in %s the busiest one of that end was %s", better, split(busy)))
		}
		evidence = append(evidence, c.layersMore(node)...)
		all = append(all, Cause{Factor: "cpu", Says: says, Share: share, end: end, Evidence: evidence,
			By: "CPU time " + perWhat(c.ratio.Metric) + " on the CPU that was full", rank: rank{filled, cpu.Busy}})
	}
	return all
}

// perWhat is what the CPU time of a rate's share is reckoned by.
func perWhat(m result.Metric) string {
	switch m {
	case result.TransactionRate:
		return "per transaction"
	case result.ReceivedPacketRate, result.SentPacketRate, result.WirePacketRate:
		return "per packet"
	}
	return "per KiB"
}

func (c Cell) fullest(end string) (CPUProfile, bool) {
	var most CPUProfile
	found := false
	for _, node := range c.nodesAt(end) {
		if cpu, ok := c.Profile.Nodes[node].Fullest(); ok && cpu.Busy >= most.Busy {
			most, found = cpu, true
		}
	}
	return most, found
}

// reckoned gives what makes a KiB dearer the share of the full CPU that it costs. One alone has all of that, since
// nothing else was seen that could; of several none has a share of its own. Without a full CPU, they are only seen.
func (c contrast) reckoned(all []Cause) []Cause {
	if spends(c.ratio.Metric) {
		unbind(all)
	}
	if slices.ContainsFunc(all, func(a Cause) bool { return a.rank.order == bound }) {
		return symptoms(all)
	}
	full := map[string]Cause{}
	for _, a := range all {
		if a.Factor == "cpu" {
			full[a.end] = a
		}
	}
	explained := map[string]bool{}
	for i := range all {
		a := &all[i]
		if a.rank.order != dearer {
			continue
		}
		cpu, ok := heldBy(full, a.end)
		if !ok {
			a.rank.order = likely
			continue
		}
		others := slices.ContainsFunc(all, func(b Cause) bool { return b.rank.order == dearer && b.Factor != a.Factor && b.touches(cpu.end) })
		a.Evidence = append(append(slices.Clip(a.Evidence), cpu.Says), cpu.Evidence...)
		if explained[cpu.end] = true; others {
			a.Share = result.Missing("seen, its share is not known: it is not all that costs a full CPU more")
			if cpu.Share.Known() {
				a.Evidence = append(a.Evidence, "all in all, "+cpu.By+" "+cpu.ShareWords())
			}
		} else if a.Share = cpu.Share; a.Share.Known() {
			a.By = cpu.By + ", by elimination: nothing else was seen that costs it"
		}
	}
	return slices.DeleteFunc(all, func(a Cause) bool { return a.Factor == "cpu" && explained[a.end] })
}

// spends tells of metrics that say what work costs.
func spends(m result.Metric) bool {
	return m.CPUNode() != "" || slices.Contains([]result.Metric{result.SenderCost, result.ReceiverCost, result.TogetherCost,
		result.SenderPacketCost, result.ReceiverPacketCost, result.TogetherPacketCost, result.DevicePacketCost, result.DeviceCycles,
		result.PacketsPerBusyCore}, m)
}

// unbind takes what bound a cell for seen: it made the cell slower, and no work dearer.
func unbind(all []Cause) {
	for i := range all {
		if all[i].rank.order == bound {
			all[i].rank.order = seen
		}
	}
}

// symptoms are the others where something bound the worse cell: what CPUs were full of then is no cause by itself.
func symptoms(all []Cause) []Cause {
	for i := range all {
		if all[i].rank.order == dearer || all[i].rank.order == filled {
			all[i].rank.order = seen
			all[i].Share, all[i].By = notKnown(), ""
		}
	}
	return all
}

// touches tells whether a cause costs an end's CPU.
func (c Cause) touches(end string) bool { return c.end == end || c.end == atBoth || end == atBoth }

// heldBy is the full CPU that a cause costs: the one that explains more, where it costs both ends'.
func heldBy(full map[string]Cause, end string) (most Cause, found bool) {
	for _, at := range []string{atReceiver, atSender, atBoth} {
		cpu, ok := full[at]
		if !ok || !(Cause{end: end}).touches(at) {
			continue
		}
		if !found || cpu.Share.Known() && (!most.Share.Known() || cpu.Share.Mean > most.Share.Mean) {
			most, found = cpu, true
		}
	}
	return most, found
}

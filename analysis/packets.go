package analysis

import (
	"fmt"
	"slices"

	"windtunnel/result"
)

// Packets reports whether the cell's load consists of numbered packets.
func (c Cell) Packets() bool { return c.Figure(result.ReceivedPacketRate).Known() }

// Latencies reports whether the cell's load consists of transactions, whose latency it measures; frames
// that tell when they left are none.
func (c Cell) Latencies() bool {
	return c.Figure(result.TransactionRate).Known() &&
		(c.Figure(result.Latency(result.LatencyIntended, "p50")).Known() || c.Figure(result.Latency(result.LatencyActual, "p50")).Known())
}

// LatencyBeside reports whether a probe beside the load measured it.
func (c Cell) LatencyBeside() bool { return c.Figure(result.BesideLatency("p50")).Known() }

// methods says how packets left and arrived, and why not in a better way; each
// way once, over all of the trials.
func methods(trials []result.Trial) []string {
	var says []string
	add := func(verb, method, why string) {
		if method == "" {
			return
		}
		text := verb + " " + method
		if why != "" {
			text += " (" + why + ")"
		}
		if !slices.Contains(says, text) {
			says = append(says, text)
		}
	}
	for _, t := range trials {
		for _, p := range t.Pairs {
			for _, way := range p.Ways() {
				addWay(add, way)
			}
		}
	}
	return says
}

// addWay tells the methods of one direction.
func addWay(add func(verb, method, why string), way result.Way) {
	if o := way.Sender.Offered; o != nil {
		add("sent by", o.Method, o.Why)
	}
	if z := way.Sender.ZeroCopy; z != nil {
		add("sent by", z.Method, copied(*z))
	}
	if a := way.Receiver.Arrived; a != nil {
		add("received by", a.How(), a.Why)
	}
	if f := way.Receiver.Frames; f != nil {
		add("frames of", f.Sizes()+", counted at "+f.CountedAt, "")
	}
}

// copied says how much of a load without copies was copied after all.
func copied(z result.ZeroCopy) string {
	switch {
	case z.Completed == 0:
		return ""
	case z.Copied == 0:
		return "nothing was copied"
	case z.Copied == z.Completed:
		return "the kernel copied everything after all"
	}
	return "the kernel copied " + percent(float64(z.Copied)/float64(z.Completed)) + " after all"
}

// limits are the verdicts on what bounded the cell's traffic, with the last
// evidence for each, and in how many of the trials.
func limits(trials []result.Trial) map[string]Limit {
	found := map[string]Limit{}
	for _, t := range trials {
		for verdict, l := range t.Limits() {
			found[verdict] = Limit{Trials: found[verdict].Trials + 1, Says: l.Says}
		}
	}
	return found
}

// limitedBy counts the trials by the nearest limit of their pairs.
func limitedBy(trials []result.Trial) map[string]int {
	count := map[string]int{}
	for _, t := range trials {
		if verdict := t.Limit().Verdict; verdict != "" {
			count[verdict]++
		}
	}
	return count
}

// Limited is the verdict of most of the cell's trials, of the nearest limit of each one's pairs; "" where there is none. Of as
// many the nearer limit counts.
func (c Cell) Limited() string {
	best := ""
	for _, verdict := range sortedKeys(c.limitedBy) {
		n, most := c.limitedBy[verdict], c.limitedBy[best]
		if n > most || n == most && result.Nearer(verdict, best) {
			best = verdict
		}
	}
	return best
}

// limitDoubts warn of figures that speak of the tool and not of the path: one end was the limit in half of the trials or more, or the two
// in turn.
func limitDoubts(c Cell, trials []result.Trial) []result.Doubt {
	var often, all []result.Doubt
	for _, verdict := range []string{result.GeneratorLimited, result.ReceiverLimited} {
		n, ok := c.Limits[verdict]
		if !ok {
			continue
		}
		doubt := result.Doubt{Cell: c.Spec.Name, Kind: verdict, Says: fmt.Sprintf("in %d of %d trials, %s", n.Trials, len(trials), n.Says)}
		all = append(all, doubt)
		if 2*n.Trials >= len(trials) {
			often = append(often, doubt)
		}
	}
	if ends := c.limitedBy[result.GeneratorLimited] + c.limitedBy[result.ReceiverLimited]; len(often) == 0 && 2*ends >= len(trials) {
		return all
	}
	return often
}

// arrivals are a trial's, of what got lost or came: a request over TCP that still waited for its answer at the end did neither.
func arrivals(t result.Trial) (result.Arrived, bool) {
	a, numbered := t.Arrivals()
	behind := a.Waited()
	a.Lost, a.Expected = a.Lost-behind, a.Expected-min(behind, a.Expected)
	return a, numbered
}

// lossDoubts tell of packets that were lost where no counter names it.
func lossDoubts(c Cell, trials []result.Trial) []result.Doubt {
	var lost, expected uint64
	for _, t := range trials {
		a, _ := arrivals(t)
		lost += a.Lost
		expected += a.Expected
	}
	if expected == 0 || float64(lost) <= doubtfulLosses*float64(expected) || total(c.Drops) > 0 {
		return nil
	}
	return []result.Doubt{{Cell: c.Spec.Name, Kind: "unnamed-loss",
		Says: fmt.Sprintf("%s of the packets were lost at a place that no counter names", percent(float64(lost)/float64(expected)))}}
}

package analysis

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"windtunnel/result"
	"windtunnel/stats"
)

// mostEvidence is how many lines a ratio gets at most.
const mostEvidence = 5

// noteworthy is the factor from which a difference between two cells is evidence.
const noteworthy = 1.10

// decides is added to the weight of what decides the rate: a factor of e.
const decides = 1.0

// line is one piece of evidence. Weight is the size of the difference, as a
// logarithm; the largest come first.
type line struct {
	weight float64
	says   string
}

// comparison is two cells of one run.
type comparison struct {
	data        data
	over, under Cell
}

// evidence says in plain words how the cells differ in what could be the cause.
func (c comparison) evidence() []string {
	lines := slices.Concat(busiest(c.over, c.under), c.costs(), c.packets(), waits(c.over, c.under), c.losses(), c.latencies())
	sort.SliceStable(lines, func(i, j int) bool { return lines[i].weight > lines[j].weight })
	var says []string
	for _, l := range lines[:min(len(lines), mostEvidence)] {
		says = append(says, l.says)
	}
	return says
}

// busiest says which CPUs were full, with what; it comes first, because a full
// CPU is a limit and all else only a difference.
func busiest(over, under Cell) []line {
	var says []string
	for _, c := range []Cell{over, under} {
		for _, node := range c.involved() {
			if cpu, ok := c.Profile.Nodes[node].Fullest(); ok && cpu.Busy >= full {
				says = append(says, fmt.Sprintf("in %s, %s of %s was full: %s", c.Spec.Name, which(c.Profile.Nodes[node], cpu), c.end(node), split(cpu)))
			}
		}
	}
	if len(says) == 0 {
		return idle(over, under)
	}
	var lines []line
	for _, s := range says {
		lines = append(lines, line{math.Inf(1), s})
	}
	return lines
}

// which names a full CPU, or all of a node's where all are.
func which(n NodeProfile, cpu CPUProfile) string {
	if len(n.CPUs) > 1 && n.Saturated() {
		return "every CPU"
	}
	return fmt.Sprintf("CPU %d", cpu.CPU)
}

// idle says that no CPU was the limit, where they were sampled.
func idle(over, under Cell) []line {
	var parts []string
	for _, c := range []Cell{over, under} {
		most, where := 0.0, ""
		for _, node := range c.involved() {
			if cpu, ok := c.Profile.Nodes[node].Fullest(); ok && cpu.Busy >= most {
				most, where = cpu.Busy, c.end(node)
			}
		}
		if where == "" {
			return nil
		}
		parts = append(parts, fmt.Sprintf("%s at most %s on %s", c.Spec.Name, percent(most), where))
	}
	return []line{{math.Inf(1), "no CPU was full: " + strings.Join(parts, ", ")}}
}

// involved are the nodes of the cell's pairs.
func (c Cell) involved() []string {
	all := append(c.Spec.Senders(), c.Spec.Receivers()...)
	slices.Sort(all)
	return slices.Compact(all)
}

// end names a node with its part: "node b (receiver)".
func (c Cell) end(node string) string {
	sends := slices.Contains(c.Spec.Senders(), node)
	receives := slices.Contains(c.Spec.Receivers(), node)
	switch {
	case sends && receives:
		return "node " + node + " (both ends)"
	case sends:
		return "node " + node + " (sender)"
	}
	return "node " + node + " (receiver)"
}

// split says what a CPU was busy with, the largest first.
func split(c CPUProfile) string {
	parts := []struct {
		name  string
		share float64
	}{{"softirq", c.Softirq}, {"system", c.System}, {"user", c.User}, {"irq", c.IRQ}, {"steal", c.Steal}}
	sort.SliceStable(parts, func(i, j int) bool { return parts[i].share > parts[j].share })
	var says []string
	for _, p := range parts {
		if p.share >= 0.01 {
			says = append(says, fmt.Sprintf("%s %s", p.name, percent(p.share)))
		}
	}
	text := percent(c.Busy) + " busy"
	if len(says) > 0 {
		text += " (" + strings.Join(says, ", ") + ")"
	}
	return text
}

// costs compares the CPU time per payload at each end. At an end whose CPU was
// full it decides the rate, and so weighs more.
func (c comparison) costs() []line {
	if !c.over.Figure(result.ReceiverCost).Known() || !c.under.Figure(result.ReceiverCost).Known() {
		return c.differ(result.TogetherCost, "a KiB costs both ends together %.0f ns of CPU in %s, %.0f in %s (%s)")
	}
	return slices.Concat(
		decisive(c.over, c.over.Spec.Receivers(), c.differ(result.ReceiverCost, "a KiB costs the receiver's node %.0f ns of CPU in %s, %.0f in %s (%s)")),
		decisive(c.over, c.over.Spec.Senders(), c.differ(result.SenderCost, "a KiB costs the sender's node %.0f ns of CPU in %s, %.0f in %s (%s)")),
	)
}

func decisive(c Cell, nodes []string, lines []line) []line {
	for _, node := range nodes {
		if cpu, ok := c.Profile.Nodes[node].Fullest(); ok && cpu.Busy >= full {
			for i := range lines {
				lines[i].weight += decides
			}
			break
		}
	}
	return lines
}

// packets compares the size of packets on the wire and after aggregation.
func (c comparison) packets() []line {
	return slices.Concat(
		c.differ(result.WirePacketSize, "packets on the wire carry %.0f bytes in %s, %.0f in %s (%s)"),
		c.differ(result.EndpointPacketSize, "the receiving stack gets %.0f bytes at a time in %s, %.0f in %s (%s)"),
	)
}

// latencies compares the tails, where both cells have them.
func (c comparison) latencies() []line {
	const millionth = 1e6
	var lines []line
	for _, l := range []struct {
		of   result.Metric
		says string
	}{
		{result.Latency(result.LatencyIntended, "p99"), "1 %% of the requests took over %.3g µs in %s, %.3g in %s (%s)"},
		{result.BesideLatency("p99"), "1 %% of the requests beside the load took over %.3g µs in %s, %.3g in %s (%s)"},
	} {
		lines = append(lines, c.differIn(l.of, millionth, l.says)...)
	}
	return lines
}

// differ is a line where both cells have the metric, it differs noteworthily, and
// the blocks agree that it does: noise is no evidence.
func (c comparison) differ(m result.Metric, format string) []line { return c.differIn(m, 1, format) }

// differIn is differ with the figures in another unit: so many to one.
func (c comparison) differIn(m result.Metric, unit float64, format string) []line {
	r := result.Ratio{Metric: m, Over: c.over.Spec.Name, Under: c.under.Spec.Name}
	e := stats.OfTrials(c.data.Cells, c.data.both(r), r)
	if !e.Known() || e.Bounded() && !e.Differs() {
		return nil
	}
	weight := math.Abs(math.Log(e.Estimate))
	if weight < math.Log(noteworthy) {
		return nil
	}
	a, b := c.over.Figure(m).Mean*unit, c.under.Figure(m).Mean*unit
	return []line{{weight, fmt.Sprintf(format, a, c.over.Spec.Name, b, c.under.Spec.Name, times(e.Estimate))}}
}

// times writes a factor: "x2.6", "÷21".
func times(ratio float64) string {
	sign := "x"
	if ratio < 1 {
		sign, ratio = "÷", 1/ratio
	}
	if ratio >= 100 {
		return fmt.Sprintf("%s%.0f", sign, ratio)
	}
	return fmt.Sprintf("%s%.2g", sign, ratio)
}

// waits says what TCP waited for, where the cells differ in it by a fifth of the
// time.
func waits(over, under Cell) []line {
	a, b := over.Profile.TCP, under.Profile.TCP
	if !a.Known || !b.Known {
		return nil
	}
	var lines []line
	for _, w := range []struct {
		a, b float64
		says string
	}{
		{a.ReceiverWindow, b.ReceiverWindow, "TCP waited for the receiver to take data (its window was full) for %s of the time in %s, %s in %s"},
		{a.SendBuffer, b.SendBuffer, "TCP was held up by the size of the send buffer for %s of the time in %s, %s in %s"},
	} {
		if gap := math.Abs(w.a - w.b); gap >= 0.2 {
			lines = append(lines, line{gap, fmt.Sprintf(w.says, percent(w.a), over.Spec.Name, percent(w.b), under.Spec.Name)})
		}
	}
	return lines
}

// losses compares retransmits and drops. They count from nothing to thousands, so
// they weigh little until there are many.
func (c comparison) losses() []line {
	resent := func(of Cell, t result.Trial) float64 {
		n, _ := of.Spec.Value(t, result.Retransmits)
		return n
	}
	dropped := func(_ Cell, t result.Trial) float64 {
		sum := 0.0
		for _, n := range trialDrops(t) {
			sum += float64(n)
		}
		return sum
	}
	missed := func(_ Cell, t result.Trial) float64 {
		a, _ := arrivals(t)
		return float64(a.Lost)
	}
	return slices.Concat(
		c.lost(missed, c.meanLost(c.over), c.meanLost(c.under), "%.0f packets were lost in a trial of %s, %.0f in %s"),
		c.lost(resent, c.over.Figure(result.Retransmits).Mean, c.under.Figure(result.Retransmits).Mean, "TCP sent %.0f segments again in a trial of %s, %.0f in %s"),
		c.lost(dropped, total(c.over.Drops), total(c.under.Drops), "%.0f packets were dropped in a trial of %s, %.0f in %s"+names(c.over, c.under)),
	)
}

// meanLost is how many numbered packets were lost in a trial of the cell.
func (c comparison) meanLost(of Cell) float64 {
	sum, trials := 0.0, result.Counted(c.data.of[of.Spec.Name], of.Spec.Name)
	for _, t := range trials {
		a, _ := arrivals(t)
		sum += float64(a.Lost)
	}
	return sum / float64(max(1, len(trials)))
}

// few is added to counts before they are compared, so that 1 against 0 is nothing.
const few = 10

// lost is a line on two mean counts, where the blocks agree that they differ.
func (c comparison) lost(of func(Cell, result.Trial) float64, a, b float64, format string) []line {
	weight := math.Abs(math.Log((a+few)/(b+few))) / 2
	if weight < math.Log(noteworthy) {
		return nil
	}
	byBlock := map[int]float64{}
	for _, t := range result.Counted(c.data.of[c.under.Spec.Name], c.under.Spec.Name) {
		byBlock[t.Block] = of(c.under, t) + few
	}
	var over, under []float64
	for _, t := range result.Counted(c.data.of[c.over.Spec.Name], c.over.Spec.Name) {
		if n, ok := byBlock[t.Block]; ok {
			over, under = append(over, of(c.over, t)+few), append(under, n)
		}
	}
	if e := stats.RatioOf(over, under); e.Bounded() && !e.Differs() {
		return nil
	}
	return []line{{weight, fmt.Sprintf(format, a, c.over.Spec.Name, b, c.under.Spec.Name)}}
}

func total(drops map[string]result.Figure) float64 {
	sum := 0.0
	for _, f := range drops {
		sum += f.Mean
	}
	return sum
}

// names says where most packets were dropped, over both cells.
func names(over, under Cell) string {
	most, where := 0.0, ""
	for _, c := range []Cell{over, under} {
		for name, f := range c.Drops {
			if f.Mean > most || f.Mean == most && name < where {
				most, where = f.Mean, name
			}
		}
	}
	if where == "" {
		return ""
	}
	return ", most at " + strings.ReplaceAll(where, "%", "%%")
}

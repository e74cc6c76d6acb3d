package analysis

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"windtunnel/result"
	"windtunnel/stats"
)

// metrics are the figures of every cell, beside the CPU use of each node.
var metrics = []result.Metric{
	result.SentRate, result.ReceivedRate,
	result.SenderCost, result.ReceiverCost, result.TogetherCost,
	result.WirePacketRate, result.WirePacketSize, result.EndpointPacketSize,
	result.Retransmits,
	result.SentPacketRate, result.ReceivedPacketRate, result.TransactionRate,
	result.Loss, result.LatePackets, result.Reordered, result.Duplicates, result.Corrupt, result.Jitter, result.OutageTime,
	result.SenderPacketCost, result.ReceiverPacketCost, result.TogetherPacketCost,
	result.PacketsPerCore, result.PacketsPerBusyCore, result.DevicePacketCost, result.DeviceCycles, result.LineShare10G, result.LineShare40G,
}

// Quantiles are the points of a latency's distribution that a report shows.
var Quantiles = []string{"p50", "p90", "p99", "p99.9", "max"}

func (d data) cell(spec result.Cell) Cell {
	trials := result.Counted(d.of[spec.Name], spec.Name)
	c := Cell{Spec: spec, Trials: len(trials), Figures: map[result.Metric]result.Figure{}}
	var why map[string]int
	c.Excluded, why = result.Excluded(d.of[spec.Name], spec.Name)
	for i := range d.Searches {
		if d.Searches[i].Cell == spec.Name {
			c.Search = &d.Searches[i]
		}
	}
	for i := range d.File.Latencies {
		if d.File.Latencies[i].Cell == spec.Name {
			c.Latency = &d.File.Latencies[i]
		}
	}
	c.Status, c.Reason = status(spec, len(trials), why, c.Search)
	for _, m := range metrics {
		c.Figures[m] = c.figure(trials, m)
	}
	c.Figures[result.FoundRate] = c.found()
	for _, q := range Quantiles {
		for _, m := range []result.Metric{result.Latency(result.LatencyIntended, q), result.Latency(result.LatencyActual, q), result.BesideLatency(q)} {
			c.Figures[m] = c.figure(trials, m)
		}
	}
	for _, node := range d.Run.Nodes {
		m := result.CPUPercent(node.Name)
		c.Figures[m] = atMost(100, c.figure(trials, m))
	}
	c.Drops, c.Counts = drops(trials), switchCounts(trials)
	c.Stages = c.stages(trials)
	c.DeviceSources = deviceSources(spec, trials)
	c.Pairs = c.pairs(trials)
	c.Directions = c.directions(trials)
	c.Ceiling10G, c.Ceiling40G = c.ceiling(trials, result.Ethernet10G), c.ceiling(trials, result.Ethernet40G)
	c.Congestion = congestion(trials)
	c.Profile = profileOf(trials)
	c.Queues = c.queues(trials)
	c.layers(trials, d.profiles[spec.Name], d.Run.Plan.Profile)
	c.Outage = outage(trials)
	c.Methods = methods(trials)
	c.Limits, c.limitedBy = limits(trials), limitedBy(trials)
	c.Generators = generators(trials)
	c.Machines = machines(trials)
	c.Account = account(trials)
	c.Course, c.Hops = c.course(d.of[spec.Name], d.Run.Nodes), c.hops(trials)
	if len(trials) > 0 {
		c.WindowSeconds = trials[len(trials)-1].WindowSeconds
	}
	return c
}

func status(spec result.Cell, trials int, excluded map[string]int, search *result.Search) (state, reason string) {
	switch {
	case spec.Skipped != "":
		return Skipped, spec.Skipped
	case spec.Failed != "" && trials == 0:
		return Failed, spec.Failed
	case trials > 0:
		return Measured, ""
	case len(excluded) > 0:
		return Failed, "every trial was excluded: " + counts(excluded)
	}
	if search != nil {
		return Failed, "no load was found to measure it at: " + notFound(*search)
	}
	return Failed, "the run ended before its first trial"
}

// notFound says why a search has no load that met its first goal.
func notFound(s result.Search) string {
	switch {
	case s.Error != "":
		return s.Error
	case len(s.Found) > 0 && s.Found[0].Why != "":
		return s.Found[0].Why
	}
	return "the search ended: " + s.Ended
}

// mostReasons is how many different reasons are told one by one.
const mostReasons = 3

// counts writes reasons and how often each came, the commonest first: "steal (3),
// worker died (1)".
func counts(reasons map[string]int) string {
	all := sortedKeys(reasons)
	slices.SortStableFunc(all, func(a, b string) int { return reasons[b] - reasons[a] })
	var parts []string
	others := 0
	for i, reason := range all {
		if i >= mostReasons {
			others += reasons[reason]
			continue
		}
		parts = append(parts, fmt.Sprintf("%s (%d)", reason, reasons[reason]))
	}
	if others > 0 {
		parts = append(parts, fmt.Sprintf("others (%d)", others))
	}
	return strings.Join(parts, ", ")
}

// figure is the mean of a metric over the trials that have it; the reason is the
// last trial's that has not.
func (c Cell) figure(trials []result.Trial, m result.Metric) result.Figure {
	f := c.mean(trials, func(t result.Trial) (float64, error) { return c.Spec.Value(t, m) })
	if c.Status == Measured && !f.Known() {
		f.Reason = c.explain(m, trials, f.Reason)
	}
	return f
}

// mean is that of what each trial says of the cell.
func (c Cell) mean(trials []result.Trial, value func(result.Trial) (float64, error)) result.Figure {
	if c.Status != Measured {
		return result.Missing(c.Reason)
	}
	var samples []float64
	reason := ""
	for _, t := range trials {
		v, err := value(t)
		if err != nil {
			reason = err.Error()
			continue
		}
		samples = append(samples, v)
	}
	if len(samples) == 0 {
		return result.Missing(reason)
	}
	return stats.Mean(samples)
}

// explain adds to the reason for a cost that cannot be split what both ends cost
// together.
func (c Cell) explain(m result.Metric, trials []result.Trial, reason string) string {
	if m != result.SenderCost && m != result.ReceiverCost {
		return reason
	}
	together := c.figure(trials, result.TogetherCost)
	if !together.Known() {
		return reason
	}
	return fmt.Sprintf("%s: %.0f ns per KiB together", reason, together.Mean)
}

// atMost bounds an upper bound that the figure cannot pass.
func atMost(limit float64, f result.Figure) result.Figure {
	if f.High != nil {
		high := math.Max(f.Mean, math.Min(*f.High, limit))
		f.High = &high
	}
	return f
}

// pairs are each pair's own rates, in the order of the cell.
func (c Cell) pairs(trials []result.Trial) []Pair {
	var pairs []Pair
	for i, p := range c.Spec.Pairs {
		one := result.Cell{Pairs: []result.Pair{p}}
		only := make([]result.Trial, 0, len(trials))
		for _, t := range trials {
			if i < len(t.Pairs) {
				t.Pairs = t.Pairs[i : i+1]
				only = append(only, t)
			}
		}
		own := Cell{Spec: one, Status: c.Status, Reason: c.Reason}
		pairs = append(pairs, Pair{
			From: p.From.Name(), To: p.To.Name(),
			Sent: own.figure(only, result.SentRate), Received: own.figure(only, result.ReceivedRate),
			Latency: own.figure(only, result.Latency(result.LatencyIntended, "p50")),
		})
	}
	return pairs
}

func congestion(trials []result.Trial) string {
	var names []string
	for c := range connections(trials) {
		if c.Congestion != "" && !slices.Contains(names, c.Congestion) {
			names = append(names, c.Congestion)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

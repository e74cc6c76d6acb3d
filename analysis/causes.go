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

// Cause is one thing that speaks for a ratio's value: what bound the worse of its two cells and not the other, or
// made it dearer.
type Cause struct {
	Factor string // a word for programs: aggregation, receive-window, ceiling, ...
	Says   string
	// Share is how much of the difference it explains, 1 being all of it, or the reason why that is not known: then it
	// was seen, and no more. More than all is possible: something else then weighs against it.
	Share    result.Figure
	By       string   // the reckoning of a share that is known
	Evidence []string // what was seen, in the cells' own figures
	rank     rank
	end      string // the end whose CPU it costs, of a cause that does: sender, receiver, both
}

// rank is how directly a cause bears on the ratio; the first ones stand first. Within one, larger weights do.
type rank struct {
	order  order
	weight float64
}

type order int

const (
	// bound: the worse cell was held there for a part of the time, weight, and the other was not, or less.
	bound order = iota
	// dearer: a CPU was full, and a packet or a KiB cost it more for this reason. Weight is the factor's logarithm.
	dearer
	// filled: a CPU was full, and nothing that was looked at says why a KiB costs it more.
	filled
	// likely: a packet or a KiB costs more for this reason, and no CPU was full.
	likely
	// seen: the cells differ in it, and nothing says that it decides the ratio.
	seen
)

// causeKinds is the registry: a kind of cause is one file and one line. Each looks at the two cells by itself.
var causeKinds = []func(contrast) []Cause{
	ceilingCause,
	generatorCause,
	othersCause,
	windowCause,
	sendBufferCause,
	applicationCause,
	lossCause,
	steeringCause,
	loadCause,
	packetCause,
	messageCause,
	copyCause,
	pathCause,
	cpuCause,
	disturbanceCause,
	settingsCause,
}

// mostCauses is how many a ratio gets at most.
const mostCauses = 6

// contrast is a ratio's two cells by which did worse, and their trials by block.
type contrast struct {
	data          data
	run           result.Run
	ratio         result.Ratio
	worse, better Cell
	blocks        []twoTrials
	rate          bool // of the metric; the causes of a share of it can be reckoned
	differ        bool // a difference is claimed, or is as large as to be looked into
	claimed       bool // it is, or there are no bounds yet
}

type twoTrials struct{ worse, better result.Trial }

// causes finds what speaks for a ratio, in the order of how much it explains.
func (f Findings) causes(d data, r result.Ratio, e stats.Estimate) []Cause {
	c, ok := f.contrast(d, r, e)
	if !ok {
		return nil
	}
	if !c.differ { // what two cells differ in is no cause of rates that are alike; a ceiling that both are at is
		return ceilingCause(c)
	}
	var all []Cause
	for _, kind := range causeKinds {
		all = append(all, kind(c)...)
	}
	if c.reached() {
		all = c.asked(all)
	}
	all = c.reckoned(all)
	if !c.claimed {
		for i := range all {
			all[i].Share, all[i].By = result.Missing("seen; no difference is claimed"), ""
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return before(all[i], all[j]) })
	return all[:min(len(all), mostCauses)]
}

// reached tells whether the worse cell did what its load was asked for, which then is why it did no more.
func (c contrast) reached() bool { return c.rate && c.worse.Limited() == result.RateReached }

// asked takes what speaks for a rate that was asked for as no more than seen: with more of anything it would have been the same.
func (c contrast) asked(all []Cause) []Cause {
	told := false
	for i := range all {
		if all[i].Factor == ceilingFactor {
			told = true
			continue
		}
		all[i].rank.order, all[i].Share, all[i].By = seen, notKnown(), ""
	}
	if told {
		return all
	}
	worse, _ := c.names()
	return append(all, Cause{Factor: ceilingFactor, Share: notKnown(), rank: rank{bound, 1.5},
		Says: worse + " is at a ceiling, the rate that its load was asked for", Evidence: []string{c.worse.Limits[result.RateReached].Says}})
}

// before orders by rank, then by what is known to explain more, then by weight.
func before(a, b Cause) bool {
	if a.rank.order != b.rank.order {
		return a.rank.order < b.rank.order
	}
	if a.Share.Known() && b.Share.Known() && a.Share.Mean != b.Share.Mean {
		return a.Share.Mean > b.Share.Mean
	}
	return a.rank.weight > b.rank.weight
}

func (f Findings) contrast(d data, r result.Ratio, e stats.Estimate) (contrast, bool) {
	over, okOver := f.Cell(r.Over)
	under, okUnder := f.Cell(r.Under)
	if !okOver || !okUnder || !e.Known() {
		return contrast{}, false
	}
	c := contrast{data: d, run: f.Run, ratio: r, worse: over, better: under, rate: isRate(r.Metric), claimed: e.Differs() || !e.Bounded(),
		differ: e.Differs() || math.Abs(math.Log(e.Estimate)) >= math.Log(noteworthy)}
	if (e.Estimate > 1) == moreIsBetter(r.Metric) {
		c.worse, c.better = under, over
	}
	others := map[int]result.Trial{}
	for _, t := range result.Counted(d.of[c.better.Spec.Name], c.better.Spec.Name) {
		others[t.Block] = t
	}
	for _, t := range result.Counted(d.of[c.worse.Spec.Name], c.worse.Spec.Name) {
		if other, ok := others[t.Block]; ok {
			c.blocks = append(c.blocks, twoTrials{t, other})
		}
	}
	return c, len(c.blocks) > 0
}

// isRate tells of which metrics more is done in the same time.
func isRate(m result.Metric) bool {
	return slices.Contains([]result.Metric{"", result.ReceivedRate, result.SentRate, result.ReceivedPacketRate, result.SentPacketRate,
		result.TransactionRate, result.LineShare10G, result.LineShare40G, result.WirePacketRate}, m)
}

// moreIsBetter tells of metrics.
func moreIsBetter(m result.Metric) bool {
	return isRate(m) || slices.Contains([]result.Metric{result.PacketsPerCore, result.PacketsPerBusyCore, result.WirePacketSize, result.EndpointPacketSize}, m)
}

// value is what a trial says of its cell; false: it says nothing.
type value func(Cell, result.Trial) (float64, bool)

// metric is the value of a metric.
func metric(m result.Metric) value {
	return func(c Cell, t result.Trial) (float64, bool) {
		v, err := c.Spec.Value(t, m)
		return v, err == nil
	}
}

// two are both cells' values by block, of the blocks that have both.
type two struct{ worse, better []float64 }

func (c contrast) two(of value) (both two) {
	for _, b := range c.blocks {
		w, okW := of(c.worse, b.worse)
		o, okO := of(c.better, b.better)
		if okW && okO {
			both.worse, both.better = append(both.worse, w), append(both.better, o)
		}
	}
	return both
}

func (t two) known() bool { return len(t.worse) > 0 }

// means are 0 where nothing is known.
func (t two) means() (worse, better float64) { return mean(t.worse), mean(t.better) }

func mean(samples []float64) float64 {
	sum := 0.0
	for _, v := range samples {
		sum += v / float64(len(samples))
	}
	return sum
}

// ratio is the worse cell's over the better one's; false where they differ by less than is noteworthy, or the blocks
// do not agree that they do: noise is no cause.
func (t two) ratio() (float64, bool) {
	e := stats.RatioOf(t.worse, t.better)
	if !e.Known() || e.Bounded() && !e.Differs() || math.Abs(math.Log(e.Estimate)) < math.Log(noteworthy) {
		return 1, false
	}
	return e.Estimate, true
}

// logs are the logarithms of worse over better, by block; nil where one is not positive.
func (t two) logs() []float64 {
	var all []float64
	for i := range t.worse {
		if !(t.worse[i] > 0 && t.better[i] > 0) {
			return nil
		}
		all = append(all, math.Log(t.worse[i]/t.better[i]))
	}
	return all
}

// gap is how much less the worse cell's rate is, by block, as logarithms above 0.
func (c contrast) gap() []float64 {
	all := c.two(metric(c.ratio.Metric)).logs()
	for i := range all {
		all[i] = -all[i]
	}
	return all
}

// share is how much of the difference a factor explains that by itself would have made the worse cell's rate less by
// so much, by block, as logarithms above 0.
func (c contrast) share(part []float64) result.Figure {
	gap := c.gap()
	switch {
	case !c.rate:
		return result.Missing("shares are reckoned of rates alone")
	case len(gap) == 0 || len(part) != len(gap):
		return result.Missing("not every block has what it takes")
	}
	return stats.Share(part, gap)
}

// notKnown is the share of what was seen and cannot be reckoned.
func notKnown() result.Figure { return result.Missing("seen, its share is not known") }

// names are the cells' as the report has them: the worse one first.
func (c contrast) names() (worse, better string) { return c.worse.Spec.Name, c.better.Spec.Name }

// compared writes a figure of both cells: "1448 bytes in B, 30000 in A".
func (c contrast) compared(format string, both two) string {
	w, b := both.means()
	worse, better := c.names()
	return fmt.Sprintf(format+" in %s, "+strings.Fields(format)[0]+" in %s", w, worse, b, better)
}

// moreThanAll is the share from which it is said that something else weighs against a cause.
const moreThanAll = 1.05

// ShareWords says how much a cause explains: "about 71 % [64, 78] of the difference", or why that is not known.
func (c Cause) ShareWords() string {
	if !c.Share.Known() {
		return c.Share.Reason
	}
	text := fmt.Sprintf("%.0f %%", 100*c.Share.Mean)
	if c.Share.Low != nil && c.Share.High != nil {
		text += fmt.Sprintf(" [%.0f, %.0f]", 100**c.Share.Low, 100**c.Share.High)
	}
	text = "explains " + text + " of the difference"
	if c.Share.Low != nil && *c.Share.Low > moreThanAll {
		text += ", more than all of it: something else weighs against it"
	}
	return text
}

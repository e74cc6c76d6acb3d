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

// SharedCeiling is a ceiling that several cells are at, and what they cost at a rate below it.
type SharedCeiling struct {
	Ceiling       result.Ceiling
	Cells         []string // in the order of the suite
	BitsPerSecond float64  // of payload, asked of each below the ceiling; 0: that was not measured
	Share         float64  // of what the slowest of them received
	Ranked        []AtRate // the cheapest first
	Reason        string   // why they are not ranked
}

// AtRate is what a cell received and cost at that rate.
type AtRate struct {
	Cell     string
	Received result.Figure // bits per second
	Sender   result.Figure // CPU ns per KiB
	Receiver result.Figure
	Together result.Figure
	Against  stats.Estimate // of what both ends cost together, over the cheapest cell's; of that one itself nothing
	Verdict  string         // of Against, in words
}

// ceilings are those that two cells or more are at.
func (f Findings) ceilings(d data) []SharedCeiling {
	groups := map[string]*SharedCeiling{}
	var keys []string
	for _, c := range f.Cells {
		at, is := c.Spec.AtCeiling(f.Run.Nodes, result.Counted(d.of[c.Spec.Name], c.Spec.Name))
		if !is || c.Status != Measured {
			continue
		}
		key := at.Key()
		if groups[key] == nil {
			groups[key] = &SharedCeiling{Ceiling: at}
			keys = append(keys, key)
		}
		groups[key].Cells = append(groups[key].Cells, c.Spec.Name)
	}
	var all []SharedCeiling
	for _, key := range keys {
		if g := groups[key]; len(g.Cells) > 1 {
			f.rank(d, g)
			all = append(all, *g)
		}
	}
	return all
}

// rank orders a ceiling's cells by what they cost at an equal rate. Where the load was asked for one, the blocks
// were measured at it.
func (f Findings) rank(d data, g *SharedCeiling) {
	trials := map[string][]result.Trial{}
	if g.Ceiling.Kind == result.CeilingRate {
		g.BitsPerSecond, g.Share = g.Ceiling.BitsPerSecond, 1
		for _, name := range g.Cells {
			trials[name] = result.Counted(d.of[name], name)
		}
	}
	for _, e := range d.Equal {
		switch {
		case !slices.Contains(g.Cells, e.Cell) || e.Ceiling.Kind != g.Ceiling.Kind:
		case e.Trial != nil:
			g.BitsPerSecond, g.Share = e.BitsPerSecond, e.Share
			trials[e.Cell] = append(trials[e.Cell], *e.Trial)
		default:
			g.Reason = e.Reason
		}
	}
	if len(trials) < 2 {
		if g.Reason == "" {
			g.Reason = "they were not measured at an equal rate"
		}
		return
	}
	for _, name := range g.Cells {
		if len(trials[name]) > 0 {
			g.Ranked = append(g.Ranked, f.atRate(name, trials[name]))
		}
	}
	sort.SliceStable(g.Ranked, func(i, j int) bool { return price(g.Ranked[i]) < price(g.Ranked[j]) })
	cheapest := g.Ranked[0].Cell
	pairs := stats.Family(len(g.Ranked) * (len(g.Ranked) - 1) / 2) // which one is the cheapest the data say, so that any pair could be compared
	for i := range g.Ranked[1:] {
		r := result.Ratio{Metric: result.TogetherCost, Over: g.Ranked[i+1].Cell, Under: cheapest}
		dearer := &g.Ranked[i+1]
		dearer.Against = pairs.OfTrials(d.Cells, slices.Concat(trials[r.Over], trials[cheapest]), r)
		dearer.Verdict = stats.Verdict(dearer.Against, Words(r.Metric))
	}
}

func price(a AtRate) float64 {
	if !a.Together.Known() {
		return math.Inf(1)
	}
	return a.Together.Mean
}

func (f Findings) atRate(name string, trials []result.Trial) AtRate {
	c, _ := f.Cell(name)
	return AtRate{Cell: name, Received: c.figure(trials, result.ReceivedRate), Sender: c.figure(trials, result.SenderCost),
		Receiver: c.figure(trials, result.ReceiverCost), Together: c.figure(trials, result.TogetherCost)}
}

// ceilingDoubts say of which cells the rates compare a ceiling with itself. Those of cells that fill a CPU compare what they cost it.
func (f Findings) ceilingDoubts() []result.Doubt {
	var all []result.Doubt
	for _, g := range f.Ceilings {
		if !g.Ceiling.IsRate() {
			continue
		}
		for _, name := range g.Cells {
			others := slices.DeleteFunc(slices.Clone(g.Cells), func(o string) bool { return o == name })
			all = append(all, result.Doubt{Cell: name, Kind: "ceiling-reached",
				Says: fmt.Sprintf("it is at the same ceiling as %s, %s: its rate says little of its path", strings.Join(others, ", "), g.Ceiling.Says)})
		}
	}
	return all
}

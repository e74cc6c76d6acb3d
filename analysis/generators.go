package analysis

import (
	"encoding/json"
	"fmt"
	"strconv"

	"windtunnel/result"
	"windtunnel/stats"
)

// Generator is a program of others that was an end of a cell's first pair.
type Generator struct {
	End string `json:"end"` // sender or receiver
	result.Generator
}

// generators are those of the last trial: ports differ from trial to trial.
func generators(trials []result.Trial) []Generator {
	if len(trials) == 0 || len(trials[len(trials)-1].Pairs) == 0 {
		return nil
	}
	pair := trials[len(trials)-1].Pairs[0]
	var all []Generator
	if g := pair.Sender.Generator; g != nil {
		all = append(all, Generator{"sender", *g})
	}
	if g := pair.Receiver.Generator; g != nil {
		all = append(all, Generator{"receiver", *g})
	}
	return all
}

const (
	// generatorOption is the option of a load by which a suite chooses a program of others.
	generatorOption = "generator"
	ownGenerator    = "windtunnel"
)

// generatorOf is who makes a cell's load.
func generatorOf(c result.Cell) string {
	if name := c.Load.Text(generatorOption); name != "" {
		return name
	}
	return ownGenerator
}

// but is all that makes a cell what it is, except who makes its load, its name, and what
// is said of it: two cells that agree in it measure the same.
func but(c result.Cell) string {
	load := result.Options{}
	for name, value := range c.Load {
		if name != generatorOption {
			load[name] = value
		}
	}
	text, err := json.Marshal([]any{
		c.Path, c.PathOptions, c.Traffic, load, c.Beside, c.BesideLoad, c.Segmentation, c.Wire, c.MTU, c.Pairs, c.Layout,
	})
	if err != nil {
		return c.Name // nothing is like it
	}
	return string(text)
}

// disagreements tell of cells that differ by their generator alone, and of which the
// generators say different things: the interval of their ratio is without 1.
func (f Findings) disagreements(d data) []result.Doubt {
	groups := map[string][]result.Cell{}
	var order []string
	for _, c := range f.Cells {
		key := but(c.Spec)
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], c.Spec)
	}
	var doubts []result.Doubt
	for _, key := range order {
		cells := groups[key]
		base := cells[0]
		for _, c := range cells {
			if generatorOf(c) == ownGenerator {
				base = c
				break
			}
		}
		for _, c := range cells {
			if generatorOf(c) == generatorOf(base) {
				continue
			}
			if doubt, differ := f.disagree(d, c, base); differ {
				doubts = append(doubts, doubt)
			}
		}
	}
	return doubts
}

// compared is what generators are asked about, by what they all tell.
func compared(c result.Cell) []result.Metric {
	if c.Traffic == "ping" {
		return []result.Metric{result.TransactionRate, result.Latency(result.LatencyActual, "p50")}
	}
	return []result.Metric{result.ReceivedRate}
}

// disagree compares two cells of one path and load.
func (f Findings) disagree(d data, over, under result.Cell) (result.Doubt, bool) {
	for _, metric := range compared(over) {
		r := result.Ratio{Metric: metric, Over: over.Name, Under: under.Name}
		e := f.estimate(d, r)
		if !e.Differs() {
			continue
		}
		a, _ := f.Cell(over.Name)
		b, _ := f.Cell(under.Name)
		return result.Doubt{Cell: over.Name, Kind: "generators-disagree", Says: fmt.Sprintf(
			"by %s it is %s, by %s in cell %s %s: %s; a figure of this path is one of its generator, too",
			generatorOf(over), told(a.Figure(metric), metric), generatorOf(under), under.Name, told(b.Figure(metric), metric),
			stats.Verdict(e, Words(metric)))}, true
	}
	return result.Doubt{}, false
}

// told writes a figure with its interval, in the unit that reports have it in.
func told(figure result.Figure, metric result.Metric) string {
	if !figure.Known() {
		return "unknown (" + figure.Reason + ")"
	}
	scale, unit := 1e-6, "Mbit/s"
	switch {
	case metric == result.TransactionRate:
		scale, unit = 1, "requests/s"
	case metric.IsLatency():
		scale, unit = 1e6, "µs"
	}
	write := func(v float64) string { return strconv.FormatFloat(v*scale, 'g', 4, 64) }
	if v := figure.Mean * scale; v >= 1000 {
		write = func(v float64) string { return strconv.FormatFloat(v*scale, 'f', 0, 64) }
	}
	text := write(figure.Mean)
	if figure.Low != nil && figure.High != nil {
		text += " [" + write(*figure.Low) + ", " + write(*figure.High) + "]"
	}
	return text + " " + unit
}

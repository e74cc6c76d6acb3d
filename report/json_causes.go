package report

import (
	"windtunnel/analysis"
	"windtunnel/result"
)

// causeObject is one thing that speaks for a ratio's value; a share of 1 is all of the difference.
type causeObject struct {
	Factor   string        `json:"factor"`
	Says     string        `json:"says"`
	Share    result.Figure `json:"share"`
	By       *string       `json:"reckoned_by"`
	Evidence []string      `json:"evidence"`
}

func causesOf(r analysis.Ratio) []causeObject {
	all := []causeObject{}
	for _, c := range r.Causes {
		all = append(all, causeObject{c.Factor, c.Says, c.Share, orNull(c.By), list(c.Evidence)})
	}
	return all
}

// ceilingObject is a ceiling that several cells are at. Ranked has the cheapest first.
type ceilingObject struct {
	Kind          string         `json:"kind"`
	Node          *string        `json:"node"` // of a CPU, or of threads
	Says          string         `json:"says"`
	BitsPerSecond *float64       `json:"bits_per_second"` // null: it is no rate
	Cells         []string       `json:"cells"`
	EqualRate     float64        `json:"equal_rate_bits_per_second,omitempty"` // at which they were ranked
	Ranked        []atRateObject `json:"ranked"`
	Reason        *string        `json:"reason"` // why they are not ranked
}

type atRateObject struct {
	Cell     string        `json:"cell"`
	Received result.Figure `json:"received_bits_per_second"`
	Cost     costObject    `json:"cpu_ns_per_kib"`
	Verdict  *string       `json:"against_the_cheapest"`
}

func ceilingsOf(f analysis.Findings) []ceilingObject {
	all := []ceilingObject{}
	for _, g := range f.Ceilings {
		o := ceilingObject{g.Ceiling.Kind, orNull(g.Ceiling.Node), g.Ceiling.Says, rateOrNull(g.Ceiling), g.Cells, g.BitsPerSecond, []atRateObject{}, orNull(g.Reason)}
		for _, a := range g.Ranked {
			o.Ranked = append(o.Ranked, atRateObject{a.Cell, a.Received, costObject{a.Sender, a.Receiver, a.Together}, orNull(a.Verdict)})
		}
		all = append(all, o)
	}
	return all
}

func rateOrNull(l result.Ceiling) *float64 {
	if !l.IsRate() {
		return nil
	}
	return &l.BitsPerSecond
}

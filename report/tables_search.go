package report

import (
	"strings"

	"windtunnel/analysis"
	"windtunnel/result"
)

// searches are the highest rates that were found, a row a goal; under them all that a report of
// MLRsearch must tell (draft-ietf-bmwg-mlrsearch-15, sections 4.7.3, 4.8 and 4.9).
func searches(f analysis.Findings) section {
	t := &table{columns: []column{
		{name: "cell", text: true}, {name: "goal", text: true},
		{"rate", "estimate", false}, {"rate", "low", false}, {"rate", "high", false}, {"rate", "by", true},
		{"relevant bounds", "lower", false}, {"relevant bounds", "upper", false}, {name: "regular", text: true},
		{"conditional", "throughput", false}, {name: "limit", text: true},
	}}
	s := section{heading: "Highest rates found", table: t}
	for _, c := range f.Cells {
		if c.Search == nil {
			continue
		}
		for i, r := range c.Search.Found {
			t.rows = append(t.rows, rateRow(c.Spec.Name, *c.Search, i, r))
		}
		s.items = append(s.items, searchItem(c))
	}
	if len(t.rows) == 0 {
		t = nil
	}
	s.table = t
	return s
}

func rateRow(cell string, s result.Search, i int, r result.SearchResult) []string {
	load := func(v float64) string {
		if v == 0 {
			return dash
		}
		return result.FormatLoad(s.Unit, v)
	}
	bound := func(v *float64) string {
		if v == nil {
			return dash
		}
		return load(*v)
	}
	regular := "yes"
	if !r.Regular {
		regular = "NO"
	}
	estimate := load(r.Rate.Mean)
	if r.Rate.Known() && r.Rate.High == nil && r.Rate.Low != nil { // no more is known
		estimate = ">= " + load(*r.Rate.Low)
	}
	return []string{cell, s.Goals[i].Name(), estimate, bound(r.Rate.Low), bound(r.Rate.High), orDash(r.Basis),
		load(r.LowerBound), load(r.UpperBound), regular, load(r.ConditionalThroughput), orDash(r.Limit.Verdict)}
}

// searchItem is how a cell was searched.
func searchItem(c analysis.Cell) item {
	s := *c.Search
	i := item{name: c.Spec.Name, says: s.Attributes()}
	add := func(says string) { i.lines = append(i.lines, line{says: says}) }
	for j, r := range s.Found {
		g := s.Goals[j]
		add("goal " + g.Name() + ": " + g.Attributes())
		if !r.Regular {
			add(g.Name() + " is IRREGULAR: " + r.Why)
		}
		add(g.Name() + ": " + r.Limit.Says)
		if words := r.ReachedWords(s.Unit); words != "" {
			add(g.Name() + ": " + words + ", path and all")
		}
		if words := r.KeptWords(s.Unit); words != "" {
			add(g.Name() + ": " + words)
		}
	}
	for _, l := range s.Latencies {
		add("latency " + l.Words(s.Unit))
	}
	if s.Durations != "" {
		add("effective trial durations: " + s.Durations + "; of the trials: " + trialLengths(s))
	}
	if s.Error != "" {
		i.lines = append(i.lines, line{says: "it failed: " + s.Error, mood: bad})
	}
	return i
}

// trialLengths lists how many trials had which length.
func trialLengths(s result.Search) string {
	var order []string
	count := map[string]int{}
	for _, t := range s.Trials {
		length := whole(result.Figure{Mean: 1000 * t.Seconds, N: 1}) + " ms"
		if count[length] == 0 {
			order = append(order, length)
		}
		count[length]++
	}
	for i, length := range order {
		order[i] = whole(result.Figure{Mean: float64(count[length]), N: 1}) + " of " + length
	}
	return strings.Join(order, ", ")
}

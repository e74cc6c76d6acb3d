package scenario

import (
	"fmt"
	"slices"

	"windtunnel/result"
)

// readPublished reads the suite's `published: {A: {sent: 7375 Mbit/s}}`.
func (r *reader) readPublished(n *node) {
	if !r.isMapping(n, "`published`") {
		return
	}
	for _, f := range n.fields {
		i := slices.IndexFunc(r.spec.Cells, func(c Cell) bool { return c.Name == f.key })
		if i < 0 {
			r.unknownCell(f.at, f.key)
			continue
		}
		r.readFigures(f.value, &r.spec.Cells[i])
	}
}

func (r *reader) unknownCell(at position, name string) {
	if _, planned := r.plans[name]; !planned && !r.unsure && !r.full() {
		r.add(at, result.UnknownWord("cell", name, r.order))
	}
}

// readFigures reads the published figures of one cell, by metric.
func (r *reader) readFigures(n *node, cell *Cell) {
	if !r.isMapping(n, "a cell's `published`") {
		return
	}
	for _, f := range n.fields {
		metric, ok := r.metric(f.at, f.key)
		if !ok {
			continue
		}
		value, ok := parsed(r, f.value, "`"+f.key+"`", metric.Parse)
		if !ok {
			continue
		}
		if _, twice := cell.Published[metric]; twice {
			r.add(f.at, fmt.Sprintf("`%s` of the cell %s is published twice", f.key, cell.Name))
			continue
		}
		if cell.Published == nil {
			cell.Published = map[result.Metric]float64{}
		}
		cell.Published[metric] = value
	}
}

// metric returns the metric that a word names, if the suite has its node.
func (r *reader) metric(at position, word string) (result.Metric, bool) {
	m, ok := result.MetricByWord(word)
	if node := m.CPUNode(); ok && node != "" {
		ok = slices.Contains(r.nodes, node)
	}
	if !ok || word == "" {
		r.add(at, result.UnknownWord("metric", word, result.MetricWords(r.nodes)))
		return "", false
	}
	return m, true
}

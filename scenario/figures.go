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
		r.add(at, unknownWord("cell", name, r.order))
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
		value, ok := parsed(r, f.value, "`"+f.key+"`", figureParser(metric))
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
		r.add(at, unknownWord("metric", word, result.MetricWords(r.nodes)))
		return "", false
	}
	return m, true
}

// figureParser reads a metric's value in the unit that its records have.
func figureParser(m result.Metric) func(string) (float64, error) {
	switch m {
	case result.ReceivedRate, result.SentRate:
		return ParseBitRate
	case result.SenderCost, result.ReceiverCost, result.TogetherCost:
		return inUnits("cost", "512 ns/KiB", unit{"ns/KiB", 0, 1})
	case result.WirePacketRate:
		return inUnits("packet rate", "81000 packets/s", packetUnits...)
	case result.WirePacketSize, result.EndpointPacketSize:
		return inUnits("packet size", "1500B", sizeUnits...)
	}
	if m.CPUNode() != "" {
		return parseCPUPercent
	}
	return inUnits("number", "257", unit{"", 0, 1})
}

var packetUnits = []unit{{"packets/s", 0, 1}, {"kpackets/s", 3, 1}, {"Mpackets/s", 6, 1}}

func inUnits(what, example string, units ...unit) func(string) (float64, error) {
	return func(text string) (float64, error) { return quantity(text, what, example, units, nil) }
}

// parseCPUPercent reads the share of a node's CPUs that was busy, of all of
// them: more than 100 % is a figure of another kind.
func parseCPUPercent(text string) (float64, error) {
	v, err := ParsePercent(text)
	if err == nil && v > 100 {
		return 0, fmt.Errorf("`%s` is more than all of the node's CPUs; divide it by their number", clip(text))
	}
	return v, err
}

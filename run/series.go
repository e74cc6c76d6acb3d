package run

import (
	"windtunnel/result"
	"windtunnel/stats"
)

// series holds what the stopping rule looks at: each ratio's two cells, by block.
type series struct {
	cells  map[string]result.Cell
	ratios []result.Ratio
	trials map[string]map[int]result.Trial // by cell, by block; only what counts
}

func newSeries(p Plan) series {
	s := series{cells: map[string]result.Cell{}, ratios: p.Ratios, trials: map[string]map[int]result.Trial{}}
	for _, cell := range p.Cells {
		s.cells[cell.Record.Name] = cell.Record
		s.trials[cell.Record.Name] = map[int]result.Trial{}
	}
	return s
}

// add takes a trial in and returns the ratios that it gives a first estimate.
func (s series) add(t result.Trial) []result.Ratio {
	if t.Excluded != "" {
		return nil
	}
	s.trials[t.Cell][t.Block] = t
	var fresh []result.Ratio
	for _, r := range s.ratios {
		if (r.Over == t.Cell || r.Under == t.Cell) && len(s.blocks(r)) == 1 {
			fresh = append(fresh, r)
		}
	}
	return fresh
}

// blocks pairs a ratio's cells by block, in the order of the blocks.
func (s series) blocks(r result.Ratio) []stats.Block {
	var blocks []stats.Block
	over, under := s.trials[r.Over], s.trials[r.Under]
	for number := 1; len(blocks) < len(over) && number <= lastBlock(over); number++ {
		a, inOver := over[number]
		b, inUnder := under[number]
		if !inOver || !inUnder {
			continue
		}
		x, errX := s.cells[r.Over].Value(a, r.Metric)
		y, errY := s.cells[r.Under].Value(b, r.Metric)
		if errX == nil && errY == nil {
			first := a.Order < b.Order
			blocks = append(blocks, stats.Block{Number: number, Over: x, Under: y, OverFirst: &first})
		}
	}
	return blocks
}

func lastBlock(trials map[int]result.Trial) int {
	last := 0
	for number := range trials {
		last = max(last, number)
	}
	return last
}

func (s series) estimate(r result.Ratio) stats.Estimate { return stats.Ratio(s.blocks(r)) }

// known reports whether every ratio whose cells run is known to the precision.
// Without a ratio to know, nothing is: the budget then ends the run.
func (s series) known(precision float64) bool {
	asked := 0
	for _, r := range s.ratios {
		if len(s.trials[r.Over]) == 0 || len(s.trials[r.Under]) == 0 {
			continue
		}
		asked++
		if !stats.Known(s.estimate(r), precision) {
			return false
		}
	}
	return asked > 0
}

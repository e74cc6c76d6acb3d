package run

import (
	"slices"

	"windtunnel/result"
	"windtunnel/stats"
)

// series holds what the stopping rule looks at: the trials that count, so far.
type series struct {
	cells  []result.Cell
	ratios []result.Ratio
	trials []result.Trial
}

func newSeries(p Plan) *series {
	s := &series{ratios: p.blockRatios()}
	for _, cell := range p.Cells {
		s.cells = append(s.cells, cell.Record)
	}
	return s
}

// add takes a trial in and returns the ratios that it gives a first estimate.
func (s *series) add(t result.Trial) []result.Ratio {
	if t.Excluded != "" {
		return nil
	}
	s.trials = append(s.trials, t)
	var fresh []result.Ratio
	for _, r := range s.ratios {
		if (r.Over == t.Cell || r.Under == t.Cell) && s.estimate(r).N == 1 {
			fresh = append(fresh, r)
		}
	}
	return fresh
}

// counted is how many cells have a trial that counts in a block.
func (s *series) counted(block int) int {
	n := 0
	for _, t := range s.trials {
		if t.Block == block {
			n++
		}
	}
	return n
}

// mean is that of what a cell's trials say of a metric; 0 where none does.
func (s *series) mean(cell string, m result.Metric) float64 {
	sum, n := 0.0, 0
	for _, t := range s.trials {
		spec, _ := result.FindCell(s.cells, cell)
		if v, err := spec.Value(t, m); t.Cell == cell && err == nil {
			sum, n = sum+v, n+1
		}
	}
	return sum / float64(max(1, n))
}

func (s *series) estimate(r result.Ratio) stats.Estimate {
	return stats.OfTrials(s.cells, s.trials, r)
}

// known reports whether every ratio whose cells run is known to the precision.
// Without a ratio to know, nothing is: the budget then ends the run.
func (s *series) known(precision float64) bool {
	asked := 0
	for _, r := range s.ratios {
		if !s.runs(r.Over) || !s.runs(r.Under) {
			continue
		}
		asked++
		if !stats.Known(s.estimate(r), precision) {
			return false
		}
	}
	return asked > 0
}

func (s *series) runs(cell string) bool {
	return slices.ContainsFunc(s.trials, func(t result.Trial) bool { return t.Cell == cell })
}

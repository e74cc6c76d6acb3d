package run

import (
	"slices"

	"windtunnel/result"
	"windtunnel/stats"
)

// series holds what the stopping rule looks at: the trials that count, so far.
type series struct {
	cells      []result.Cell
	ratios     []result.Ratio
	hypotheses []result.Hypothesis
	trials     []result.Trial
	family     stats.Planned // that the ratios share their chance of a mistake with
}

func newSeries(p Plan) *series {
	s := &series{ratios: p.blockRatios(), hypotheses: p.Hypotheses}
	for _, cell := range p.Cells {
		s.cells = append(s.cells, cell.Record)
	}
	s.family = p.family().Planned(p.Times.BlocksPlanned)
	return s
}

// family is that of the run's ratios.
func (p Plan) family() stats.Family {
	var cells []result.Cell
	for _, c := range p.Cells {
		cells = append(cells, c.Record)
	}
	return stats.FamilyOf(p.Ratios, p.Hypotheses, cells)
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
	return s.family.OfTrials(s.cells, s.trials, r)
}

// known reports whether every ratio whose cells run, and whose testbeds stand, is known to the precision: more blocks would
// say nothing of another one. Without a ratio to know, nothing is: the budget then ends the run.
func (s *series) known(precision float64, stands func(cell string) bool) bool {
	asked := 0
	for _, r := range s.ratios {
		if !s.runs(r.Over) || !s.runs(r.Under) || !stands(r.Over) || !stands(r.Under) {
			continue
		}
		asked++
		if !stats.Known(s.estimate(r), precision) {
			return false
		}
	}
	return asked > 0
}

// open are the ratios of which more blocks would decide something: known less well than to the precision, or such that a
// hypothesis on them is undecided. One that no trial so far gives a value is not: more would give none.
func (s *series) open(precision float64) []result.Ratio {
	var open []result.Ratio
	for _, r := range s.ratios {
		if e := s.estimate(r); e.Known() && !stats.Known(e, precision) {
			open = append(open, r)
		}
	}
	for _, h := range s.hypotheses {
		for _, c := range h.Holds.All {
			if h.NotMeasured == "" && stats.Judge(c, s.estimate(c.Ratio)) == stats.Undecided {
				open = append(open, c.Ratio)
			}
		}
	}
	return open
}

// compared reports whether anything is asked about a cell and another one.
func (s *series) compared(cell string) bool {
	has := func(r result.Ratio) bool { return r.Over == cell || r.Under == cell }
	return slices.ContainsFunc(s.ratios, has) ||
		slices.ContainsFunc(s.hypotheses, func(h result.Hypothesis) bool { return slices.ContainsFunc(h.Holds.Ratios(), has) })
}

func (s *series) runs(cell string) bool {
	return slices.ContainsFunc(s.trials, func(t result.Trial) bool { return t.Cell == cell })
}

package scenario

import (
	"fmt"
	"slices"

	"windtunnel/result"
)

// Cell returns the cell of that name.
func (s Spec) Cell(name string) (Cell, bool) {
	i := slices.IndexFunc(s.Cells, func(c Cell) bool { return c.Name == name })
	if i < 0 {
		return Cell{}, false
	}
	return s.Cells[i], true
}

// CellNames lists the cells in the suite's order.
func (s Spec) CellNames() []string {
	names := make([]string, len(s.Cells))
	for i, c := range s.Cells {
		names[i] = c.Name
	}
	return names
}

// NodeNames lists the nodes in the suite's order.
func (s Spec) NodeNames() []string {
	names := make([]string, len(s.Nodes))
	for i, n := range s.Nodes {
		names[i] = n.Name
	}
	return names
}

// AllRatios lists the ratios that the suite names, and then those that only its
// hypotheses speak of; each once.
func (s Spec) AllRatios() []result.Ratio {
	all := slices.Clone(s.Ratios)
	for _, h := range s.Hypotheses {
		for _, ratio := range h.Holds.Ratios() {
			if !slices.Contains(all, ratio) {
				all = append(all, ratio)
			}
		}
	}
	return all
}

// Only returns the suite with the named cells alone, in the suite's order, and
// with the ratios and hypotheses that speak of nothing else.
func (s Spec) Only(names []string) (Spec, error) {
	for _, name := range names {
		if _, ok := s.Cell(name); !ok {
			return Spec{}, fmt.Errorf("suite %s: %s", s.Suite, result.UnknownWord("cell", name, s.CellNames()))
		}
	}
	kept := func(ratio result.Ratio) bool {
		return slices.Contains(names, ratio.Over) && slices.Contains(names, ratio.Under)
	}
	without := func(h Hypothesis) bool {
		return slices.ContainsFunc(h.Holds.Ratios(), func(ratio result.Ratio) bool { return !kept(ratio) })
	}
	s.Cells = slices.DeleteFunc(slices.Clone(s.Cells), func(c Cell) bool { return !slices.Contains(names, c.Name) })
	s.Ratios = slices.DeleteFunc(slices.Clone(s.Ratios), func(ratio result.Ratio) bool { return !kept(ratio) })
	s.Hypotheses = slices.DeleteFunc(slices.Clone(s.Hypotheses), without)
	return s, nil
}

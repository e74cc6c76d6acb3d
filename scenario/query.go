package scenario

import (
	"fmt"
	"path"
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

// matching are the cells that a pattern names.
func (s Spec) matching(pattern string) []string {
	var names []string
	for _, name := range s.CellNames() {
		if match, err := path.Match(pattern, name); err == nil && match {
			names = append(names, name)
		}
	}
	return names
}

// Only returns the suite with the named cells alone, in the suite's order, and
// with the ratios and hypotheses that speak of nothing else. A name may be a pattern,
// in which * stands for any text.
func (s Spec) Only(patterns []string) (Spec, error) {
	var names []string
	for _, pattern := range patterns {
		matching := s.matching(pattern)
		if len(matching) == 0 {
			return Spec{}, fmt.Errorf("suite %s: %s", s.Suite, result.UnknownWord("cell", pattern, s.CellNames()))
		}
		names = append(names, matching...)
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

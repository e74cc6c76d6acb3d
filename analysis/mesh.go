package analysis

import "slices"

// Mesh is what the pairs of a cell are as a matrix: At[i][k] is the index of the pair from From[i] to To[k] in Cell.Pairs,
// -1 where there is none.
type Mesh struct {
	From, To []string
	At       [][]int
}

// leastPlaces is how many places make a mesh: two are a pair and its way back.
const leastPlaces = 3

// Mesh is the matrix of a cell whose pairs have places in common, empty for every other one.
func (c Cell) Mesh() Mesh {
	var m Mesh
	add := func(to *[]string, name string) {
		if !slices.Contains(*to, name) {
			*to = append(*to, name)
		}
	}
	var places []string
	for _, p := range c.Pairs {
		add(&m.From, p.From)
		add(&m.To, p.To)
		add(&places, p.From)
		add(&places, p.To)
	}
	if len(places) < leastPlaces || len(places) == 2*len(c.Pairs) {
		return Mesh{}
	}
	inOrder := func(a, b string) int { return slices.Index(places, a) - slices.Index(places, b) }
	slices.SortFunc(m.From, inOrder)
	slices.SortFunc(m.To, inOrder)
	for _, from := range m.From {
		row := make([]int, len(m.To))
		for k, to := range m.To {
			row[k] = slices.IndexFunc(c.Pairs, func(p Pair) bool { return p.From == from && p.To == to })
		}
		m.At = append(m.At, row)
	}
	return m
}

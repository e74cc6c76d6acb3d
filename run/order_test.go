package run

import (
	"math/rand/v2"
	"testing"

	"windtunnel/result"
)

// TestABlockHasItsOwnCells, backwards or not: where all of the last block's broke, as many others take their place.
func TestABlockHasItsOwnCells(t *testing.T) {
	named := func(names ...string) (cells []PlannedCell) {
		for _, n := range names {
			cells = append(cells, PlannedCell{Record: result.Cell{Name: n}})
		}
		return cells
	}
	c := &Conductor{random: rand.New(rand.NewPCG(1, 2))}
	first := c.order(named("A", "B"), 1)
	if back := c.order(named("B", "A"), 2); back[0].Record.Name != first[1].Record.Name {
		t.Errorf("%v is not backwards", back)
	}
	c.order(named("A", "B"), 3)
	for _, cell := range c.order(named("C", "D"), 4) {
		if name := cell.Record.Name; name != "C" && name != "D" {
			t.Errorf("cell %s is not of the block", name)
		}
	}
}

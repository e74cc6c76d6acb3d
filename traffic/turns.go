package traffic

import (
	"math/bits"
	"slices"
)

// Turns finds out which of two ways to move the same traffic brings more, while it moves: the plain one and another go by turns, and what
// counts is the median of their ratios. Which it is, the CPU, the kernel and the path decide, and nothing that can be asked.
type Turns struct {
	pairs  int
	first  float64 // the rate of the first turn of the pair that is under way
	half   bool    // it has been
	ratios []float64
}

// NewTurns is a comparison by so many pairs of turns, at least 1.
func NewTurns(pairs int) Turns { return Turns{pairs: max(1, pairs)} }

// Other tells whether the next turn goes the other way: 0 1 1 0 1 0 0 1 (Thue and Morse), so that each pair has both, and a rate which
// grows or falls meanwhile, even with time squared, favours neither.
func (t *Turns) Other() bool {
	pair := bits.OnesCount(uint(len(t.ratios)))%2 == 1
	return !t.Over() && pair != t.half
}

// Add takes what the turn brought that went as Other said, in anything per second, at least 0.
func (t *Turns) Add(rate float64) {
	switch other := t.Other(); {
	case t.Over():
	case !t.half:
		t.first, t.half = rate, true
	case other:
		t.end(rate, t.first)
	default:
		t.end(t.first, rate)
	}
}

func (t *Turns) end(other, plain float64) {
	t.ratios = append(t.ratios, other/max(1, plain))
	t.half = false
}

// Again lets the pair that is under way begin anew: its second turn could not follow the first one.
func (t *Turns) Again() { t.half = false }

// Begun tells whether there has been a turn.
func (t *Turns) Begun() bool { return t.half || len(t.ratios) > 0 }

// Over tells whether all turns have been.
func (t *Turns) Over() bool { return len(t.ratios) == t.pairs }

// Gain is how many times as much the other way brings: the median over the pairs, which a turn without a CPU does not move far; 0 before
// the end.
func (t *Turns) Gain() float64 {
	if !t.Over() || t.pairs == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(t.ratios))
	return (sorted[(t.pairs-1)/2] + sorted[t.pairs/2]) / 2
}

package stats

import (
	"fmt"

	"windtunnel/result"
)

// Blocks pairs the trials of a ratio's two cells by block. A block in which
// either cell has no trial that counts, or whose figure is missing, is left out;
// the reason is that of the last one left out.
func Blocks(cells []result.Cell, trials []result.Trial, r result.Ratio) (blocks []Block, reason string) {
	over, okOver := result.FindCell(cells, r.Over)
	under, okUnder := result.FindCell(cells, r.Under)
	if !okOver || !okUnder {
		return nil, fmt.Sprintf("the run has no cells %s and %s", r.Over, r.Under)
	}
	others := map[int]result.Trial{}
	for _, t := range result.Counted(trials, r.Under) {
		others[t.Block] = t
	}
	for _, t := range result.Counted(trials, r.Over) {
		other, ok := others[t.Block]
		if !ok {
			continue
		}
		b, err := pair(r, over, t, under, other)
		if err != nil {
			reason = err.Error()
			continue
		}
		blocks = append(blocks, b)
	}
	return blocks, reason
}

func pair(r result.Ratio, over result.Cell, a result.Trial, under result.Cell, b result.Trial) (Block, error) {
	numerator, err := over.Value(a, r.Metric)
	if err != nil {
		return Block{}, fmt.Errorf("%s: %w", r.Over, err)
	}
	denominator, err := under.Value(b, r.Metric)
	if err != nil {
		return Block{}, fmt.Errorf("%s: %w", r.Under, err)
	}
	return Block{Number: a.Block, Over: numerator, Under: denominator, OverFirst: first(a, b)}, nil
}

// first tells which of two trials ran first, nil where that was not recorded. A
// repeated trial keeps its place in the block, so time decides where it is known.
func first(a, b result.Trial) *bool {
	var before bool
	switch {
	case a.ElapsedSeconds != b.ElapsedSeconds:
		before = a.ElapsedSeconds < b.ElapsedSeconds
	case a.Order != b.Order:
		before = a.Order < b.Order
	default:
		return nil
	}
	return &before
}

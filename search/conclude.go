package search

import (
	"slices"

	"windtunnel/result"
)

// conclude says what was found.
func (b *bench) conclude() result.Search {
	s := result.Search{Method: b.Method, MinLoad: b.MinLoad, MaxLoad: b.MaxLoad, BudgetSeconds: b.Budget, Goals: slices.Clone(b.Goals),
		Trials: b.trials, SpentSeconds: b.spent, GeneratorLimit: b.generator, Durations: Durations}
	for _, t := range b.trials {
		s.TrafficSeconds += t.EffectiveSeconds
	}
	if b.Method == result.MethodMLR {
		s.Durations += "; " + QueuedCount
	}
	w := b.observe()
	for _, g := range b.Goals {
		s.Found = append(s.Found, b.result(g, w))
	}
	s.Doubts = b.doubts(s, w)
	return s
}

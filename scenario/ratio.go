package scenario

import (
	"errors"

	"windtunnel/result"
)

// Ratio reads a ratio of the suite's cells, as a person writes one: "B/A", "cpu.b: B/A". The error names the nearest
// valid word.
func (s Spec) Ratio(text string) (result.Ratio, error) {
	r := &reader{plans: map[string]*cellPlan{}, order: s.CellNames(), nodes: s.NodeNames()}
	for _, name := range r.order {
		r.plans[name] = &cellPlan{name: name}
	}
	g := r.grammar(&node{shape: scalar, text: text, at: position{1, 1}})
	made := g.ratio()
	g.end("the ratio")
	var all *Errors
	if err := r.err(); errors.As(err, &all) {
		return made, errors.New(all.All[0].Says)
	}
	return made, nil
}

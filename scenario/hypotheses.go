package scenario

import (
	"fmt"
	"slices"
	"windtunnel/result"
)

// readHypotheses reads `hypotheses: [{id: ..., says: ..., holds: "B/A <= 1"}]`.
func (r *reader) readHypotheses(n *node) {
	if !r.isList(n, "`hypotheses`", maxHypotheses) {
		return
	}
	for _, item := range n.items {
		if r.full() {
			return
		}
		if item.shape != mapping {
			r.add(item.at, fmt.Sprintf("a hypothesis is %s; write `{id: ..., says: ..., holds: \"B/A <= 1\"}`", item.describe()))
			continue
		}
		r.readHypothesis(item)
	}
}

func (r *reader) readHypothesis(n *node) {
	var made Hypothesis
	r.readKeys(n, "a hypothesis", []handler{
		{key: "id", read: func(n *node) { made.ID = r.hypothesisID(n) }},
		{key: "says", read: r.into(&made.Says, "`says`")},
		{key: "holds", read: func(n *node) {
			if r.isQuoted(n, "a predicate") {
				made.Holds = r.grammar(n).predicate()
			}
		}},
		{key: "requires", read: func(n *node) { r.readRequires(n, &made.Requires) }},
		{key: "parallelism", read: func(n *node) {
			made.Parallelism, _ = parsed(r, n, "`parallelism`", result.ParseSwitch)
		}},
	})
	for _, key := range []string{"id", "says", "holds"} {
		if n.get(key) == nil {
			r.add(n.at, fmt.Sprintf("the hypothesis lacks `%s`", key))
		}
	}
	r.spec.Hypotheses = append(r.spec.Hypotheses, made)
}

func (r *reader) hypothesisID(n *node) string {
	id, ok := r.name(n, "the hypothesis", maxName)
	if ok && slices.ContainsFunc(r.spec.Hypotheses, func(h Hypothesis) bool { return h.ID == id }) {
		r.add(n.at, fmt.Sprintf("there is a hypothesis %s already; give this one another id", id))
	}
	return id
}

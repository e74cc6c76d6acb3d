package scenario

import (
	"fmt"
	"slices"
	"strings"
	"windtunnel/result"
)

// A matrix is `{cell: {...}, axes: {...}}`: one cell for every combination of
// the axes' values, the last axis turning fastest.

// axisValue is one value of one axis: a patch of the cell.
type axisValue struct {
	word  string // its part of the cell's name
	says  string // its part of the cell's words
	at    position
	patch *node
}

func (r *reader) planMatrix(n *node) {
	var base, axes *node
	r.readKeys(n, "`matrix`", []handler{{key: "cell", read: keep(&base)}, {key: "axes", read: keep(&axes)}})
	if base == nil {
		base = &node{at: n.at}
	}
	if axes == nil || axes.shape != mapping || len(axes.fields) == 0 {
		r.add(n.at, "`matrix` has no axes; say `axes: {segmentation: [as-found, off]}`")
		r.unsure = true
		return
	}
	r.expand(base, r.readAxes(axes))
}

// readAxes leaves out an axis with nothing valid in it: the others are still
// worth reading for what else is wrong.
func (r *reader) readAxes(n *node) [][]axisValue {
	if len(n.fields) > maxAxes {
		r.add(n.fields[maxAxes].at, fmt.Sprintf("a matrix has at most %d axes", maxAxes))
		r.unsure = true
		return nil
	}
	all, product := make([][]axisValue, 0, len(n.fields)), 1
	for _, f := range n.fields {
		values := r.readAxis(f)
		if product *= max(1, len(values)); product > maxCells {
			r.add(f.at, fmt.Sprintf("with this axis the matrix has %d cells; a suite has at most %d", product, maxCells))
			r.unsure = true
			return nil
		}
		if len(values) == 0 {
			r.unsure = true
			continue
		}
		all = append(all, values)
	}
	return all
}

// readAxis reads a list of values of one field, or a mapping of named patches.
func (r *reader) readAxis(f field) []axisValue {
	switch {
	case f.value.shape == list && len(f.value.items) > 0:
		return r.listAxis(f)
	case f.value.shape == mapping && len(f.value.fields) > 0:
		return r.namedAxis(f)
	}
	r.add(f.value.at, fmt.Sprintf("the axis %s is %s; it takes a list of values, or named patches: {bridge: {path: bridge}}", result.Clip(f.key), f.value.describe()))
	return nil
}

func (r *reader) namedAxis(f field) []axisValue {
	var values []axisValue
	for _, v := range f.value.fields {
		if v.value.shape != mapping {
			r.add(v.value.at, fmt.Sprintf("`%s` is %s; a named value of an axis is a patch of the cell: {path: bridge}", result.Clip(v.key), v.value.describe()))
			continue
		}
		says := v.key
		if own := v.value.get("says"); own != nil && own.text != "" {
			says = own.text
		}
		values = append(values, axisValue{v.key, says, v.at, v.value})
	}
	return values
}

// listAxis reads `wire.mtu: [1500, 9000]`: the axis's name is the field.
func (r *reader) listAxis(f field) []axisValue {
	fields := r.axisFields()
	if !slices.Contains(fields, f.key) {
		r.add(f.at, result.UnknownWord("field of a cell", f.key, fields)+"; other axes take named patches: {NAME: {path: bridge}}")
		return nil
	}
	var values []axisValue
	steps := strings.Split(f.key, ".")
	for _, item := range f.value.items {
		text, ok := r.text(item, "a value of the axis "+f.key)
		if !ok {
			continue
		}
		patch := item
		for i := len(steps) - 1; i >= 0; i-- {
			patch = wrap(steps[i], f.at, patch)
		}
		values = append(values, axisValue{text, steps[len(steps)-1] + " " + text, item.at, patch})
	}
	return values
}

// axisFields are the fields that an axis of plain values may turn.
func (r *reader) axisFields() []string {
	fields := []string{"beside", "checksum", "path", "segmentation", "traffic", "window", "wire.gro", "wire.kind", "wire.loss", "wire.mtu", "wire.queues", "wire.rate", "wire.spread", "wire.steer", "wire.vmq"}
	seen := map[string]bool{}
	add := func(name string) {
		if !seen[name] {
			seen[name] = true
			fields = append(fields, name)
		}
	}
	for _, options := range r.vocab.Paths {
		for _, o := range options {
			add("path." + o.Name)
		}
	}
	for _, options := range r.vocab.Kinds {
		for _, o := range options {
			add("traffic." + o.Name)
			add("beside." + o.Name)
		}
	}
	slices.Sort(fields)
	return fields
}

// expand plans one cell for every combination.
func (r *reader) expand(base *node, axes [][]axisValue) {
	if len(axes) == 0 {
		return
	}
	turn := make([]int, len(axes))
	for {
		if !r.planCombination(base, axes, turn) || !next(turn, axes) {
			return
		}
	}
}

// next turns the last axis, and those before it as each comes round; false
// after the last combination.
func next(turn []int, axes [][]axisValue) bool {
	for i := len(turn) - 1; i >= 0; i-- {
		turn[i]++
		if turn[i] < len(axes[i]) {
			return true
		}
		turn[i] = 0
	}
	return false
}

func (r *reader) planCombination(base *node, axes [][]axisValue, turn []int) bool {
	p := &cellPlan{layers: []layer{{body: base, what: "the matrix's cell", like: true}}}
	var words, says []string
	if own := base.get("says"); own != nil && own.text != "" {
		says = append(says, own.text)
	}
	for i, t := range turn {
		v := axes[i][t]
		words, says = append(words, cleaned(v.word)), append(says, v.says)
		p.layers = append(p.layers, layer{body: v.patch, what: "the patch " + result.Clip(v.word)})
		p.at = v.at
	}
	p.name, p.says = strings.Join(words, "-"), strings.Join(says, ", ")
	if !r.isName(p.at, "the matrix's cell", p.name, maxName) {
		r.unsure = true
		return !r.full()
	}
	return r.plan(p)
}

// cleaned makes a value part of a name: what is not a letter, a digit, a dash
// or an underscore becomes an underscore.
func cleaned(word string) string {
	return strings.Map(func(c rune) rune {
		if c == '.' || notInName(c) {
			return '_'
		}
		return c
	}, word)
}

package scenario

import (
	"fmt"
	"slices"
	"strings"
	"windtunnel/result"
)

// cellPlan is a cell's text before it is resolved: the layers to lay over the
// suite, or over the cell that the first layer is like.
type cellPlan struct {
	name   string
	at     position
	says   string // of a matrix cell: composed
	layers []layer
	state  planState
	made   draft
}

type planState int

const (
	waiting planState = iota
	resolving
	resolved
)

// planCells reads `cells: {A: {...}, B: {...}}` as far as names go.
func (r *reader) planCells(n *node) {
	if !r.isMapping(n, "`cells`") {
		return
	}
	for _, f := range n.fields {
		if !r.isName(f.at, "the cell", f.key, maxName) {
			r.unsure = true
			continue
		}
		body := layer{body: f.value, what: "the cell " + f.key, like: true, own: true}
		if !r.plan(&cellPlan{name: f.key, at: f.at, layers: []layer{body}}) {
			return
		}
	}
}

// plan adds a cell; false means that there is no room for more.
func (r *reader) plan(p *cellPlan) bool {
	if len(r.order) == maxCells {
		r.add(p.at, fmt.Sprintf("a suite has at most %d cells", maxCells))
		r.unsure = true
		return false
	}
	if _, twice := r.plans[p.name]; twice {
		r.add(p.at, fmt.Sprintf("there is a cell %s already; give this one another name", p.name))
		return true
	}
	r.plans[p.name] = p
	r.order = append(r.order, p.name)
	return true
}

// resolveCells makes every planned cell, in order.
func (r *reader) resolveCells(root *node) {
	if root.get("cells") == nil && root.get("matrix") == nil {
		r.add(root.at, "the suite has no cells; say `cells: {NAME: {...}}` or `matrix`")
		return
	}
	if len(r.order) == 0 && !r.full() && len(r.all) == 0 {
		r.add(root.at, "the suite has no cells; `cells` is empty")
		return
	}
	for _, name := range r.order {
		if r.full() {
			return
		}
		p := r.plans[name]
		r.resolve(p, nil)
		if p.state == resolved {
			r.spec.Cells = append(r.spec.Cells, p.made.finish())
		}
	}
}

// resolve lays the plan's layers over its base. trail holds the cells that wait
// for this one, so that a circle can be shown.
func (r *reader) resolve(p *cellPlan, trail []string) {
	if p.state != waiting {
		return
	}
	p.state = resolving
	made := r.base(p, append(trail, p.name))
	made.cell.Name, made.cell.Line, made.cell.Column = p.name, p.at.line, p.at.column
	for _, l := range p.layers {
		made.apply(l)
	}
	if p.says != "" {
		made.cell.Says = p.says
	}
	p.made, p.state = made, resolved
}

// base is what the plan's cell begins with: the suite's draft, or the cell that
// it is like.
func (r *reader) base(p *cellPlan, trail []string) draft {
	made := r.suite.inherit()
	made.lost = true
	n := p.layers[0].body.get("like")
	if n == nil {
		made.lost = false
		return made
	}
	name, ok := r.text(n, "`like`")
	if !ok {
		return made
	}
	other, known := r.plans[name]
	switch {
	case !known:
		r.unknownCell(n.at, name)
		return made
	case other.state == resolving:
		circle := append(trail[slices.Index(trail, name):], name)
		r.add(n.at, "cells are like each other in a circle: "+result.Clip(strings.Join(circle, " -> ")))
		return made
	}
	r.resolve(other, trail)
	made = other.made.inherit()
	made.cell.Says = "like " + name
	return made
}

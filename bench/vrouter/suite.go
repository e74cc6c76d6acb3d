package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"windtunnel/bench"
	"windtunnel/result"
)

// suitePart is one run of a suite.
type suitePart struct {
	title string
	suite string // a shipped one's name, or a file
	wire  string
	// window is each trial's; empty: what the planner makes of the budget, which is fewer and longer trials.
	window string
	// ways are the cells of which the best, by its rate over the kernel's VXLAN, stands for the
	// vRouter; ratios name it so.
	ways   []string
	ratios []ratio
	costs  []ratio
}

// best is, in a ratio, the best of the part's ways.
const best = "best"

// ratio is one of two cells: of received rates, if it names no other metric.
type ratio struct {
	over, under string
	metric      result.Metric
	goal        bench.Goal
	limit       string // bench.Comparison.Limit, of a ratio with a goal
}

func (p suitePart) name() string { return p.title }

// cells are those that any of the part's ratios needs.
func (p suitePart) cells() (cells []string) {
	add := func(name string) {
		if name != best && !slices.Contains(cells, name) {
			cells = append(cells, name)
		}
	}
	for _, r := range slices.Concat(p.ratios, p.costs) {
		add(r.over)
		add(r.under)
	}
	for _, way := range p.ways {
		add(way)
	}
	return cells
}

func (p suitePart) measure(ctx context.Context, s settings, stderr io.Writer) (outcome, error) {
	run := bench.Suite{Program: filepath.Join(s.bin, "windtunnel"), Suite: p.suite, Cells: p.cells(), Wire: p.wire, Window: p.window, Budget: s.budget}
	t, err := run.Run(ctx, stderr)
	if err != nil {
		return outcome{}, err
	}
	return p.read(trials{t}), nil
}

// read makes the rows of a run.
func (p suitePart) read(t trials) (o outcome) {
	way := p.best(t)
	for _, r := range p.ratios {
		note := ""
		if r.over == best {
			r.over, note = way, "the best encapsulation, "
		}
		o.rows = append(o.rows, t.comparison(r, note, p.title))
	}
	for _, beside := range p.ways {
		for _, r := range p.ratios {
			if r.over == best && beside != way {
				o.rows = append(o.rows, t.comparison(ratio{over: beside, under: r.under, metric: r.metric}, "beside it, ", p.title))
			}
		}
	}
	for _, r := range p.costs {
		o.costs = append(o.costs, t.comparison(r, "", p.title))
	}
	return o
}

// best is the way with the highest rate over the kernel's VXLAN; the first, when none has one.
func (p suitePart) best(t trials) string {
	found, highest := "", 0.0
	for _, way := range p.ways {
		e := t.comparison(ratio{over: way, under: "vxlan"}, "", "").Estimate()
		if found == "" || e.Known() && e.Estimate > highest {
			found, highest = way, e.Estimate
		}
	}
	return found
}

// trials are a run's.
type trials struct{ bench.Trials }

// comparison pairs two cells by block.
func (t trials) comparison(r ratio, note, title string) *bench.Comparison {
	c := &bench.Comparison{What: fmt.Sprintf("%s%s, %s / %s, %s", note, quantities[r.metric], cellSays(r.over), cellSays(r.under), title), Goal: r.goal, Limit: r.limit}
	if r.metric == "" {
		r.metric = result.ReceivedRate
	}
	t.Pair(c, r.over, r.under, r.metric)
	return c
}

// cellSays names a cell by the last part of its name: as-found-mplsoudp is the vRouter.
func cellSays(cell string) string {
	for name, text := range says {
		if cell == name || strings.HasSuffix(cell, "-"+name) && says[cell] == "" {
			return text
		}
	}
	return cell
}

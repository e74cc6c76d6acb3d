package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
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

// fewTrials is the exit code of a run whose cells have no two usable trials each: rows say so, and the
// other parts go on.
const fewTrials = 4

func (p suitePart) measure(ctx context.Context, s settings, stderr io.Writer) (outcome, error) {
	dir, err := os.MkdirTemp("", "windtunnel-bench-")
	if err != nil {
		return outcome{}, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "run")
	args := []string{"run", p.suite, "--cells", strings.Join(p.cells(), ","), "--wire", p.wire, "--budget", s.budget.String(), "--precision", "2%", "--out", out}
	if p.window != "" {
		args = append(args, "--window", p.window)
	}
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, "windtunnel"), args...)
	cmd.Stderr = stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != fewTrials {
		return outcome{}, fmt.Errorf("running the suite %s: %w", p.suite, err)
	}
	file, err := result.Read(out)
	if err != nil {
		return outcome{}, err
	}
	return p.read(trials{file}), nil
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
type trials struct{ file result.File }

// comparison pairs two cells by block.
func (t trials) comparison(r ratio, note, title string) *bench.Comparison {
	c := &bench.Comparison{What: fmt.Sprintf("%s%s, %s / %s, %s", note, quantities[r.metric], cellSays(r.over), cellSays(r.under), title), Goal: r.goal, Limit: r.limit}
	if r.metric == "" {
		r.metric = result.ReceivedRate
	}
	over, under := t.values(r.over, r.metric), t.values(r.under, r.metric)
	for block := 1; block <= len(t.file.Trials); block++ {
		ours, a := over[block]
		peer, b := under[block]
		if a && b && peer != 0 {
			c.Add(ours, peer)
		}
	}
	if len(c.Ours) == 0 {
		c.Why = t.why(r)
	}
	return c
}

// why says what kept a ratio from being measured.
func (t trials) why(r ratio) string {
	for _, name := range []string{r.over, r.under} {
		for _, cell := range t.file.Cells {
			if cell.Name == name && cell.Skipped+cell.Failed != "" {
				return cell.Skipped + cell.Failed
			}
		}
	}
	return "no trial of " + r.over + " and " + r.under + " in one block counts"
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

// values are a cell's figures of a metric by block, of the trials that count.
func (t trials) values(name string, metric result.Metric) map[int]float64 {
	found := map[int]float64{}
	for _, cell := range t.file.Cells {
		for _, trial := range t.file.Trials {
			if cell.Name != name || trial.Cell != name || trial.Excluded != "" {
				continue
			}
			if value, err := cell.Value(trial, metric); err == nil {
				found[trial.Block] = value
			}
		}
	}
	return found
}

package bench

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"windtunnel/result"
)

// Suite is a run of some cells of a suite, whose random blocks are the rounds of comparisons.
type Suite struct {
	Program string // windtunnel
	Suite   string // a shipped one's name, or a file
	Cells   []string
	Wire    string // "": the suite's
	Window  string // "": the planner's
	Budget  time.Duration
}

// fewTrials is the exit code of a run whose cells have no two usable trials each: rows say so, and what
// else is compared goes on.
const fewTrials = 4

// Run runs it and returns what it measured.
func (s Suite) Run(ctx context.Context, stderr io.Writer) (Trials, error) {
	dir, err := os.MkdirTemp("", "windtunnel-bench-")
	if err != nil {
		return Trials{}, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "run")
	args := []string{"run", s.Suite, "--cells", strings.Join(s.Cells, ","), "--budget", s.Budget.String(), "--precision", "2%", "--out", out}
	if s.Wire != "" {
		args = append(args, "--wire", s.Wire)
	}
	if s.Window != "" {
		args = append(args, "--window", s.Window)
	}
	cmd := exec.CommandContext(ctx, s.Program, args...)
	cmd.Stderr = stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != fewTrials {
		return Trials{}, fmt.Errorf("running the suite %s: %w", s.Suite, err)
	}
	file, err := result.Read(out)
	return Trials{file}, err
}

// Trials are a run's.
type Trials struct{ File result.File }

// Pair gives a comparison the figures of two cells, block by block, or why there are none.
func (t Trials) Pair(c *Comparison, over, under string, metric result.Metric) {
	ours, peers := t.values(over, metric), t.values(under, metric)
	for block := 1; block <= len(t.File.Trials); block++ {
		our, a := ours[block]
		peer, b := peers[block]
		if a && b && peer != 0 {
			c.Add(our, peer)
		}
	}
	if len(c.Ours) == 0 {
		c.Why = t.why(over, under)
	}
}

// why says what kept a ratio from being measured.
func (t Trials) why(cells ...string) string {
	for _, name := range cells {
		for _, cell := range t.File.Cells {
			if cell.Name == name && cell.Skipped+cell.Failed != "" {
				return cell.Skipped + cell.Failed
			}
		}
	}
	return "no trial of " + strings.Join(cells, " and ") + " in one block counts"
}

// values are a cell's figures of a metric by block, of the trials that count.
func (t Trials) values(name string, metric result.Metric) map[int]float64 {
	found := map[int]float64{}
	for _, cell := range t.File.Cells {
		for _, trial := range t.File.Trials {
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

//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"windtunnel/agent"
	"windtunnel/agent/proto"
	"windtunnel/analysis"
	"windtunnel/result"
	"windtunnel/run"
	"windtunnel/scenario"
	"windtunnel/testbed"
	netlook "windtunnel/testbed/look"
	"windtunnel/testbed/netns"
)

// runFlags are what `windtunnel run` takes.
type runFlags struct {
	budget, window time.Duration
	precision      string
	cells          []string
	wire, nodes    string
	seed           uint64
	noProfile      bool
	out            string
	json           bool
	why            string
	factors        []string
	short          bool // what suspects give back, not the whole report
}

func runCommand(s streams) *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run SUITE",
		Short: "Build a suite's testbeds, measure them in blocks, and report",
		Long: "SUITE is a shipped suite (`windtunnel list` has them) or a YAML file. Builds a testbed for each of its cells, measures all of them in\n" +
			"turn, in blocks, until each ratio is known to --precision or --budget is used up, and prints the report. The run's folder keeps\n" +
			"report.html and the records, which `windtunnel report`, `compare`, `explain` and `history` read. Ctrl-C ends it with the report of what\n" +
			"there is. It needs root; what it builds is gone when it ends, however it ends (`windtunnel plan SUITE` shows it first).",
		Example: "  windtunnel run contrail-windows --budget 3m\n" +
			"  windtunnel run overlay --cells off-bridge,off-mplsoudp --precision 3%\n" +
			"  windtunnel run ./my-suite.yaml --wire memory --json",
		Args: takes("SUITE"),
		RunE: func(c *cobra.Command, args []string) error { return runSuite(c.Context(), s, args[0], f) },
	}
	f.define(c)
	c.Flags().StringSliceVar(&f.cells, "cells", nil, "only these cells (A,B,..., or a pattern: '64B-*')")
	f.defineWhy(c)
	return c
}

// define adds the flags of whatever measures a suite.
func (f *runFlags) define(c *cobra.Command) {
	f.defineBudget(c)
	c.Flags().StringVar(&f.precision, "precision", "5%", "stop when every ratio is known this well")
	c.Flags().StringVar(&f.wire, "wire", "", "nic or memory, instead of the suite's")
	c.Flags().StringVar(&f.nodes, "nodes", "", "real hosts for the suite's nodes, by ssh: a=ssh://root@h1?data=10.0.0.1,b=ssh://root@h2?data=10.0.0.2 (for a team of links data=10.0.0.1+10.1.0.1)")
	c.Flags().DurationVar(&f.window, "window", 0, "length of a trial's window, instead of the planner's 1 to 3 s")
	c.Flags().Uint64Var(&f.seed, "seed", 0, "order of the trials (0: drawn, and recorded)")
	c.Flags().BoolVar(&f.noProfile, "no-profile", false, "do not sample stacks: no layer costs and no flame graphs")
	c.Flags().StringVar(&f.out, "out", "", "the run's folder, which must not exist or be empty (default ./runs/<time>-<suite>)")
	c.Flags().BoolVar(&f.json, "json", false, "print the report as JSON")
}

func (f *runFlags) defineBudget(c *cobra.Command) {
	c.Flags().DurationVar(&f.budget, "budget", 0, fmt.Sprintf("the time for everything, building included (default the suite's, or %s)", run.DefaultBudget))
}

// settings checks the flags.
func (f runFlags) settings() (run.Settings, error) {
	s := run.Settings{Budget: f.budget, Window: f.window, Cells: f.cells, Wire: f.wire, Seed: f.seed, NoProfile: f.noProfile}
	var err error
	if s.Precision, err = shareFlag("precision", f.precision); err != nil {
		return s, err
	}
	if f.wire != "" && f.wire != "nic" && f.wire != "memory" {
		return s, fmt.Errorf("--wire %q is neither nic nor memory", f.wire)
	}
	if f.wire != "" && f.nodes != "" {
		return s, errors.New("--wire is of simulated nodes, and --nodes names real ones, whose wire is what there is: leave one of them out")
	}
	if f.budget != 0 && (f.budget < scenario.MinBudget || f.budget > scenario.MaxBudget) {
		return s, fmt.Errorf("--budget %s is not between 5s and 24h", f.budget)
	}
	if f.window != 0 && (f.window < 100*time.Millisecond || f.window > 10*time.Minute) {
		return s, fmt.Errorf("--window %s is not between 100ms and 10m", f.window)
	}
	if f.why == "" && len(f.factors) > 0 {
		return s, errors.New("--factors chooses among the suspects of a ratio: say which ratio, --why B/A")
	}
	if f.why != "" {
		s.Why = &run.Why{Ratio: f.why, Factors: f.factors}
	}
	for s.Seed == 0 {
		s.Seed = rand.Uint64() >> 11 // fits a JSON number
	}
	return s, nil
}

// runSuite is the whole of `windtunnel run`: everything that can be refused is,
// before the machine is touched.
func runSuite(ctx context.Context, s streams, suite string, f runFlags) error {
	settings, err := f.settings()
	if err != nil {
		return refused(err)
	}
	spec, err := loadSuite(suite)
	if err != nil {
		return err
	}
	return runSpec(ctx, s, spec, settings, f, nil)
}

// runSpec runs a suite. Opened, which may be nil, is told the plan once every node has greeted.
func runSpec(ctx context.Context, s streams, spec scenario.Spec, settings run.Settings, f runFlags, opened func(run.Plan)) error {
	dir := f.out
	if dir == "" {
		dir = filepath.Join("runs", time.Now().Format("20060102-150405")+"-"+spec.Suite)
	}
	if err := result.Vacant(dir); err != nil {
		return refused(err)
	}
	if f.nodes != "" {
		return runOnHosts(ctx, s, spec, settings, f, dir)
	}
	end, err := execute(ctx, s, spec, settings, dir, opened)
	if end.Why == "" {
		return unbegun(err)
	}
	return conclude(s, dir, end, err, f.report)
}

// unbegun is the error of a run that has nothing to report.
func unbegun(err error) error {
	if known := (coded{}); errors.As(err, &known) {
		return err
	}
	return failed(err)
}

// interrupted is the error of a run that was interrupted before its conductor could say so, whatever that made fail.
func interrupted(ctx context.Context, end result.End, err error) error {
	known := coded{}
	if err == nil || end.Why != "" || ctx.Err() == nil || errors.As(err, &known) && known.code == exitInterrupted {
		return err
	}
	return coded{exitInterrupted, fmt.Errorf("interrupted before anything was measured: %w", err)}
}

// planHere lays the suite out on this host. What the kernel can do is tried only
// as root, who alone could run the plan.
func planHere(ctx context.Context, spec scenario.Spec, settings run.Settings) (run.Plan, error) {
	host, err := run.LocalHost()
	if err != nil {
		return run.Plan{}, failed(err)
	}
	if os.Geteuid() == 0 {
		host.Missing, err = tried(ctx)
	} else {
		host.Missing = agent.MissingByFiles()
	}
	if err != nil {
		return run.Plan{}, err
	}
	host.Find = func(program string) error { _, err := netns.FindProgram(program); return err }
	plan, err := run.MakePlan(spec, host, settings)
	if err != nil {
		return run.Plan{}, refused(err)
	}
	return plan, nil
}

// tried is what the kernel cannot do. What an interruption kept from being tried is not missing.
func tried(ctx context.Context) (missing map[string]string, err error) {
	missing = agent.Missing(ctx)
	if ctx.Err() != nil {
		return nil, coded{exitInterrupted, errors.New("interrupted while it was tried what this host can do")}
	}
	return missing, nil
}

// anyRuns says why no cell of a plan can run, if none can.
func anyRuns(plan run.Plan) error {
	if len(plan.Runnable()) > 0 {
		return nil
	}
	var why []string
	for _, cell := range plan.Cells {
		why = append(why, fmt.Sprintf("  %s: %s", cell.Record.Name, cell.Record.Skipped))
	}
	return failed(fmt.Errorf("no cell can be measured here:\n%s", strings.Join(why, "\n")))
}

// mayRun says why a plan cannot run here at all.
func mayRun(plan run.Plan) error {
	if err := anyRuns(plan); err != nil {
		return err
	}
	if plan.Builds() && os.Geteuid() != 0 {
		return failed(errors.New("building network namespaces needs root: run it with sudo, or see `windtunnel plan` for what it would do"))
	}
	return nil
}

// execute runs the suite on this host's simulated nodes and writes the records.
func execute(ctx context.Context, s streams, spec scenario.Spec, settings run.Settings, dir string, opened func(run.Plan)) (end result.End, err error) {
	ctx, progressTo, stop := untilCutOff(ctx, s.err)
	defer stop()
	defer func() { err = interrupted(ctx, end, err) }()
	plan, err := planHere(ctx, spec, settings)
	if err != nil {
		return end, err
	}
	if err := mayRun(plan); err != nil {
		return end, err
	}
	var lease *agent.Lease
	if plan.Builds() || os.Geteuid() == 0 { // whoever may not build has nothing that a lease would hold
		if lease, err = agent.Acquire(agent.Root, plan.Suite.Suite+" into "+dir); err != nil {
			return end, err
		}
		defer func() { err = errors.Join(err, lease.Release()) }()
	}
	out, err := result.Create(dir)
	if err != nil {
		return end, err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	nodes, ending, err := spawn(ctx, &plan, dirOf(lease))
	defer func() { err = errors.Join(err, ending()) }()
	if err != nil {
		return end, err
	}
	if opened != nil {
		opened(plan)
	}
	return conduct(ctx, progressTo, plan, nodes, out, header(dir, plan.Builds()))
}

// conduct runs a plan on its nodes.
func conduct(ctx context.Context, progressTo io.Writer, plan run.Plan, nodes []run.Node, out *result.Writer, header result.Run) (result.End, error) {
	progress := run.NewProgress(progressTo)
	defer progress.Close()
	c := run.Conductor{Plan: plan, Nodes: nodes, Clock: run.SystemClock{}, Out: out, Progress: progress, Header: header}
	if known := calibrations(); known.Unkept() == nil {
		c.Known = known
	} else {
		progress.Say(known.Unkept().Error() + "; the next run calibrates again")
	}
	return c.Run(ctx)
}

func header(dir string, simulated bool) result.Run {
	return result.Run{
		ID: filepath.Base(dir), StartedAt: time.Now().UTC().Format(time.RFC3339),
		Command: append([]string{"windtunnel"}, os.Args[1:]...), Version: release,
		Simulated: simulated,
	}
}

func dirOf(lease *agent.Lease) string {
	if lease == nil {
		return ""
	}
	return lease.Dir
}

// spawn starts the agent of every node, and lets the plan meet the places that run already. The function ends them,
// all at once, also those that started before one that did not.
func spawn(ctx context.Context, plan *run.Plan, leaseDir string) (nodes []run.Node, end func() error, err error) {
	var clients []*agent.Client
	end = func() error {
		failed := make([]error, len(clients))
		var ending sync.WaitGroup
		for i, c := range clients {
			ending.Go(func() { failed[i] = c.Close() })
		}
		ending.Wait()
		return errors.Join(failed...)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, end, fmt.Errorf("finding this program: %w", err)
	}
	told := map[string]*proto.Place{}
	for _, n := range plan.Suite.Nodes {
		c, err := start(ctx, *plan, n, self, leaseDir)
		if err != nil {
			return nil, end, err
		}
		clients, told[n.Name] = append(clients, c), c.Told()
		nodes = append(nodes, c)
	}
	if err := plan.Meet(told); err != nil {
		return nil, end, err
	}
	lookInto(ctx, plan, clients)
	return nodes, end, mayRun(*plan)
}

// surveyWithin bounds how long a place may take to tell what its network stack has.
const surveyWithin = 10 * time.Second

// lookInto has the plan draw what lies between places that run already. What cannot be seen is drawn as such.
func lookInto(ctx context.Context, plan *run.Plan, clients []*agent.Client) {
	ctx, cancel := context.WithTimeout(ctx, surveyWithin)
	defer cancel()
	seen := map[string]testbed.Seen{}
	for _, c := range clients {
		if c.Told() == nil {
			continue
		}
		if s, err := c.Survey(ctx); err == nil {
			seen[c.Name()] = s
		}
	}
	var host *testbed.Seen
	if s, err := netlook.Around(); err == nil {
		for _, place := range seen {
			if place.Machine == s.Machine && s.Machine != "" {
				host = &s
			}
		}
	}
	plan.Show(seen, host)
}

// start starts the agent of one node: a child of ours, or in a place that runs already.
func start(ctx context.Context, plan run.Plan, n scenario.Node, self, leaseDir string) (*agent.Client, error) {
	if len(n.Exec) == 0 {
		return agent.Spawn(n.Name, []string{self, "agent", "--node", n.Name, "--cpus", joined(plan.CPUs(n.Name)),
			"--dir", filepath.Join(leaseDir, n.Name)})
	}
	if n.Here() && n.Program == "" {
		n.Program = self
	}
	return enterPlace(ctx, n, self)
}

func joined(cpus []int) string {
	words := make([]string, len(cpus))
	for i, cpu := range cpus {
		words[i] = strconv.Itoa(cpu)
	}
	return strings.Join(words, ",")
}

// report prints a run as the flags ask for it.
func (f runFlags) report(out io.Writer, dir string) (analysis.Findings, error) {
	switch {
	case f.json:
		return writeReport(out, dir, "json")
	case f.short:
		return writeRecovered(out, dir)
	}
	return writeReport(out, dir, "text")
}

// conclude reports what there is, leaves a page of it beside the records, and says how the run ended.
func conclude(s streams, dir string, end result.End, runErr error, report func(out io.Writer, dir string) (analysis.Findings, error)) error {
	findings, err := report(s.out, dir)
	if err != nil {
		return failed(errors.Join(runErr, err))
	}
	_, pageErr := writeFiles(dir, "html", findings)
	if pageErr == nil {
		fmt.Fprintf(s.err, "the same with pictures: %s\n", filepath.Join(dir, "report.html"))
	}
	fmt.Fprintf(s.err, "the run is in %s; `windtunnel report %s --format md|html|json|csv` prints it again\n", dir, dir)
	switch {
	case end.Why == run.EndInterrupted:
		return coded{exitInterrupted, errors.Join(errors.New("interrupted; this is the report of what there is"), runErr)}
	case runErr != nil:
		return failed(runErr)
	case !findings.Usable():
		return coded{exitUnusable, errors.New("no cell has two usable trials; the doubts above say why, a longer --budget gives more")}
	case pageErr != nil:
		return failed(pageErr)
	}
	return nil
}

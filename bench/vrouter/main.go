// Command vrouter compares the vRouter with a Linux bridge and with the kernel's
// VXLAN device: the same containers on the same wire, cells of the suite overlay
// and of receive.yaml beside this file in random blocks. It writes its section of bench/RESULTS.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"windtunnel/bench"
	"windtunnel/result"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// goal is one ratio that the vRouter is to reach: of received rates, at least so
// much, or of another metric, which is a cost, at most.
type goal struct {
	over, under string
	ratio       float64
	cost        result.Metric
}

// part is one run of a suite.
type part struct {
	name  string
	suite string
	wire  string
	cells []string
	goals []goal
}

const receiveSuite = "bench/vrouter/receive.yaml"

var parts = []part{
	{"segmentation off", "overlay", "nic", []string{"off-bridge", "off-flat", "off-mplsoudp", "off-vxlan"}, []goal{
		{over: "off-mplsoudp", under: "off-bridge", ratio: 1.3},
		{over: "off-mplsoudp", under: "off-vxlan", ratio: 1.5},
	}},
	{"segmentation as found, wire as memory", "overlay", "memory", []string{"as-found-bridge", "as-found-mplsoudp"}, []goal{
		{over: "as-found-mplsoudp", under: "as-found-bridge", ratio: 0.85},
	}},
	{"wire as a NIC", receiveSuite, "nic", []string{"bridge", "flat", "socket", "tc", "vxlan", "xdp"}, receiveGoals("socket", "xdp", "tc", "flat")},
}

// receiveGoals are the same for all ways of receiving; it is the best that is to reach them.
func receiveGoals(ways ...string) (goals []goal) {
	for _, way := range ways {
		goals = append(goals,
			goal{over: way, under: "vxlan", ratio: 1.1},
			goal{over: way, under: "bridge", ratio: 0.8},
			goal{over: way, under: "vxlan", ratio: 0.9, cost: result.TogetherCost})
	}
	return goals
}

func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("vrouter", flag.ContinueOnError)
	flags.SetOutput(stderr)
	results := flags.String("results", "bench/RESULTS.md", "the `file` whose section is written; empty: none")
	budget := flags.Duration("budget", 2*time.Minute, "of each run of the suite")
	program := flags.String("windtunnel", "bin/windtunnel", "the built `program`")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := compare(ctx, *program, *results, *budget, stdout, stderr); err != nil {
		fmt.Fprintln(stderr, "bench-vrouter:", err)
		return 1
	}
	return 0
}

func compare(ctx context.Context, program, results string, budget time.Duration, stdout, stderr io.Writer) error {
	section := bench.Section{
		Title: "vRouter, bridge and kernel VXLAN",
		Says: "One cubic TCP stream of 128 KiB messages between two containers on two simulated nodes, a CPU each; cells of the suite " +
			"overlay and of bench/vrouter/receive.yaml in random blocks. Received rate of the vRouter with MPLSoUDP over the peer's.",
		Peers: "the kernel's own bridge and vxlan",
	}
	for _, p := range parts {
		rows, err := p.measure(ctx, program, budget, stderr)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		for _, row := range rows {
			fmt.Fprintln(stdout, row.Row())
		}
		section.Comparisons = append(section.Comparisons, rows...)
	}
	if results == "" {
		return nil
	}
	return section.Write(results)
}

// measure runs the part's cells and pairs the goals' cells by block.
func (p part) measure(ctx context.Context, program string, budget time.Duration, stderr io.Writer) ([]*bench.Comparison, error) {
	dir, err := os.MkdirTemp("", "windtunnel-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "run")
	cmd := exec.CommandContext(ctx, program, "run", p.suite, "--cells", strings.Join(p.cells, ","),
		"--wire", p.wire, "--budget", budget.String(), "--precision", "2%", "--out", out)
	cmd.Stderr = stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("running the suite %s: %w", p.suite, err)
	}
	file, err := result.Read(out)
	if err != nil {
		return nil, err
	}
	var rows []*bench.Comparison
	for _, g := range p.goals {
		rows = append(rows, g.comparison(p, file))
	}
	return rows, nil
}

func (g goal) comparison(p part, file result.File) *bench.Comparison {
	what, metric := "", result.ReceivedRate
	if g.cost != "" {
		what, metric = "CPU time per byte of both nodes, ", g.cost
	}
	c := &bench.Comparison{
		What: fmt.Sprintf("%s%s / %s, %s", what, kind(g.over), kind(g.under), p.name), Goal: bench.Goal{Ratio: g.ratio, AtMost: g.cost != ""},
	}
	over, under := values(file, g.over, metric), values(file, g.under, metric)
	for block := 1; block <= len(file.Trials); block++ {
		ours, a := over[block]
		peer, b := under[block]
		if a && b {
			c.Add(ours, peer)
		}
	}
	return c
}

// kinds are the last parts of cells' names: as-found-mplsoudp is the vRouter.
var kinds = map[string]string{
	"bridge": "bridge", "vxlan": "kernel VXLAN", "mplsoudp": "vRouter", "flat": "vRouter without encapsulation",
	"tc": "vRouter, MPLSoUDP, receiving at tc", "xdp": "vRouter, MPLSoUDP, receiving at XDP",
	"socket": "vRouter, VXLAN, receiving at tc behind a socket's GRO",
}

func kind(cell string) string { return kinds[cell[strings.LastIndex(cell, "-")+1:]] }

// values are a cell's figures of a metric by block, of the trials that count.
func values(file result.File, name string, metric result.Metric) map[int]float64 {
	found := map[int]float64{}
	for _, cell := range file.Cells {
		for _, t := range file.Trials {
			if cell.Name != name || t.Cell != name || t.Excluded != "" {
				continue
			}
			if value, err := cell.Value(t, metric); err == nil {
				found[t.Block] = value
			}
		}
	}
	return found
}

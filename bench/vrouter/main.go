// Command vrouter compares the vRouter with a Linux bridge and with the kernel's
// VXLAN device: the same containers on the same wire, cells of the suite overlay
// in random blocks. It writes its section of bench/RESULTS.md.
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

// goal is one ratio of received rates that the vRouter is to reach.
type goal struct {
	over, under string
	least       float64
}

// part is one run of the suite.
type part struct {
	name  string
	wire  string
	cells []string
	goals []goal
}

var parts = []part{
	{"segmentation off", "nic", []string{"off-bridge", "off-flat", "off-mplsoudp", "off-vxlan"}, []goal{
		{"off-mplsoudp", "off-bridge", 1.3},
		{"off-mplsoudp", "off-vxlan", 1.5},
	}},
	{"segmentation as found, wire as memory", "memory", []string{"as-found-bridge", "as-found-mplsoudp"}, []goal{
		{"as-found-mplsoudp", "as-found-bridge", 0.85},
	}},
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
			"overlay in random blocks. Received rate of the vRouter with MPLSoUDP over the peer's.",
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
	cmd := exec.CommandContext(ctx, program, "run", "overlay", "--cells", strings.Join(p.cells, ","),
		"--wire", p.wire, "--budget", budget.String(), "--precision", "2%", "--out", out)
	cmd.Stderr = stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("running the suite overlay: %w", err)
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
	c := &bench.Comparison{What: fmt.Sprintf("%s / %s, %s", kind(g.over), kind(g.under), p.name), Goal: bench.Goal{Ratio: g.least}}
	over, under := rates(file, g.over), rates(file, g.under)
	for block := 1; block <= len(file.Trials); block++ {
		ours, a := over[block]
		peer, b := under[block]
		if a && b {
			c.Add(ours, peer)
		}
	}
	return c
}

// kind is the last part of a cell's name: as-found-mplsoudp is the vRouter.
func kind(cell string) string {
	switch cell[strings.LastIndex(cell, "-")+1:] {
	case "mplsoudp":
		return "vRouter"
	case "vxlan":
		return "kernel VXLAN"
	}
	return "bridge"
}

// rates are a cell's received rates by block, of the trials that count.
func rates(file result.File, name string) map[int]float64 {
	found := map[int]float64{}
	for _, cell := range file.Cells {
		for _, t := range file.Trials {
			if cell.Name != name || t.Cell != name || t.Excluded != "" {
				continue
			}
			if rate, err := cell.Value(t, result.ReceivedRate); err == nil {
				found[t.Block] = rate
			}
		}
	}
	return found
}

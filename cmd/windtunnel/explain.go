package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"windtunnel/analysis"
	"windtunnel/report"
	"windtunnel/result"
)

func explainCommand(s streams) *cobra.Command {
	var measured func(ctx context.Context, suite, ratio string) error
	c := &cobra.Command{
		Use:   "explain SUITE|RUN B/A",
		Short: "Say why one ratio is as it is: by trying each suspect in a run of its own, or by what a run has seen",
		Long: "Of a suite, measures the ratio's two cells and, in the same blocks, further ones with one factor changed each (GRO, TSO,\n" +
			"checksums, MTU, steering, queues, encapsulation, message size, CPUs and quotas of them, and all else in which the two cells differ), and says what\n" +
			"share of the gap each gives back. Of a run (its folder or its run.jsonl), says what is in it, and measures nothing.",
		Example: "  windtunnel explain contrail-windows D/B\n" +
			"  windtunnel explain ./my-suite.yaml 'cpu.b: B/A' --factors gro,mtu --budget 1m\n" +
			"  windtunnel explain runs/20260102-030405-overlay D/B",
		Args: takes("SUITE|RUN", "B/A"),
		RunE: func(c *cobra.Command, args []string) error {
			if isRun(args[0]) {
				if c.Flags().NFlag() > 0 {
					return refused(fmt.Errorf("%s is a run, of which nothing is measured: the flags are those of a suite", result.Clip(args[0])))
				}
				return explainRun(s, args[0], args[1])
			}
			return measured(c.Context(), args[0], args[1])
		},
	}
	measured = explainSuite(s, c)
	return c
}

// isRun tells a run from a suite: a folder with a run file in it, or such a file.
func isRun(name string) bool {
	if strings.HasSuffix(name, ".jsonl") {
		return true
	}
	_, err := os.Stat(filepath.Join(name, result.FileName))
	return err == nil
}

// explainRun says why a ratio of a run is as it is: by what was tried, if it was, and by what the run has seen.
func explainRun(s streams, dir, ratio string) error {
	file, err := readRun(dir)
	if err != nil {
		return err
	}
	findings := analysis.Of(file)
	if err := report.CheckExplained(findings, ratio); err != nil {
		return refused(err)
	}
	if r := findings.Recovered; r != nil && r.Ratio.Ratio.IsCalled(ratio) {
		if err := report.Recovered(s.out, findings, look(s.out)); err != nil {
			return failed(err)
		}
		fmt.Fprintln(s.out)
	}
	return ended(report.Explain(s.out, findings, ratio, look(s.out)))
}

// writeRecovered prints what a run's suspects give back.
func writeRecovered(out io.Writer, dir string) (analysis.Findings, error) {
	file, err := readRun(dir)
	if err != nil {
		return analysis.Findings{}, err
	}
	findings := analysis.Of(file)
	return findings, report.Recovered(out, findings, look(out))
}

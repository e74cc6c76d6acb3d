package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"windtunnel/analysis"
	"windtunnel/history"
	"windtunnel/report"
	"windtunnel/result"
)

// historyFlags are what `windtunnel history` takes.
type historyFlags struct {
	runs, format string
	metrics      []string
	rebuild      bool
}

func historyCommand(s streams) *cobra.Command {
	var f historyFlags
	c := &cobra.Command{
		Use:   "history SUITE",
		Short: "Show how a suite's figures went over its runs, and where they changed",
		Long: "Reads the runs below a folder. What it read it keeps there in index.sqlite, which may be deleted at any time.\n" +
			"Runs that cannot be read are named and left out.",
		Example: "  windtunnel history contrail-windows\n" +
			"  windtunnel history overlay --runs /var/lib/windtunnel/runs --metric received,cost.together --format csv",
		Args: takes("SUITE"),
		RunE: func(c *cobra.Command, args []string) error { return showHistory(c.Context(), s, args[0], f) },
	}
	c.Flags().StringVar(&f.runs, "runs", "runs", "the folder that holds the runs' folders")
	c.Flags().StringVar(&f.format, "format", "text", strings.Join(report.HistoryFormats(), ", "))
	c.Flags().StringSliceVar(&f.metrics, "metric", nil, "show these figures (received, cost.together, latency.p99, ...) instead of those that a cell's load is for")
	c.Flags().BoolVar(&f.rebuild, "rebuild", false, "read all runs again, without the index")
	return c
}

func showHistory(ctx context.Context, s streams, suite string, f historyFlags) error {
	metrics, err := metricsByWords(f.metrics)
	if err == nil {
		err = report.CheckHistory(f.format)
	}
	if err != nil {
		return refused(err)
	}
	if ext := filepath.Ext(suite); ext == ".yaml" || ext == ".yml" {
		spec, err := loadSuite(suite)
		if err != nil {
			return err
		}
		suite = spec.Suite
	}
	found, err := history.Load(ctx, f.runs, suite, history.Options{Version: release, Rebuild: f.rebuild})
	if ctx.Err() != nil {
		return coded{exitInterrupted, err}
	}
	if err != nil {
		return refused(err)
	}
	if found.Notice != "" {
		fmt.Fprintln(s.err, "windtunnel: "+found.Notice)
	}
	if len(found.Past) == 0 {
		for _, l := range found.Left {
			fmt.Fprintf(s.err, "windtunnel: left out %s: %s\n", l.Path, l.Why)
		}
		return refused(fmt.Errorf("%s has no run of suite %q; it has runs of: %s", f.runs, result.Clip(suite), result.Listed(found.Suites)))
	}
	h := analysis.HistoryOf(suite, found.Past, metrics)
	h.Left = found.Left
	if err := report.WriteHistory(f.format, s.out, h, look(s.out)); err != nil {
		return failed(err)
	}
	return nil
}

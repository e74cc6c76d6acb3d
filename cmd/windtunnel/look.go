package main

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"windtunnel/agent"
	"windtunnel/datapath/paths"
	"windtunnel/report"
	"windtunnel/run"
	"windtunnel/suites"
	"windtunnel/traffic/kinds"
)

func listCommand(s streams) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the shipped suites, the paths and the kinds of traffic", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			table := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
			for _, name := range suites.List() {
				spec, err := loadSuite(name)
				if err != nil {
					return err
				}
				fmt.Fprintf(table, "suite\t%s\t%d cells\t%s\n", name, len(spec.Cells), spec.Asks)
			}
			for _, path := range paths.All() {
				fmt.Fprintf(table, "path\t%s\t\t%s\n", path.Name(), path.Says())
			}
			for _, kind := range kinds.All() {
				fmt.Fprintf(table, "traffic\t%s\t\t%s\n", kind.Name(), optionNames(kind.Name()))
			}
			return ended(table.Flush())
		},
	}
}

func optionNames(kind string) string {
	var names string
	for _, option := range agent.Traffic()[kind] {
		if names != "" {
			names += ", "
		}
		names += option.Name
	}
	return "options: " + names
}

func planCommand(s streams) *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "plan SUITE",
		Short: "Draw what a suite would build and say how long it would take, without touching the machine",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			settings, err := f.settings()
			if err != nil {
				return refused(err)
			}
			spec, err := loadSuite(args[0])
			if err != nil {
				return err
			}
			host, err := run.LocalHost()
			if err != nil {
				return failed(err)
			}
			plan, err := run.MakePlan(spec, host, settings)
			if err != nil {
				return refused(err)
			}
			return ended(run.Describe(s.out, plan))
		},
	}
	c.Flags().DurationVar(&f.budget, "budget", 3*time.Minute, "the time for everything")
	c.Flags().StringVar(&f.precision, "precision", "5%", "stop when every ratio is known this well")
	c.Flags().StringSliceVar(&f.cells, "cells", nil, "only these cells")
	c.Flags().StringVar(&f.wire, "wire", "", "nic or memory, instead of the suite's")
	c.Flags().DurationVar(&f.window, "window", 0, "length of a trial's window")
	return c
}

func reportCommand(s streams) *cobra.Command {
	var format string
	c := &cobra.Command{
		Use: "report RUN", Short: "Print a run's report again: RUN is its folder or its run.jsonl", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := report.Check(format); err != nil {
				return refused(err)
			}
			_, err := writeReport(s.out, args[0], format)
			return ended(err)
		},
	}
	c.Flags().StringVar(&format, "format", "text", "text, md or json")
	return c
}

func cleanCommand(s streams) *cobra.Command {
	return &cobra.Command{
		Use: "clean", Short: "Take away what a killed run left, and nothing that a living one holds", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			said, err := agent.Clean(agent.Root)
			for _, line := range said {
				fmt.Fprintln(s.out, line)
			}
			if len(said) == 0 && err == nil {
				fmt.Fprintln(s.out, "nothing was left")
			}
			return ended(err)
		},
	}
}

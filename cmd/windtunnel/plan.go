//go:build linux

package main

import (
	"io"
	"time"

	"github.com/spf13/cobra"

	"windtunnel/measure"
	"windtunnel/result"
	"windtunnel/run"
)

// mostEarlier is how many runs are read, the last ones first.
const mostEarlier = 30

func planCommand(s streams) *cobra.Command {
	var f runFlags
	var runs string
	c := &cobra.Command{
		Use:   "plan SUITE",
		Short: "Draw what a suite would build and say how long it would take, without touching the machine",
		Args:  takes("SUITE"),
		Example: "  windtunnel plan contrail-windows --budget 5m\n" +
			"  windtunnel plan contrail-windows --precision 2%   # how long that takes, as ratios varied in ./runs",
		RunE: func(c *cobra.Command, args []string) error {
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
			if err := run.Describe(s.out, plan); err != nil {
				return failed(err)
			}
			earlier, err := result.Recent(runs, mostEarlier)
			if err != nil {
				return refused(err)
			}
			if needs := plan.Needs(earlier, measure.ReadFingerprint(), f.window != 0); len(needs.Ratios) > 0 || c.Flags().Changed("precision") {
				_, err = io.WriteString(s.out, needs.Words())
			}
			return ended(err)
		},
	}
	c.Flags().DurationVar(&f.budget, "budget", 3*time.Minute, "the time for everything")
	c.Flags().StringVar(&f.precision, "precision", "5%", "stop when every ratio is known this well; the plan says how long that takes")
	c.Flags().StringVar(&runs, "runs", "runs", "the folder of earlier runs, by whose variation it says so")
	c.Flags().StringSliceVar(&f.cells, "cells", nil, "only these cells (A,B,..., or a pattern: '64B-*')")
	c.Flags().StringVar(&f.wire, "wire", "", "nic or memory, instead of the suite's")
	c.Flags().DurationVar(&f.window, "window", 0, "length of a trial's window")
	f.defineWhy(c)
	return c
}

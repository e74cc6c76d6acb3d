//go:build linux

package main

import (
	"time"

	"github.com/spf13/cobra"

	"windtunnel/run"
)

func planCommand(s streams) *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "plan SUITE",
		Short: "Draw what a suite would build and say how long it would take, without touching the machine",
		Args:  one("SUITE"),
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
	c.Flags().StringSliceVar(&f.cells, "cells", nil, "only these cells (A,B,..., or a pattern: '64B-*')")
	c.Flags().StringVar(&f.wire, "wire", "", "nic or memory, instead of the suite's")
	c.Flags().DurationVar(&f.window, "window", 0, "length of a trial's window")
	return c
}

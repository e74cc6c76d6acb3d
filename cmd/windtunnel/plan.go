//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"windtunnel/agent"
	"windtunnel/agent/ssh"
	"windtunnel/measure"
	"windtunnel/result"
	"windtunnel/run"
	"windtunnel/scenario"
	"windtunnel/testbed/netns"
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
			"  windtunnel plan contrail-windows --precision 2%   # how long that takes, as ratios varied in ./runs\n" +
			"  windtunnel plan contrail-windows --nodes a=ssh://root@h1?data=10.0.0.1,b=ssh://root@h2?data=10.0.0.2",
		RunE: func(c *cobra.Command, args []string) error {
			settings, err := f.settings()
			if err != nil {
				return refused(err)
			}
			spec, err := loadSuite(args[0])
			if err != nil {
				return err
			}
			if f.nodes != "" {
				if c.Flags().Changed("precision") || c.Flags().Changed("runs") {
					return refused(errors.New("--precision and --runs say what earlier runs on this machine tell of the time, and --nodes names other ones: leave one of the two out"))
				}
				return planOnHosts(c.Context(), s, spec, settings, f.nodes)
			}
			host, err := run.LocalHost()
			if err != nil {
				return failed(err)
			}
			host.Missing, host.Find = agent.MissingByFiles(), findAsRoot
			plan, err := run.MakePlan(spec, host, settings)
			if err != nil {
				return refused(err)
			}
			if err := run.Describe(s.out, plan); err != nil {
				return failed(err)
			}
			if _, err := io.WriteString(s.out, plan.Untried(host.Missing)); err != nil {
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
	f.defineBudget(c)
	c.Flags().StringVar(&f.precision, "precision", "5%", "stop when every ratio is known this well; the plan says how long that takes")
	c.Flags().StringVar(&runs, "runs", "runs", "the folder of earlier runs, by whose variation it says so")
	c.Flags().StringSliceVar(&f.cells, "cells", nil, "only these cells (A,B,..., or a pattern: '64B-*')")
	c.Flags().StringVar(&f.nodes, "nodes", "", "of these hosts, which are looked at, as doctor does, and not changed: a=ssh://root@h1?data=10.0.0.1,...")
	c.Flags().StringVar(&f.wire, "wire", "", "nic or memory, instead of the suite's")
	c.Flags().DurationVar(&f.window, "window", 0, "length of a trial's window")
	f.defineWhy(c)
	return c
}

// findAsRoot looks for a program where the root that will run the plan finds it, too: not everybody's PATH has those folders.
func findAsRoot(program string) error {
	_, err := netns.FindProgram(program)
	for _, folder := range []string{"/usr/local/sbin", "/usr/sbin", "/sbin"} {
		if err == nil {
			break
		}
		if _, found := exec.LookPath(filepath.Join(folder, program)); found == nil {
			err = nil
		}
	}
	return err
}

// planOnHosts draws what would be built on other hosts. It reaches them as a run does, takes nothing, and leaves nothing.
func planOnHosts(ctx context.Context, s streams, spec scenario.Spec, settings run.Settings, nodes string) (err error) {
	hosts, err := hostsOf(spec, nodes)
	if err != nil {
		return refused(err)
	}
	needs, err := rehearse(spec, settings, hosts)
	if err != nil {
		return refused(err)
	}
	there, err := reach(ctx, hosts, needs, "plan")
	defer func() {
		if closed := there.close(); closed != nil {
			err = failed(errors.Join(err, closed))
		}
	}()
	if err != nil {
		return failed(err)
	}
	plan, err := there.plan(spec, settings)
	if len(plan.Cells) == 0 {
		return err
	}
	return ended(run.Describe(s.out, plan)) // that no cell runs is what it says then
}

// hostsOf reads --nodes of a suite.
func hostsOf(spec scenario.Spec, nodes string) ([]ssh.Host, error) {
	if slices.ContainsFunc(spec.Nodes, func(n scenario.Node) bool { return len(n.Exec) > 0 }) {
		return nil, errors.New("--nodes says where nodes are made, and nodes of this suite run already, entered by `exec`: leave one of the two out")
	}
	hosts, err := ssh.Parse(nodes)
	if err != nil {
		return nil, fmt.Errorf("--nodes: %w", err)
	}
	return hosts, nil
}

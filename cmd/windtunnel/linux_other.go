//go:build !linux

package main

import (
	"context"
	"fmt"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"windtunnel/agent"
)

// These commands build or look at testbeds, which are Linux's network namespaces.
// Elsewhere they are there to say so.

func runCommand(streams) *cobra.Command {
	return needsLinux("run", "Build a suite's testbeds, measure them in blocks, and report")
}

func betweenCommand(streams) *cobra.Command {
	return needsLinux("between", "Measure between two places that run already, and draw what lies there")
}

func planCommand(streams) *cobra.Command {
	return needsLinux("plan", "Draw what a suite would build and say how long it would take")
}

func doctorCommand(streams) *cobra.Command {
	return needsLinux("doctor", "Say what this machine can do, and what to install for the rest")
}

func cleanCommand(streams) *cobra.Command {
	return needsLinux("clean", "Take away what a killed run left")
}

// historyCommand's index is SQLite, whose driver takes longer to build than all of windtunnel: runs are made on Linux,
// and so are their histories.
func historyCommand(streams) *cobra.Command {
	return needsLinux("history", "Show how a suite's figures went over its runs, and where they changed")
}

// needsLinux is a command that takes any flags, and refuses.
func needsLinux(name, says string) *cobra.Command {
	return &cobra.Command{
		Use: name, Short: says + " (Linux only)", DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error { return failed(linuxOnly("`windtunnel " + name + "`")) },
	}
}

func explainSuite(streams, *cobra.Command) func(context.Context, string, string) error {
	return func(context.Context, string, string) error { return failed(linuxOnly("`windtunnel explain SUITE`")) }
}

// serveNode is the agent of a host's node. A simulated one needs Linux.
func serveNode(ctx context.Context, s streams, n nodeFlags) error {
	if n.lease == "" {
		return linuxOnly("the agent of a simulated node")
	}
	ways, err := waysOf(n, os.Getenv("SSH_CONNECTION"))
	if err != nil {
		return err
	}
	way := ways[0] // nothing that is joined by several links runs here
	return agent.ServePlain(ctx, s.in, s.out, agent.PlainConfig{Name: n.name, Release: release, Remove: n.brought.remove, Sum: n.brought.sum,
		Hold: n.lease, Way: &agent.PlainWay{Address: way.address, Toward: way.toward, Near: way.near}})
}

func serveGuest(context.Context, streams, bool, bool) error {
	return linuxOnly("a virtual machine of a testbed")
}

// servePlace is the agent of a place that runs already, until its input ends.
func servePlace(ctx context.Context, s streams, f placeFlags) error {
	return agent.ServePlain(ctx, s.in, s.out, agent.PlainConfig{Name: f.name, Release: release, Remove: f.brought.remove, Sum: f.brought.sum})
}

func linuxOnly(what string) error {
	return fmt.Errorf("%s needs Linux, because testbeds are made of its network namespaces, and this is %s; "+
		"here there are send, recv, ping, iperf3, ntttcp, list, report, compare, import and the agents of a host's node and of a place", what, runtime.GOOS)
}

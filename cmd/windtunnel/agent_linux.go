package main

import (
	"context"
	"fmt"
	"os"

	"windtunnel/agent"
)

// serveNode is a node's agent, until its input ends.
func serveNode(ctx context.Context, s streams, name, dir string, cpus []int) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	return agent.ServeNode(ctx, s.in, s.out, agent.NodeConfig{
		Name: name, CPUs: cpus, Dir: dir, Release: release,
		Worker: []string{self, "agent", "--worker", "--cpus", joined(cpus)},
	})
}

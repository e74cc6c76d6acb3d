package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"windtunnel/agent"
	"windtunnel/testbed/netns"
)

// serveGuest is a virtual machine's first process, or its worker.
func serveGuest(ctx context.Context, s streams, worker, container bool) error {
	if worker {
		return agent.ServeGuestWorker(ctx, s.in, s.out, release, container)
	}
	return agent.ServeGuest(ctx, container)
}

// servePlace is the agent of a place that runs already, until its input ends.
func servePlace(ctx context.Context, s streams, f placeFlags) error {
	return agent.ServePlace(ctx, s.in, s.out, agent.PlaceConfig{Name: f.name, Release: release, Remove: f.brought.remove, Sum: f.brought.sum})
}

// serveNode is a node's agent, until its input ends.
func serveNode(ctx context.Context, s streams, n nodeFlags) (err error) {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	config := agent.NodeConfig{Name: n.name, CPUs: n.cpus, Dir: n.dir, Release: release}
	if n.lease != "" {
		lease, taken := agent.Acquire(agent.Root, n.lease)
		if taken != nil {
			return taken
		}
		defer func() { err = errors.Join(err, lease.Release()) }()
		config.Dir = filepath.Join(lease.Dir, n.name)
		ways, err := waysOf(n, os.Getenv("SSH_CONNECTION"))
		if err != nil {
			return err
		}
		for _, way := range ways {
			config.Ways = append(config.Ways, netns.Way{Address: way.address, Toward: way.toward, Far: way.far, Near: way.near})
		}
	}
	if n.copied {
		config.Copied = filepath.Dir(self)
	}
	if len(config.CPUs) == 0 {
		host, err := agent.ThisHost()
		if err != nil {
			return err
		}
		config.CPUs = host.CPUs
	}
	config.Worker = []string{self, "agent", "--worker", "--cpus", joined(config.CPUs)}
	return agent.ServeNode(ctx, s.in, s.out, config)
}

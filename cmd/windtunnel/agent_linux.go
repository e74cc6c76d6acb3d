package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

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
	return agent.ServePlace(ctx, s.in, s.out, agent.PlaceConfig{Name: f.name, Release: release, Remove: f.remove, Sum: f.sum})
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
		if config.Way, err = wayOf(n, os.Getenv("SSH_CONNECTION")); err != nil {
			return err
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

// wayOf reads by which interface data goes. Connection is the control connection's ends as sshd tells
// them: the client's address and port, and this host's (ssh(1), SSH_CONNECTION).
func wayOf(n nodeFlags, connection string) (*netns.Way, error) {
	way := &netns.Way{}
	for flag, to := range map[string]struct {
		text string
		at   *netip.Addr
	}{"--data": {n.data, &way.Address}, "--toward": {n.toward, &way.Toward}} {
		if to.text == "" {
			continue
		}
		address, err := netip.ParseAddr(to.text)
		if err != nil {
			return nil, fmt.Errorf("%s %q is no IP address", flag, to.text)
		}
		*to.at = address
	}
	if ends := strings.Fields(connection); len(ends) == 4 {
		far, err1 := netip.ParseAddr(ends[0])
		near, err2 := netip.ParseAddr(ends[2])
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("reading SSH_CONNECTION: %w", err)
		}
		way.Far, way.Near = far.Unmap().WithZone(""), near.Unmap().WithZone("")
	}
	return way, nil
}

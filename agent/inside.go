//go:build linux

package agent

import (
	"context"
	"errors"

	"windtunnel/testbed/docker"
	"windtunnel/testbed/netns"
)

// Inside is the way into a place that a container engine runs, or a virtual machine.
type Inside interface {
	// start starts our program there with these arguments.
	start(ctx context.Context, args []string) (*child, error)
}

// inside is a container's.
type inside struct {
	running *docker.Running
	place   string
}

// start starts the program by the engine. A process that hangs is in the engine's hands alone, and
// dies with its container, which then has to be made anew.
func (i inside) start(ctx context.Context, args []string) (*child, error) {
	stderr := &netns.Tail{Limit: 8 << 10}
	c := &child{said: stderr.Quoted, exited: make(chan struct{})}
	session, err := i.running.Exec(ctx, i.place, args, stderr)
	if err != nil {
		return nil, err
	}
	c.kill = func() error { return errors.Join(i.running.Kill(i.place), session.Close()) }
	c.stdin, c.stdout = session.Stdin, session.Stdout
	go func() {
		c.err = session.Wait()
		close(c.exited)
	}()
	return c, nil
}

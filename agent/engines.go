//go:build linux

package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"windtunnel/testbed"
	"windtunnel/testbed/docker"
	"windtunnel/testbed/netns"
)

// engines are the containers that engines run for the cells of a node, beside a backend that builds
// everything else of their graphs.
type engines struct {
	backend *netns.Backend
	config  NodeConfig
	journal *journal

	mu    sync.Mutex
	cells map[string]*contained
	hosts hostEngines
}

// contained is what engines run for one cell.
type contained struct {
	part    testbed.Graph // the node's of the cell's graph
	want    []testbed.Engine
	running []*docker.Running // as many as could be started
	foreign []Engine          // those that are not the testbed's
	lease   string            // the label of what is made
	cgroup  string
	stacks  map[string]*netns.Stack
}

func newEngines(backend *netns.Backend, config NodeConfig, notes *journal) *engines {
	return &engines{backend: backend, config: config, journal: notes, cells: map[string]*contained{}, hosts: newHostEngines()}
}

// same tells whether a graph asks for what its cell's engines run already, on what they run it on.
func (e *engines) same(g testbed.Graph) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	part := g.Part(e.config.Name)
	if c := e.cells[g.Cell]; c != nil {
		return len(testbed.Diff(c.part, part)) == 0
	}
	return len(part.Engines) == 0
}

// run has the engines of a graph run its containers. What was made before an error is taken away by
// remove.
func (e *engines) run(ctx context.Context, g testbed.Graph) error {
	if e.same(g) {
		return nil
	}
	part := g.Part(e.config.Name).Clone()
	c := &contained{part: part, want: part.Engines, lease: filepath.Join(e.config.Dir, g.Cell), stacks: map[string]*netns.Stack{},
		cgroup: fmt.Sprintf("%s%d-%s-%s", docker.CgroupPrefix, os.Getpid(), e.config.Name, url.PathEscape(g.Cell))}
	e.mu.Lock()
	e.cells[g.Cell] = c
	e.mu.Unlock()
	for _, want := range c.want {
		if err := e.runOne(ctx, g, c, want); err != nil {
			return fmt.Errorf("the containers of node %s: %w", e.config.Name, err)
		}
	}
	if len(c.want) == 0 || len(c.foreign) > 0 { // a host's devices are others', too
		return nil
	}
	return e.backend.SteerFound(g.Cell)
}

func (e *engines) runOne(ctx context.Context, g testbed.Graph, c *contained, want testbed.Engine) error {
	config := docker.Config{Socket: want.Socket, Processes: "/proc", Program: e.config.Worker[0], Idle: e.config.Worker[1:],
		CPUs: e.cpus(g), Lease: c.lease, Prefix: fmt.Sprintf("windtunnel-%d-%s-", os.Getpid(), g.Cell)}
	if want.Daemon == "" {
		c.foreign = append(c.foreign, Engine{Socket: want.Socket, Lease: c.lease})
		config.Image = e.hosts.images[want.Socket]
		err := e.journal.write(entry{Engine: Engine{Socket: want.Socket, Lease: c.lease}})
		if err = errors.Join(err, e.refuseTaken(ctx, g.Cell, want)); err != nil {
			return err
		}
	} else {
		at := slices.IndexFunc(e.backend.Daemons(g.Cell), func(d netns.Daemon) bool { return d.Name == want.Daemon })
		if at < 0 {
			return fmt.Errorf("the engine %s does not run", want.Daemon)
		}
		own := e.backend.Daemons(g.Cell)[at]
		config.Socket, config.Prefix, config.CgroupParent = own.Socket, "", c.cgroup
		config.Processes = fmt.Sprintf("/proc/%d/root/proc", own.PID)
		if err := e.journal.write(entry{Cgroup: c.cgroup}); err != nil {
			return err
		}
	}
	running, err := docker.Run(ctx, config, want)
	if err != nil {
		return err
	}
	e.mu.Lock()
	c.running = append(c.running, running)
	e.mu.Unlock()
	for _, place := range want.Containers {
		if err := e.hold(g.Cell, c, running, place); err != nil {
			return err
		}
	}
	return nil
}

// cpus are those of the node in a graph, or the agent's.
func (e *engines) cpus(g testbed.Graph) []int {
	if node, ok := g.Node(e.config.Name); ok && len(node.CPUs) > 0 {
		return node.CPUs
	}
	return e.config.CPUs
}

// hold joins the stack of a container, to look at it as at any other. One of the node's own stack
// has none.
func (e *engines) hold(cell string, c *contained, running *docker.Running, place testbed.EngineContainer) error {
	if !place.OwnStack() {
		return nil
	}
	stack, err := netns.JoinStack(place.Name, e.mounts(cell), running.NetworkStack(place.Name))
	if err != nil {
		return err
	}
	e.mu.Lock()
	c.stacks[place.Name] = stack
	e.mu.Unlock()
	return nil
}

// mounts is where the stacks of a cell's containers have their mounts.
func (e *engines) mounts(cell string) string {
	return filepath.Join(e.config.Dir, "engines-"+url.PathEscape(cell))
}

// of returns what runs a place, nil if no engine does.
func (e *engines) of(cell, place string) *docker.Running {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.cells[cell]
	if c == nil {
		return nil
	}
	for i, running := range c.running {
		if slices.ContainsFunc(c.want[i].Containers, func(k testbed.EngineContainer) bool { return k.Name == place }) {
			return running
		}
	}
	return nil
}

// stack is that of an engine's container, nil if there is none.
func (e *engines) stack(cell, place string) *netns.Stack {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c := e.cells[cell]; c != nil {
		return c.stacks[place]
	}
	return nil
}

// all are what a cell's engines run.
func (e *engines) all(cell string) []*docker.Running {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c := e.cells[cell]; c != nil {
		return c.running
	}
	return nil
}

// names are those of the cells for which an engine runs something.
func (e *engines) names() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Collect(maps.Keys(e.cells))
}

func (e *engines) verify(ctx context.Context, cell string) error {
	var found error
	for _, running := range e.all(cell) {
		found = errors.Join(found, running.Verify(ctx))
	}
	return found
}

// remove takes a cell's containers away from the engines that others have. One of the testbed's own
// ends with all that it has, once its daemon does, and then only swept is left to be done.
func (e *engines) remove(ctx context.Context, cell string) (swept func() error, err error) {
	e.mu.Lock()
	c := e.cells[cell]
	delete(e.cells, cell)
	e.mu.Unlock()
	if c == nil {
		return func() error { return nil }, nil
	}
	for _, stack := range c.stacks {
		err = errors.Join(err, stack.Close())
	}
	for _, engine := range c.foreign {
		err = errors.Join(err, e.hosts.remove(ctx, engine))
	}
	return func() error {
		_, failed := docker.RemoveCgroups(c.cgroup)
		return errors.Join(failed, os.RemoveAll(e.mounts(cell)))
	}, err
}

// found tells what a cell's engines made of the graph by themselves.
func (e *engines) found(ctx context.Context, cell string) (string, error) {
	var text strings.Builder
	for _, running := range e.all(cell) {
		said, err := running.Found(ctx)
		if err != nil {
			return "", err
		}
		text.WriteString(said)
	}
	if text.Len() == 0 {
		return "", nil
	}
	rules, err := e.rules(ctx, cell)
	return text.String() + rules, err
}

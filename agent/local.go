//go:build linux

package agent

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"time"

	"windtunnel/testbed"
	"windtunnel/testbed/netns"
	"windtunnel/traffic"
)

// local is the backend of a simulated node on this host.
type local struct {
	*netns.Backend
	engines  *engines
	nics     *hostNICs // nil: the node is simulated
	machines *guestMachines
}

var _ Backend = local{}

// Place makes the stacks of a graph. A real host's interfaces are taken for it if the cell leaves the node, and given back
// if the cell is to stand in the host's own stack.
func (l local) Place(ctx context.Context, g testbed.Graph) (map[string]string, error) {
	var err error
	switch node, _ := g.Node(l.engines.config.Name); {
	case node.InPlace:
		err = l.nics.leave()
	case node.NIC != nil:
		err = l.nics.take(node)
	}
	if err != nil {
		return nil, err
	}
	return l.Backend.Place(ctx, g)
}

// Apply makes a graph live. What engines run, and virtual machines, stand on everything else: if something else
// of theirs is asked for, it goes first and comes last.
func (l local) Apply(ctx context.Context, g testbed.Graph, peers map[string]string) error {
	if !l.machines.same(g) {
		if err := l.machines.remove(g.Cell); err != nil {
			return err
		}
	}
	if !l.engines.same(g) {
		swept, err := l.engines.remove(ctx, g.Cell)
		if err = errors.Join(err, swept()); err != nil {
			return err
		}
	}
	if err := l.Backend.Apply(ctx, g, peers); err != nil {
		return err
	}
	err := l.engines.run(ctx, g)
	if err == nil {
		err = l.machines.run(ctx, g)
	}
	if err != nil {
		return errors.Join(l.said(ctx, g, err), l.Restore(context.WithoutCancel(ctx), g.Cell))
	}
	return nil
}

// said adds to a failure of an engine, or of a machine, what the daemons that have ended said.
func (l local) said(ctx context.Context, g testbed.Graph, err error) error {
	stands := l.Backend.Verify(ctx, g)
	if stands == nil {
		stands = l.Ending(ctx, g.Cell)
	}
	return errors.Join(err, stands)
}

// Verify compares what lives with g.
func (l local) Verify(ctx context.Context, g testbed.Graph) error {
	if err := errors.Join(l.engines.verify(ctx, g.Cell), l.machines.verify(g.Cell)); err != nil {
		return l.said(ctx, g, err)
	}
	return l.Backend.Verify(ctx, g)
}

// Restore takes a cell down.
func (l local) Restore(ctx context.Context, cell string) error {
	gone := l.machines.remove(cell)
	swept, err := l.engines.remove(ctx, cell)
	return errors.Join(gone, err, l.Backend.Restore(ctx, cell), swept())
}

// enginesPatience is how long hosts' engines get at an agent's end, which bounds everything (teardownPatience).
const enginesPatience = 5 * time.Second

// Close takes every cell down.
func (l local) Close() error { return l.close(enginesPatience) }

func (l local) close(patience time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var failed error
	for _, cell := range slices.Concat(l.engines.names(), l.machines.names()) {
		failed = errors.Join(failed, l.Restore(ctx, cell))
	}
	return errors.Join(failed, l.engines.hosts.close(ctx), l.Backend.Close())
}

// Found tells what a cell's engines made by themselves.
func (l local) Found(ctx context.Context, cell string) (string, error) {
	return l.engines.found(ctx, cell)
}

// Inside returns the container or the virtual machine's interface that a place is, nil if it is neither.
func (l local) Inside(cell, place string) Inside {
	if running := l.engines.of(cell, place); running != nil {
		return inside{running, place}
	}
	if machine := l.machines.of(cell, place); machine != nil {
		return atPort{machine}
	}
	return nil
}

func (l local) stack(cell, place string) (*netns.Stack, error) {
	if stack := l.engines.stack(cell, place); stack != nil {
		return stack, nil
	}
	if l.engines.of(cell, place) != nil {
		place = l.engines.config.Name // in the node's own stack
	}
	if stack := l.Stack(cell, place); stack != nil {
		return stack, nil
	}
	return nil, fmt.Errorf("cell %q has no stack for %q", cell, place)
}

func (l local) Start(cell, place string, cmd *exec.Cmd) error {
	stack, err := l.stack(cell, place)
	if err != nil {
		return err
	}
	return stack.Start(cmd)
}

func (l local) Do(cell, place string, f func() error) error {
	stack, err := l.stack(cell, place)
	if err != nil {
		return err
	}
	return stack.Do(f)
}

func (l local) Sysfs(cell, place string) string {
	stack, err := l.stack(cell, place)
	if err != nil {
		return ""
	}
	return stack.Sysfs()
}

func (l local) Port(cell, place string) *traffic.Port {
	p, address, tester, ok := l.Backend.Port(cell, place)
	if !ok {
		return nil
	}
	return &traffic.Port{Name: p.Place, Tester: tester, MAC: p.MAC, NextHop: p.NextHop, Address: address.String(), MTU: p.MTU,
		Device: p.Device, Socket: p.Socket, CPUs: p.CPUs, Tunnel: p.Tunnel}
}

func (l local) Machines(cell string) []Machine {
	var all []Machine
	for _, m := range l.machines.all(cell) {
		all = append(all, Machine{VM: m.VM, PID: m.PID(), Passt: m.Passt(), Accelerator: m.Accelerator})
	}
	return all
}

func (l local) Switches(cell string) []Switch {
	var all []Switch
	for _, d := range l.Daemons(cell) {
		all = append(all, Switch{Name: d.Name, PID: d.PID, Probe: d.Probe, Socket: d.Socket})
	}
	return all
}

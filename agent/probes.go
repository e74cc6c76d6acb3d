//go:build linux

package agent

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"windtunnel/measure"
	"windtunnel/result"
	"windtunnel/testbed"
)

// probes samples one cell's part of the node.
type probes struct {
	node    *measure.Node
	graph   testbed.Graph
	vms     []Machine
	machine string    // whose the CPUs are
	stacks  *sampling // nil: stacks are not sampled
}

// probes opens the probes of what stands for a cell; stacks says whether stacks are sampled, too.
func (n *node) probes(cell string, stacks bool) (*probes, error) {
	config := n.measured(cell)
	opened, err := measure.NewNode(config)
	if err != nil {
		return nil, err
	}
	p := &probes{node: opened, graph: n.graph(cell), vms: n.config.Backend.Machines(cell), machine: bootIdentity()}
	if stacks {
		p.stacks = n.sampleStacks(cell, config)
	}
	return p, nil
}

// measured says what of a cell lies on this node.
func (n *node) measured(cell string) measure.Config {
	g := n.graph(cell)
	config := measure.Config{CPUs: n.config.CPUs, Receivers: n.config.Backend.Receivers(cell)}
	for _, place := range g.Places() {
		if _, _, inVM := g.InVM(place); !inVM && g.NodeOf(place) == n.config.Name && apart(g, place) {
			config.Stacks = append(config.Stacks, measure.Stack{Place: place, Sysfs: n.config.Backend.Sysfs(cell, place),
				Do: func(f func() error) error { return n.config.Backend.Do(cell, place, f) }})
		}
	}
	for _, link := range g.Links {
		for _, end := range ends(g, link, n.config.Name) {
			if !slices.Contains(config.Links, end) { // a host has one interface for all its wires
				config.Links = append(config.Links, end)
			}
		}
	}
	for _, engine := range g.Part(n.config.Name).Engines {
		for _, c := range engine.Containers {
			if c.OwnStack() && c.Network != testbed.NetworkNone {
				config.Links = append(config.Links, measure.Link{Place: c.Name, Device: engineDevice, Role: result.RoleEndpoint})
			}
		}
	}
	if own, ok := g.Node(n.config.Name); ok {
		for _, device := range own.Devices {
			config.Links = append(config.Links, measure.Link{Place: own.Name, Device: device, Role: result.RoleEndpoint})
		}
	}
	for _, s := range n.config.Backend.Switches(cell) {
		if s.Probe == "" {
			continue
		}
		config.Switches = append(config.Switches, measure.Switch{Name: s.Name, Kind: s.Probe, Socket: s.Socket})
	}
	for _, r := range n.config.Backend.Rules(cell) {
		config.Rules = append(config.Rules, measure.Rule(r))
	}
	for _, m := range n.config.Backend.Machines(cell) {
		config.VMs = append(config.VMs, measure.VM{Name: m.VM.Name, PID: m.PID, Passt: m.Passt})
	}
	return config
}

// engineDevice is what engines call a container's interface.
const engineDevice = "eth0"

// apart tells whether a place's stack counts what this place receives. In a node's own stack, with
// nobody on another node, it would count what its senders receive as well, under each of its names.
func apart(g testbed.Graph, place string) bool {
	c, _, contained := g.Contained(place)
	return !contained || c.OwnStack() || len(g.Nodes) > 1
}

// ends are a link's interfaces on a node. The node's end of a container's link is
// an inner one: only what lies in the container itself is the endpoint's.
func ends(g testbed.Graph, link testbed.Link, node string) []measure.Link {
	var all []measure.Link
	for _, end := range link.Interfaces() {
		if _, _, inVM := g.InVM(end.Place); inVM || g.NodeOf(end.Place) != node {
			continue // what a virtual machine counts it tells itself
		}
		role := link.Role
		if role == result.RoleEndpoint && end.Place == node {
			role = result.RoleInner
		}
		all = append(all, measure.Link{Place: end.Place, Device: end.Device, Role: role})
	}
	return all
}

// sample reads every probe at the window's two ends, and the CPUs alone in between, every so often (0: never).
func (p *probes) sample(ctx context.Context, opens, closes time.Time, every time.Duration) (result.NodeSample, error) {
	if err := sleepUntil(ctx, opens); err != nil {
		return result.NodeSample{}, err
	}
	p.stacks.start()
	before, err := p.node.Read()
	if err != nil {
		return result.NodeSample{}, err
	}
	readings, err := p.follow(ctx, before, opens, closes, every)
	if err != nil {
		return result.NodeSample{}, err
	}
	p.stacks.stop()
	after, err := p.node.Read()
	if err != nil {
		return result.NodeSample{}, err
	}
	sample := measure.Difference(before, after)
	sample.Machine = p.machine
	sample.Intervals = measure.Intervals(append(readings, after))
	return sample, nil
}

// What reading the CPUs over time may take.
const (
	mostBusyShares = 20_000 // in one sample: 600 intervals of 32 CPUs
	readingShare   = 100    // an interval is at least so many times as long as its reading takes
)

// follow reads the CPUs until the window closes; the window's beginning is the first of its readings.
func (p *probes) follow(ctx context.Context, before measure.Snapshot, opens, closes time.Time, every time.Duration) ([]measure.Snapshot, error) {
	readings := []measure.Snapshot{before}
	cpus := len(p.node.CPUs())
	step := max(every, closes.Sub(opens)*time.Duration(cpus)/mostBusyShares)
	quickest := time.Duration(math.MaxInt64) // of the readings: a slow one had to wait for its CPU
	for edge := nextEdge(opens, step); every > 0 && closes.Sub(edge) >= step/2; edge = nextEdge(edge, step) {
		if err := sleepUntil(ctx, edge); err != nil {
			return nil, err
		}
		began := time.Now()
		now, err := p.node.ReadCPU()
		if err != nil {
			return nil, err
		}
		readings = append(readings, now)
		quickest = min(quickest, time.Since(began))
		step = max(step, quickest*readingShare)
	}
	return readings, sleepUntil(ctx, closes)
}

// nextEdge is a step after the last one, or half of one from now on where that is late: of an interval without length
// nothing can be told.
func nextEdge(last time.Time, step time.Duration) time.Time {
	edge, soonest := last.Add(step), time.Now().Add(step/2)
	if edge.Before(soonest) {
		return soonest
	}
	return edge
}

// inside puts what virtual machines saw, by the place of their workers, into the node's sample: their
// interfaces and stacks are endpoints as others are, and their CPUs their own.
func (p *probes) inside(sample *result.NodeSample, machines map[string]result.NodeSample) {
	for i := range sample.VMs {
		s := &sample.VMs[i]
		at := slices.IndexFunc(p.vms, func(m Machine) bool { return m.VM.Name == s.VM })
		if at < 0 {
			continue
		}
		m := p.vms[at]
		s.Accelerator, s.CPUs, s.MemoryBytes = m.Accelerator, m.VM.CPUs, uint64(m.VM.MemoryBytes)
		guest, told := machines[m.VM.NICs[0].Place]
		if !told {
			s.Error = "the guest has not told what it saw"
			continue
		}
		sample.Links, sample.Stacks = append(sample.Links, guest.Links...), append(sample.Stacks, guest.Stacks...)
		guest.Links, guest.Stacks = nil, nil
		s.Guest = &guest
	}
}

func (p *probes) close() error {
	if p == nil {
		return errors.New("no probes")
	}
	p.stacks.close()
	return p.node.Close()
}

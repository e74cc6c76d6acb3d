// Package agentcost measures what a node's agent costs: while it waits, and in the window of a trial with traffic. It goes by the
// kernel's clock of the process, so that others on the machine do not count.
package agentcost

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"windtunnel/agent"
	"windtunnel/agent/proto"
	"windtunnel/result"
	"windtunnel/testbed"
	"windtunnel/traffic"
)

// Cost is of one agent. Waiting, Sampling and Interrupts are CPU seconds per second, Begins the CPU time that a trial's start
// takes before its warm-up, and ResidentBytes the memory behind the trial.
type Cost struct {
	Waiting       float64
	Sampling      float64 // warm-up and window, until the trial's record is written, by the window's length
	Interrupts    float64 // what its BPF programs do for the window's samples, and at the scheduler's switches; not in Sampling
	Begins        time.Duration
	ResidentBytes int64
	Samples       uint64 // of stacks
	Frames        int    // that the stacks' trees have
}

// What an agent may cost, in the units of Cost.
const (
	MostWaiting       = 0.01
	MostSampling      = 0.005
	MostResidentBytes = 50e6
)

// Work is how long an agent waits, with a conductor's heartbeats, and how long the window is that it samples.
// Stacks has it sample its CPU's stacks too.
type Work struct {
	Waits, Window time.Duration
	Stacks        bool
}

// warmUp is the trial's: TCP's beginning is over by then.
const warmUp = 200 * time.Millisecond

// graph is a container on a node.
var graph = testbed.Graph{
	Cell: "A", Nodes: []testbed.Node{{Name: "a", CPUs: []int{0}}}, Containers: []testbed.Container{{Name: "c", Node: "a"}},
	Links: []testbed.Link{{Name: "l", Role: result.RoleEndpoint, Ends: [2]testbed.Interface{
		{Place: "c", Device: "eth0", MTU: 1500, Addresses: []string{"10.0.0.2/24"}}, {Place: "a", Device: "v-c", MTU: 1500, Addresses: []string{"10.0.0.1/24"}}}}},
}

// Measure starts an agent of the program windtunnel with its lease in a folder that is not there yet, and ends it again. It needs
// root, and CPU 0.
func Measure(ctx context.Context, windtunnel, lease string, w Work) (c Cost, err error) {
	counting, err := ebpf.EnableStats(unix.BPF_STATS_RUN_TIME)
	if err != nil {
		return c, fmt.Errorf("having the kernel count how long BPF programs run: %w", err)
	}
	defer func() { err = errors.Join(err, counting.Close()) }()
	a, err := agent.Spawn("a", []string{windtunnel, "agent", "--node", "a", "--cpus", "0", "--dir", lease})
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	if err := stand(ctx, a); err != nil {
		return c, err
	}
	stands, err := clocksOf(a.PID())
	if err != nil {
		return c, err
	}
	if err := wait(ctx, w.Waits); err != nil {
		return c, err
	}
	waited, err := clocksOf(a.PID())
	if err != nil {
		return c, err
	}
	c.Waiting = (waited.process - stands.process).Seconds() / w.Waits.Seconds()
	if err := c.trial(ctx, a, w); err != nil {
		return c, err
	}
	c.ResidentBytes, err = resident(a.PID())
	return c, err
}

// stand has the cell stand on the agent's node.
func stand(ctx context.Context, a *agent.Client) error {
	if _, err := a.Place(ctx, graph); err != nil {
		return err
	}
	if err := a.Apply(ctx, graph, nil); err != nil {
		return err
	}
	return a.Verify(ctx, graph)
}

func wait(ctx context.Context, how time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(how):
		return nil
	}
}

// trial is one of a TCP stream from the node to its container.
func (c *Cost) trial(ctx context.Context, a *agent.Client, w Work) error {
	order := traffic.Order{Role: traffic.Receive, Kind: "stream", Load: result.Options{}, Address: "10.0.0.2", CPUs: []int{0}}
	address, err := a.Prepare(ctx, graph.Cell, proto.Request{Place: "c", Order: &order})
	if err != nil {
		return err
	}
	order.Role, order.Address = traffic.Send, address
	if _, err := a.Prepare(ctx, graph.Cell, proto.Request{Place: "a", Order: &order}); err != nil {
		return err
	}
	before, err := clocksOf(a.PID())
	if err != nil {
		return err
	}
	if err := a.Start(ctx, graph.Cell, proto.Start{InSeconds: 0.03, WarmUpSeconds: warmUp.Seconds(), WindowSeconds: w.Window.Seconds(), Profile: w.Stacks}); err != nil {
		return err
	}
	begun, err := clocksOf(a.PID()) // probes are opened before the warm-up
	if err != nil {
		return err
	}
	trial, err := a.Result(ctx, graph.Cell)
	if err != nil {
		return err
	}
	done, err := clocksOf(a.PID())
	if err != nil {
		return err
	}
	c.Begins = begun.process - before.process
	c.Sampling = (done.process - begun.process).Seconds() / w.Window.Seconds()
	c.Interrupts = (done.samples - begun.samples).Seconds() / w.Window.Seconds()
	return c.check(trial, w)
}

// check refuses a trial in which the agent did not do its work.
func (c *Cost) check(trial proto.NodeTrial, w Work) error {
	for _, end := range trial.Ends {
		if end.Error != "" || end.End.Bytes == 0 {
			return fmt.Errorf("the agent's worker in %s did not work: %s", end.Place, end.Error)
		}
	}
	if !w.Stacks {
		return nil
	}
	p := trial.Profile
	if p == nil || p.Missing != "" || c.Interrupts == 0 {
		return fmt.Errorf("the agent sampled no stacks: %+v", p)
	}
	c.Samples = p.Taken
	for _, t := range p.Tasks {
		c.Frames += len(t.Frames)
	}
	return nil
}

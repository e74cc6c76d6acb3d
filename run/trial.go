package run

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"windtunnel/result"
	"windtunnel/traffic"
)

// trial measures one cell once. The error is the run's end (a node is gone); what
// spoils only this trial is its Excluded.
func (c *Conductor) trial(ctx context.Context, cell PlannedCell, t result.Trial) (result.Trial, error) {
	times := c.Plan.Times
	t.Cell = cell.Record.Name
	t.WarmupSeconds, t.WindowSeconds = times.WarmupSeconds, times.WindowSeconds
	t.ElapsedSeconds = c.elapsed().Seconds()
	ctx, cancel := context.WithTimeout(ctx, trialTime(times)+trialPatience)
	defer cancel()
	if err := c.prepare(ctx, cell); err != nil {
		t.Excluded = fmt.Sprintf("it could not be prepared: %v", err)
		return t, c.stop(ctx, cell)
	}
	parts, err := c.measureOnce(ctx, cell)
	if err != nil {
		t.Excluded = fmt.Sprintf("it was not measured: %v", err)
		return t, c.stop(ctx, cell)
	}
	c.assemble(cell, parts, &t)
	if t.Excluded = spoiled(t); t.Excluded != "" {
		return t, c.stop(ctx, cell)
	}
	return t, nil
}

// prepare makes receivers ready, then senders.
func (c *Conductor) prepare(ctx context.Context, cell PlannedCell) error {
	dealt := map[string]int{}
	for i, pair := range cell.Record.Pairs {
		address, err := c.prepareEnd(ctx, cell, i, pair.To, traffic.Receive, cell.Laid.Addresses[pair.To.Name()], dealt)
		if err != nil {
			return err
		}
		if _, err := c.prepareEnd(ctx, cell, i, pair.From, traffic.Send, address, dealt); err != nil {
			return err
		}
	}
	return nil
}

func (c *Conductor) prepareEnd(ctx context.Context, cell PlannedCell, pair int, place result.Place,
	role traffic.Role, address string, dealt map[string]int) (string, error) {
	order := traffic.Order{Role: role, Kind: cell.Record.Traffic, Load: cell.Record.Load, Address: address,
		CPUs: rotated(c.cpus(place.Node), dealt[place.Node])}
	dealt[place.Node]++
	return c.node(place.Node).Prepare(ctx, cell.Record.Name,
		Request{Pair: pair, Place: place.Name(), Order: &order})
}

// rotated starts the list of CPUs at another one for each worker of a node, so
// that workers spread over its CPUs.
func rotated(cpus []int, by int) []int {
	by %= len(cpus)
	return append(append([]int(nil), cpus[by:]...), cpus[:by]...)
}

func (c *Conductor) cpus(node string) []int {
	for _, n := range c.Plan.Nodes {
		if n.Name == node {
			return n.CPUs
		}
	}
	return nil
}

// measureOnce starts all nodes, also those that only stand by, and waits for
// their parts.
func (c *Conductor) measureOnce(ctx context.Context, cell PlannedCell) (map[string]NodeTrial, error) {
	start := Start{InSeconds: startDelay.Seconds(),
		WarmUpSeconds: c.Plan.Times.WarmupSeconds, WindowSeconds: c.Plan.Times.WindowSeconds}
	nodes := c.nodesOf(cell.Laid.Graph)
	err := each(nodes, func(n Node) error { return n.Start(ctx, cell.Record.Name, start) })
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	parts := map[string]NodeTrial{}
	err = each(nodes, func(n Node) error {
		part, err := n.Result(ctx, cell.Record.Name)
		mu.Lock()
		defer mu.Unlock()
		parts[n.Name()] = part
		return err
	})
	return parts, err
}

// each does something on all nodes at once.
func each(nodes []Node, do func(Node) error) error {
	failed := make([]error, len(nodes))
	var all sync.WaitGroup
	for i, node := range nodes {
		all.Go(func() { failed[i] = do(node) })
	}
	all.Wait()
	return errors.Join(failed...)
}

// stop clears up after a trial that went wrong. Its error means that a node does
// not answer any more, and with that the run ends.
func (c *Conductor) stop(ctx context.Context, cell PlannedCell) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopPatience)
	defer cancel()
	return each(c.nodesOf(cell.Laid.Graph), func(n Node) error { return n.Stop(ctx, cell.Record.Name) })
}

// assemble puts the nodes' parts together to one trial.
func (c *Conductor) assemble(cell PlannedCell, parts map[string]NodeTrial, t *result.Trial) {
	t.Nodes = map[string]result.NodeSample{}
	t.Pairs = make([]result.PairSample, len(cell.Record.Pairs))
	for i, pair := range cell.Record.Pairs {
		missing := result.PairEnd{Error: "this end reported nothing"}
		t.Pairs[i] = result.PairSample{From: pair.From.Name(), To: pair.To.Name(), Sender: missing, Receiver: missing}
	}
	for name, part := range parts {
		t.Nodes[name] = part.Sample
		for _, end := range part.Ends {
			place(t.Pairs, end)
		}
	}
}

func place(pairs []result.PairSample, end WorkerEnd) {
	if end.Pair < 0 || end.Pair >= len(pairs) {
		return
	}
	if end.Error != "" {
		end.End.Error = end.Error
	}
	if end.Role == traffic.Send {
		pairs[end.Pair].Sender = end.End
	} else {
		pairs[end.Pair].Receiver = end.End
	}
}

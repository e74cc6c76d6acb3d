package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"

	"windtunnel/result"
	"windtunnel/traffic"
)

// trial measures one cell once, for as long as t says. The error is the run's end (a node is gone); what
// spoils only this trial is its Excluded.
func (c *Conductor) trial(ctx context.Context, cell PlannedCell, t result.Trial) (result.Trial, error) {
	t.Cell = cell.Record.Name
	t.ElapsedSeconds = c.elapsed().Seconds()
	if err := c.stand(ctx, cell); err != nil {
		t.Excluded = err.Error()
		return t, c.stop(ctx, cell)
	}
	ctx, cancel := context.WithTimeout(ctx, trialLimit(cell, t))
	defer cancel()
	began := c.Clock.Now()
	ready := readying{trial: t, dealt: map[string]int{}}
	defer ready.carried.end()
	err := c.prepare(ctx, cell, &ready)
	took := c.Clock.Now().Sub(began)
	if c.readied[cell.Record.Name] = took; err == nil {
		err = tooLate(cell, took)
	}
	if err != nil {
		t.Excluded = fmt.Sprintf("it could not be prepared: %v", err)
		return t, c.stop(ctx, cell)
	}
	parts, err := c.measureOnce(ctx, cell, t)
	if err != nil {
		t.Excluded = fmt.Sprintf("it was not measured: %v", err)
		return t, c.stop(ctx, cell)
	}
	c.assemble(cell, parts, &t)
	c.judge(cell, &t)
	if t.Excluded = cmp.Or(spoiled(t), c.astray(cell, t)); t.Excluded != "" {
		return t, c.stop(ctx, cell)
	}
	return t, c.keepProfiles(t, parts)
}

// prepare makes receivers ready, then senders: every pair's load, and then the
// lighter ones beside them.
func (c *Conductor) prepare(ctx context.Context, cell PlannedCell, ready *readying) error {
	loads := []load{{kind: cell.Record.Traffic, options: cell.Record.Load}}
	if cell.Record.Beside != "" {
		loads = append(loads, load{kind: cell.Record.Beside, options: cell.Record.BesideLoad, beside: true})
	}
	for _, l := range loads {
		for i := range cell.Record.Pairs {
			if err := c.preparePair(ctx, cell, i, l, ready); err != nil {
				return err
			}
		}
	}
	return nil
}

// readying is a trial whose ends are made ready.
type readying struct {
	trial   result.Trial
	dealt   map[string]int // by node: to how many workers its CPUs were dealt out
	carried carriages
}

// load is one of the loads of a cell.
type load struct {
	kind    string
	options result.Options
	beside  bool
}

func (c *Conductor) preparePair(ctx context.Context, cell PlannedCell, i int, l load, ready *readying) error {
	pair, t, dealt := cell.Record.Pairs[i], ready.trial, ready.dealt
	prepare := func(role traffic.Role, place result.Place, address string) (string, error) {
		order := traffic.Order{Role: role, Kind: l.kind, Load: l.options, Address: address,
			CPUs: rotated(c.cpus(place.Node), dealt[place.Node]), WarmUpSeconds: t.WarmupSeconds, WindowSeconds: t.WindowSeconds,
			Keep: ofSearch(cell, t)}
		dealt[place.Node]++
		return c.node(place.Node).Prepare(ctx, cell.Record.Name,
			Request{Pair: i, Beside: l.beside, Place: place.Name(), Order: &order})
	}
	address, err := prepare(traffic.Receive, pair.To, cell.Laid.Listen(pair, i, l.beside))
	if err == nil {
		address, err = c.meet(ctx, cell, pair, address, &ready.carried)
	}
	if err != nil {
		return err
	}
	_, err = prepare(traffic.Send, pair.From, cell.Laid.Connect(i, l.beside, address))
	return err
}

// rotated starts the list of CPUs at another one for each worker of a node, so
// that workers spread over its CPUs.
func rotated(cpus []int, by int) []int {
	if len(cpus) == 0 {
		return nil
	}
	by %= len(cpus)
	return append(append([]int(nil), cpus[by:]...), cpus[:by]...)
}

// cpus are those that a node's workers are pinned to. In a place that runs already they go where its scheduler puts
// them: beside what else works there, on CPUs that it may be kept from.
func (c *Conductor) cpus(node string) []int {
	for _, n := range c.Plan.Nodes {
		if n.Name == node && len(n.Exec) == 0 {
			return n.CPUs
		}
	}
	return nil
}

// measureOnce starts all nodes, also those that only stand by, and waits for
// their parts.
func (c *Conductor) measureOnce(ctx context.Context, cell PlannedCell, t result.Trial) (map[string]NodeTrial, error) {
	start := Start{InSeconds: startDelay.Seconds(),
		WarmUpSeconds: t.WarmupSeconds, WindowSeconds: t.WindowSeconds,
		IntervalSeconds: intervalOf(t.WindowSeconds), Profile: c.profiled(t)}
	if ofSearch(cell, t) { // of which nobody asks what nodes did, or when
		start.Alone, start.IntervalSeconds = true, 0
	}
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

// ofSearch reports whether a trial is one of a search's.
func ofSearch(cell PlannedCell, t result.Trial) bool { return cell.Record.Find != nil && t.Block == 0 }

// intervalOf is how long the parts of a window are, in seconds: few enough that a trial's record stays
// small, and whole tenths.
func intervalOf(windowSeconds float64) float64 {
	return interval.Seconds() * max(1, math.Ceil(windowSeconds/interval.Seconds()/mostIntervals))
}

// profiled tells whether stacks are sampled in a trial: in those of blocks, unless nobody wants them.
func (c *Conductor) profiled(t result.Trial) bool { return c.Plan.Times.Profile && t.Block > 0 }

// keepProfiles records what the nodes' CPUs were doing in a trial that counts.
func (c *Conductor) keepProfiles(t result.Trial, parts map[string]NodeTrial) error {
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		p := parts[name].Profile
		if p == nil {
			continue
		}
		p.Cell, p.Block, p.Attempt, p.Node = t.Cell, t.Block, t.Attempt, name
		if err := c.Out.Profile(*p); err != nil {
			return err
		}
	}
	return nil
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
		if cell.Record.Beside != "" {
			t.Pairs[i].Beside = &result.Beside{Kind: cell.Record.Beside, Sender: missing, Receiver: missing}
		}
	}
	for name, part := range parts {
		t.Nodes[name] = part.Sample
		for _, end := range part.Ends {
			place(t.Pairs, end)
		}
	}
	for i := range t.Pairs {
		pair := &t.Pairs[i]
		tell(&pair.Sender, &pair.Receiver)
		if b := pair.Beside; b != nil {
			tell(&b.Sender, &b.Receiver)
		}
	}
}

// tell hands what a sender's program tells of the receiver over to the receiver, whose own
// program tells nothing: what the kernel counted there stays.
func tell(sender, receiver *result.PairEnd) {
	told := sender.Told
	if sender.Told = nil; told == nil || receiver.Error != "" {
		return
	}
	receiver.WindowSeconds, receiver.Bytes, receiver.Packets = told.WindowSeconds, told.Bytes, told.Packets
	if seen := receiver.Arrived; seen != nil && told.Arrived != nil {
		told.Arrived.SocketDrops = min(seen.SocketDrops, told.Arrived.Lost)
	}
	receiver.Arrived, receiver.Intervals = told.Arrived, told.Intervals
}

func place(pairs []result.PairSample, end WorkerEnd) {
	if end.Pair < 0 || end.Pair >= len(pairs) {
		return
	}
	if end.Error != "" {
		end.End.Error = end.Error
	}
	sender, receiver := &pairs[end.Pair].Sender, &pairs[end.Pair].Receiver
	if beside := pairs[end.Pair].Beside; end.Beside && beside != nil {
		sender, receiver = &beside.Sender, &beside.Receiver
	}
	if end.Role == traffic.Send {
		*sender = end.End
	} else {
		*receiver = end.End
	}
}

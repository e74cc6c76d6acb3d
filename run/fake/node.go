package fake

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"windtunnel/result"
	"windtunnel/run"
)

// The roles of a pair's ends, as orders spell them.
const (
	send    = "send"
	receive = "receive"
)

// node is one simulated node.
type node struct {
	name    string
	machine *Machine
}

var _ run.Node = (*node)(nil)
var _ run.Clock = (*Machine)(nil)

func (n *node) Name() string { return n.name }

func (n *node) Fingerprint() result.Fingerprint {
	return result.Fingerprint{"machine": "simulated", "cpu.model": "fake"}
}

func (n *node) Place(_ context.Context, g run.Graph) (map[string]string, error) {
	return map[string]string{n.name: "/fake/" + g.Cell + "/" + n.name}, nil
}

func (n *node) Apply(_ context.Context, g run.Graph, _ map[string]string) error {
	n.machine.mu.Lock()
	defer n.machine.mu.Unlock()
	if delete(n.machine.stands, g.Cell); len(g.Nodes) > 0 {
		n.machine.stands[g.Cell] = true // also where it fails half-way
	}
	if n.machine.truth(g.Cell).StaysBroken && n.machine.broken[g.Cell] && len(g.Nodes) > 0 {
		return errors.New("it does not come back")
	}
	if len(g.Nodes) > 0 {
		delete(n.machine.broken, g.Cell)
	}
	if why := n.machine.truth(g.Cell).BuildFails; why != "" && len(g.Nodes) > 0 {
		return errors.New(why)
	}
	return nil
}

func (n *node) Verify(_ context.Context, g run.Graph) error {
	n.machine.mu.Lock()
	defer n.machine.mu.Unlock()
	if n.machine.broken[g.Cell] {
		return errors.New("the daemon has ended")
	}
	return nil
}

func (n *node) Found(_ context.Context, cell string) (string, error) {
	return n.machine.truth(cell).Found, nil
}

func (n *node) Probe(_ context.Context, cell, _ string, probe run.Probe) (string, error) {
	if probe.Role == send && n.machine.truth(cell).MTUFails {
		return "", fmt.Errorf("a UDP packet of the endpoint's MTU, %d bytes, does not pass", probe.MTU)
	}
	return "192.0.2.1:1", nil
}

func (n *node) Prepare(_ context.Context, cell string, end run.Request) (string, error) {
	m := n.machine
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := n.dead(); err != nil {
		return "", err
	}
	t := m.open[cell]
	if t == nil {
		t = m.draw(cell)
		m.open[cell] = t
	}
	end.Cell = n.name // whose end it is
	t.ends = append(t.ends, end)
	return "192.0.2.1:1", nil
}

func (n *node) Calibrate(_ context.Context, cell, _ string, _ run.Order) (float64, error) {
	n.machine.mu.Lock()
	defer n.machine.mu.Unlock()
	return n.machine.truth(cell).Calibrated, n.dead()
}

func (n *node) Start(_ context.Context, cell string, start run.Start) error {
	m := n.machine
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.open[cell]
	if t == nil {
		return errors.New("nothing is prepared")
	}
	t.start = start
	m.beside = slices.Sorted(maps.Keys(m.stands))
	m.most = max(m.most, len(m.beside))
	t.left++
	if start.Alone && start.IntervalSeconds == 0 {
		m.alone++
	}
	return n.dead()
}

// Result lets the virtual time of the trial pass, once for both nodes.
func (n *node) Result(_ context.Context, cell string) (run.NodeTrial, error) {
	m := n.machine
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := n.dead(); err != nil {
		return run.NodeTrial{}, err
	}
	t := m.open[cell]
	if t == nil {
		return run.NodeTrial{}, errors.New("no trial was started")
	}
	part := run.NodeTrial{Sample: n.sample(t)}
	if t.start.Profile {
		part.Profile = profileOf(part.Sample)
	}
	for _, end := range t.ends {
		if end.Cell == n.name {
			part.Ends = append(part.Ends, t.end(end))
		}
	}
	if t.left--; t.left == 0 {
		m.pass(t.start.InSeconds + t.start.WarmUpSeconds + t.start.WindowSeconds)
		delete(m.open, cell)
	}
	return part, nil
}

func (n *node) Meet(context.Context, string, string) (string, error) {
	return "", errors.New("its ports are on one machine")
}

func (n *node) Carry(context.Context, string, run.Carry) (run.Carry, error) {
	return run.Carry{Ended: true}, nil
}

func (n *node) Stop(_ context.Context, cell string) error {
	m := n.machine
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.open, cell)
	return n.dead()
}

func (n *node) dead() error {
	if after := n.machine.NodeDiesAfter; after > 0 && n.name == "b" && n.machine.trials > after {
		return errors.New("node b: it ended")
	}
	return nil
}

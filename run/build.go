package run

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"windtunnel/agent"
	"windtunnel/datapath"
	"windtunnel/result"
	"windtunnel/scenario"
	"windtunnel/traffic"
)

// nodesOf are the nodes that a graph speaks of, in its order: the first of a
// wire's nodes makes the wire.
func (c *Conductor) nodesOf(g Graph) []Node {
	var nodes []Node
	for _, want := range g.Nodes {
		for _, node := range c.Nodes {
			if node.Name() == want.Name {
				nodes = append(nodes, node)
			}
		}
	}
	return nodes
}

// buildCell places, applies, verifies and probes one cell.
func (c *Conductor) buildCell(ctx context.Context, cell PlannedCell) error {
	g := cell.Laid.Graph
	nodes := c.nodesOf(g)
	stacks := map[string]string{}
	for _, node := range nodes {
		placed, err := node.Place(ctx, g)
		if err != nil {
			return fmt.Errorf("making its stacks: %w", err)
		}
		maps.Copy(stacks, placed)
	}
	// At once: routers on both sides look for each other while they start.
	if err := each(nodes, func(n Node) error { return n.Apply(ctx, g, stacks) }); err != nil {
		return fmt.Errorf("building it: %w", err)
	}
	if err := c.verifyCell(ctx, cell); err != nil {
		return fmt.Errorf("verifying it: %w", err)
	}
	return c.probeCell(ctx, cell)
}

// lookAt keeps what engines made of a cell that stands. What cannot be had is said in its place.
func (c *Conductor) lookAt(ctx context.Context, cell *PlannedCell) {
	if cell.Record.Failed != "" || len(cell.Laid.Graph.Engines) == 0 {
		return
	}
	var text strings.Builder
	for _, node := range c.nodesOf(cell.Laid.Graph) {
		said, err := node.Found(ctx, cell.Record.Name)
		if err != nil {
			said = fmt.Sprintf("could not be looked at: %v", err)
		}
		if said != "" {
			fmt.Fprintf(&text, "on node %s:\n", node.Name())
			for line := range strings.Lines(strings.TrimRight(said, "\n") + "\n") {
				text.WriteString("  " + line)
			}
		}
	}
	cell.Record.Engines = text.String()
}

// verifyCell compares what lives on every node with the graph.
func (c *Conductor) verifyCell(ctx context.Context, cell PlannedCell) error {
	return each(c.nodesOf(cell.Laid.Graph), func(n Node) error { return n.Verify(ctx, cell.Laid.Graph) })
}

// probeCell checks that every pair of a cell can talk, at its full MTU and
// unharmed.
func (c *Conductor) probeCell(ctx context.Context, cell PlannedCell) error {
	for i, pair := range cell.Record.Pairs {
		err := c.probePair(ctx, cell, i, pair, cell.Record.MTU.Endpoint)
		if err != nil && cell.Record.Path == datapath.Existing {
			err = c.probeLess(ctx, cell, i, pair, err)
		}
		if err != nil {
			return fmt.Errorf("trying %s to %s: %w", pair.From.Name(), pair.To.Name(), err)
		}
	}
	return nil
}

// probeLess tries what else a path that is not ours may pass: smaller packets, and where the load is TCP's no others.
// What does not pass is a doubt of the cell's.
func (c *Conductor) probeLess(ctx context.Context, cell PlannedCell, i int, pair result.Pair, why error) error {
	mtus := []int{datapath.MinimumMTU}
	if cell.Record.Traffic == streams && (cell.Record.Beside == "" || cell.Record.Beside == streams) {
		mtus = append(mtus, 0)
	}
	for _, mtu := range mtus {
		if c.probePair(ctx, cell, i, pair, mtu) != nil {
			continue
		}
		doubt := result.Doubt{Kind: "path-mtu", Says: fmt.Sprintf("%s to %s: IP packets of %d bytes, which its interfaces take, do not pass whole: %v",
			pair.From.Name(), pair.To.Name(), cell.Record.MTU.Endpoint, why)}
		if mtu == 0 {
			doubt = result.Doubt{Kind: "no-udp", Says: fmt.Sprintf("%s to %s: TCP passes, and UDP does not", pair.From.Name(), pair.To.Name())}
		}
		if !slices.Contains(c.narrow[cell.Record.Name], doubt) {
			c.narrow[cell.Record.Name] = append(c.narrow[cell.Record.Name], doubt)
		}
		return nil
	}
	return fmt.Errorf("%w; if it is reached at another address, say so with `address` of the node %s", why, pair.To.Node)
}

func (c *Conductor) probePair(ctx context.Context, cell PlannedCell, i int, pair result.Pair, mtu int) error {
	receiver, sender := c.node(pair.To.Node), c.node(pair.From.Node)
	name := cell.Record.Name
	generator := ""
	if program, _, err := agent.Generator(cell.Record.Traffic, cell.Record.Load); err == nil && program != "" {
		generator = cell.Record.Load.Text("generator") // what has the sender's port tries the path, too
	}
	address, err := receiver.Probe(ctx, name, pair.To.Name(),
		Probe{Role: traffic.Receive, Address: cell.Laid.Listen(pair, i, false), MTU: mtu, Generator: generator})
	var carried carriages
	defer carried.end()
	if err == nil {
		address, err = c.meet(ctx, cell, pair, address, &carried)
	}
	if err != nil {
		return err
	}
	_, err = sender.Probe(ctx, name, pair.From.Name(),
		Probe{Role: traffic.Send, Address: cell.Laid.Connect(i, false, address), MTU: mtu, Generator: generator})
	return errors.Join(err, receiver.Stop(ctx, name))
}

func (c *Conductor) node(name string) Node {
	i := slices.IndexFunc(c.Nodes, func(n Node) bool { return n.Name() == name })
	return c.Nodes[i]
}

// restore applies the empty graph of every cell, on all nodes at once, also after
// a Ctrl-C, when the run's own context has ended. The limit is one cell's: many
// take long, and only one that hangs takes too long.
func (c *Conductor) restore(limit time.Duration, cells ...PlannedCell) error {
	return each(c.Nodes, func(n Node) error { return takeDown(n, limit, cells) })
}

// takeDown applies the empty graphs of cells on a node. One that does not answer
// is not asked again: the end of its agent takes everything away.
func takeDown(node Node, limit time.Duration, cells []PlannedCell) error {
	var failed error
	for _, cell := range cells {
		if _, there := cell.Laid.Graph.Node(node.Name()); !there {
			continue
		}
		answers, err := takeCellDown(node, limit, cell.Record.Name)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("taking cell %s down: %w", cell.Record.Name, err))
		}
		if !answers {
			break
		}
	}
	return failed
}

func takeCellDown(node Node, limit time.Duration, cell string) (answers bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if err := node.Stop(ctx, cell); err != nil {
		return false, err
	}
	err = node.Apply(ctx, Graph{Cell: cell}, nil)
	return ctx.Err() == nil, err
}

// assumed is what the source had, as words for the record.
func assumed(a scenario.Assumed) map[string]string {
	out := maps.Clone(a.Other)
	if out == nil {
		out = map[string]string{}
	}
	if a.CPUs > 0 {
		out["cpus"] = strconv.Itoa(a.CPUs)
	}
	if a.MemoryBytes > 0 {
		out["memory_bytes"] = strconv.FormatInt(a.MemoryBytes, 10)
	}
	if a.DataNIC != "" {
		out["data_nic"] = a.DataNIC
	}
	if a.LinkBitsPerSecond > 0 {
		out["link_bits_per_second"] = strconv.FormatFloat(a.LinkBitsPerSecond, 'f', -1, 64)
	}
	return out
}

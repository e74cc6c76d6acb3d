// Package netns makes testbed graphs live on one host, with network namespaces
// for nodes and containers and virtual Ethernet pairs for links. It speaks
// netlink, ioctl and sysfs, and starts no program but a graph's own daemons.
//
// One Backend serves one node of every cell; the conductor applies the same graph
// to all its nodes, at once or in the graph's order, so that the owner of a wire
// comes first and the other node soon finds its end. Each cell has stacks of its own: all cells may use the same
// addresses and device names, and none disturbs another.
//
// Nothing here changes the host's own network stack, so there is nothing to put
// back: what exists, exists in the stacks, and dies with this process. A node that
// is a real host is the exception (Take): one interface of its is moved into the
// node's stack, which all cells then share, one after the other.
package netns

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	"windtunnel/testbed"
)

// Backend holds one node's testbeds, by cell.
type Backend struct {
	node string
	cpus []int
	dir  string

	mu    sync.Mutex
	cells map[string]*cell
	host  *host // nil: the node is simulated
}

// cell is one standing testbed.
type cell struct {
	name    string
	dir     string
	node    string
	cpus    []int
	graph   testbed.Graph // as it stands, other nodes' parts included
	stacks  map[string]*Stack
	host    *host // whose stack is the node's
	daemons map[string]*daemon
	peers   map[string]string
	ends    map[string]int // indices of this node's ends of others' wires, by place/device
	// receivers are the receive threads of this node's devices, by place/device.
	receivers map[string][]int
	// choosers hold the programs that choose queues attached, by place/device.
	choosers map[string]io.Closer
	// rules hold what drops a share of what arrives, by place/device.
	rules map[string]*lossRule
	// routed are the settings of stacks as they were before there was a route over several links, by its name.
	routed map[string]map[string]string
}

// New returns a backend for a node. CPUs serve it where a graph names none. Files
// of daemons and mount points go under dir, which nobody else uses.
func New(node string, cpus []int, dir string) *Backend {
	// Daemons run in folders of their own, where a relative path is another.
	if absolute, err := filepath.Abs(dir); err == nil {
		dir = absolute
	}
	return &Backend{node: node, cpus: cpus, dir: dir, cells: map[string]*cell{}}
}

// Place makes the stacks of this node's part of a graph, where they do not stand
// yet, and returns a path of each one's network namespace by its place's name.
// A failure takes the cell down.
func (b *Backend) Place(ctx context.Context, g testbed.Graph) (map[string]string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := testbed.Validate(g); err != nil {
		return nil, err
	}
	c := b.cell(g)
	if err := c.place(g); err != nil {
		return nil, b.fail(c, err)
	}
	paths := map[string]string{}
	for place, stack := range c.stacks {
		paths[place] = stack.Path()
	}
	return paths, nil
}

// Apply makes this node's part of a graph live, by diff against what stands for
// the cell. Peers are the paths of other nodes' stacks, by place. A failure takes
// the whole cell down on this node.
func (b *Backend) Apply(ctx context.Context, g testbed.Graph, peers map[string]string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := testbed.Validate(g); err != nil {
		return err
	}
	c := b.cell(g)
	c.peers = peers
	if err := c.apply(ctx, g); err != nil {
		return b.fail(c, err)
	}
	return nil
}

// Restore takes a cell down: the empty graph is applied and the stacks are
// dropped. A cell that does not stand is restored already.
func (b *Backend) Restore(ctx context.Context, name string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	c, stands := b.cells[name]
	if !stands {
		return nil
	}
	return b.drop(ctx, c)
}

// Close takes every cell down.
func (b *Backend) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var errs []error
	for _, c := range b.cells {
		errs = append(errs, b.drop(context.Background(), c))
	}
	errs = append(errs, b.giveBack())
	if b.host != nil { // its pin keeps what could not be given back
		errs = append(errs, b.host.stack.Close())
		b.host = nil
	}
	// Best effort: the folder stays if others put something there.
	_ = os.Remove(filepath.Join(b.dir, "sys"))
	return errors.Join(errs...)
}

// Stack returns a standing stack, nil if there is none.
func (b *Backend) Stack(cell, place string) *Stack {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c := b.cells[cell]; c != nil {
		return c.stacks[place]
	}
	return nil
}

// cell returns the standing cell of a graph, or a new one without stacks.
func (b *Backend) cell(g testbed.Graph) *cell {
	c, stands := b.cells[g.Cell]
	if !stands {
		c = &cell{
			name: g.Cell, node: b.node, dir: filepath.Join(b.dir, folder(g.Cell)),
			graph:  testbed.Graph{Cell: g.Cell},
			stacks: map[string]*Stack{}, daemons: map[string]*daemon{}, ends: map[string]int{}, receivers: map[string][]int{},
			choosers: map[string]io.Closer{}, rules: map[string]*lossRule{}, routed: map[string]map[string]string{},
		}
		b.cells[g.Cell] = c
	}
	c.cpus, c.host = b.cpus, b.host
	if node, ok := g.Node(b.node); ok && len(node.CPUs) > 0 {
		c.cpus = node.CPUs
	}
	return c
}

// folder is a cell's name as the name of a folder, unlike "sys".
func folder(cell string) string { return "cell-" + url.PathEscape(cell) }

// fail takes down what was half built and says why it came to that.
func (b *Backend) fail(c *cell, cause error) error {
	err := fmt.Errorf("cell %s on node %s: %w", c.name, b.node, cause)
	if left := b.drop(context.Background(), c); left != nil {
		err = errors.Join(err, fmt.Errorf("and taking it down again: %w", left))
	}
	return err
}

// drop applies the empty graph and lets the stacks go. It goes on after an error:
// a stack that ends takes with it whatever could not be removed.
func (b *Backend) drop(ctx context.Context, c *cell) error {
	errs := []error{c.apply(ctx, testbed.Graph{Cell: c.name})}
	for _, d := range c.daemons { // only after a failed removal
		errs = append(errs, d.stop())
	}
	for _, stack := range c.stacks {
		if c.host == nil || stack != c.host.stack {
			errs = append(errs, stack.Close())
		}
	}
	if c.host != nil {
		errs = append(errs, c.host.sweep())
	}
	for key := range c.choosers { // of devices that are gone by now
		errs = append(errs, c.dropChooser(key))
	}
	for key := range c.rules {
		errs = append(errs, c.dropRule(key))
	}
	errs = append(errs, os.RemoveAll(c.dir))
	delete(b.cells, c.name)
	return errors.Join(errs...)
}

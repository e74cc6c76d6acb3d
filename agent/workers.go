//go:build linux

package agent

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"

	"windtunnel/agent/proto"
	"windtunnel/testbed"
)

// workerPatience bounds how long a worker may take to end once its input closed.
const workerPatience = 3 * time.Second

// workerProcess is one endpoint's worker. A place has one, which serves all of
// its pairs and lives as long as the cell's testbed.
type workerProcess struct {
	cell, place string
	peer        *peer
	process     *child
}

// ask asks the worker. One that does not answer within the limit hangs, and would
// let every later request wait: it is killed, and the next request for its place
// starts another.
func (w *workerProcess) ask(ctx context.Context, limit time.Duration, request proto.Request) (proto.Reply, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	reply, err := w.peer.ask(ctx, request)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		_ = w.process.kill()
		_ = within(lastWordsPatience, "dying", func() error { <-w.peer.ended; return nil })
	}
	return reply, err
}

func (w *workerProcess) lastWords() string {
	if w.peer.dead() == nil {
		return ""
	}
	return w.process.lastWords()
}

// worker returns the living worker of a place, starting one where there is none
// or the last one died.
func (n *node) worker(ctx context.Context, cell, place string) (*workerProcess, error) {
	place = n.workerPlace(cell, place)
	key := cell + "/" + place
	n.mu.Lock()
	w := n.workers[key]
	g, applied := n.graphs[cell]
	n.mu.Unlock()
	if w != nil && w.peer.dead() == nil {
		return w, nil
	}
	if !applied || g.NodeOf(place) != n.config.Name {
		return nil, fmt.Errorf("cell %q has no place %q on node %s", cell, place, n.config.Name)
	}
	if w != nil {
		_ = w.process.end(0) // its stream is broken, whatever became of the process
	}
	w, err := n.startWorker(ctx, cell, place)
	if err != nil {
		return nil, fmt.Errorf("starting the worker in %s: %w", place, err)
	}
	n.mu.Lock()
	n.workers[key] = w
	n.mu.Unlock()
	return w, nil
}

// workerPlace is where the worker of a place is: the interfaces of a virtual machine share one.
func (n *node) workerPlace(cell, place string) string {
	if vm, _, ok := n.graph(cell).InVM(place); ok {
		return vm.NICs[0].Place
	}
	return place
}

// startWorker starts a worker inside its place. The kernel kills it if this
// agent dies (PR_SET_PDEATHSIG), and it ends by itself when its input does.
func (n *node) startWorker(ctx context.Context, cell, place string) (*workerProcess, error) {
	process, err := n.startInside(ctx, cell, place)
	if err != nil {
		return nil, err
	}
	if process.pid != 0 {
		err = n.journal.note(process.pid, "worker "+cell+"/"+place)
	}
	if err != nil {
		return nil, errors.Join(err, process.end(workerPatience))
	}
	p, err := connect(process.stdout, process.stdin)
	if err != nil {
		_ = process.end(workerPatience)
		return nil, fmt.Errorf("%w%s", err, process.lastWords())
	}
	return &workerProcess{cell: cell, place: place, peer: p, process: process}, nil
}

// startInside starts the worker's process: in a container by its engine, else in the place's stack.
func (n *node) startInside(ctx context.Context, cell, place string) (*child, error) {
	if container := n.config.Backend.Inside(cell, place); container != nil {
		return container.start(ctx, n.config.Worker[1:])
	}
	cmd := exec.Command(n.config.Worker[0], n.config.Worker[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return startChild(cmd, func(cmd *exec.Cmd) error {
		return n.config.Backend.Start(cell, place, cmd)
	})
}

// cellWorkers are the workers of a cell, living or dead.
func (n *node) cellWorkers(cell string) []*workerProcess {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []*workerProcess
	for _, w := range n.workers {
		if w.cell == cell {
			all = append(all, w)
		}
	}
	return all
}

func (n *node) endWorkers(cell string) {
	n.carriers.stop(cell)
	for _, w := range n.cellWorkers(cell) {
		_ = w.process.end(workerPatience)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for key, w := range n.workers {
		if w.cell == cell {
			delete(n.workers, key)
		}
	}
	delete(n.graphs, cell)
}

// graph returns what stands for a cell.
func (n *node) graph(cell string) testbed.Graph {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.graphs[cell]
}

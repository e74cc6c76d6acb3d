//go:build linux

package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"windtunnel/agent/proto"
	"windtunnel/result"
	"windtunnel/traffic"
)

// preparedPair is one end that a worker of this node holds ready.
type preparedPair struct {
	worker *workerProcess
	pair   int
	beside bool
	role   traffic.Role
	place  string
	// lingers is for how much longer than others it may take to report.
	lingers time.Duration
}

// readingTime is what reading all probes takes at most, about: of a trial alone that is over when its window opens, because it takes a CPU
// from the packets for longer than a ring of a virtual pair, 256 frames, holds them.
const (
	readingTime = 12 * time.Millisecond
	readAfter   = 3 * time.Millisecond // an end may close its window so much later
)

// nodeTrial is a trial that runs, or has run and waits to be asked for.
type nodeTrial struct {
	cancel context.CancelFunc
	done   chan struct{}
	result proto.NodeTrial
	err    error
}

// start lets the workers of a cell run and samples the node over exactly the
// window: both happen at times counted from this message's arrival.
func (n *node) start(ctx context.Context, ask proto.Request) proto.Reply {
	arrived := time.Now()
	if ask.Start == nil {
		return refuse("start needs its times")
	}
	n.mu.Lock()
	prepared := n.prepared[ask.Cell]
	delete(n.prepared, ask.Cell)
	_, running := n.trials[ask.Cell]
	n.mu.Unlock()
	if running {
		return refuse("a trial of cell %s runs already", ask.Cell)
	}
	probes, err := n.probes(ask.Cell, ask.Start.Profile)
	if err != nil {
		return refuse("opening the probes: %v", err)
	}
	if err := startWorkers(ctx, prepared, *ask.Start, arrived); err != nil {
		probes.close()
		return refuse("%v", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	t := &nodeTrial{cancel: cancel, done: make(chan struct{})}
	n.mu.Lock()
	n.trials[ask.Cell] = t
	n.mu.Unlock()
	go func() {
		t.run(ctx, prepared, probes, n.cables(ask.Cell), *ask.Start, arrived)
		close(t.done)
	}()
	return proto.Reply{}
}

// startWorkers passes the start on, less the time that has gone by.
func startWorkers(ctx context.Context, prepared []preparedPair, start proto.Start, arrived time.Time) error {
	for _, w := range distinct(prepared) {
		rest := start
		rest.InSeconds = max(0, start.InSeconds-time.Since(arrived).Seconds())
		if _, err := w.ask(ctx, workerPatience, proto.Request{Do: proto.DoStart, Start: &rest}); err != nil {
			return fmt.Errorf("starting the worker in %s: %w%s", w.place, err, w.lastWords())
		}
	}
	return nil
}

func distinct(prepared []preparedPair) []*workerProcess {
	var workers []*workerProcess
	seen := map[*workerProcess]bool{}
	for _, p := range prepared {
		if !seen[p.worker] {
			seen[p.worker] = true
			workers = append(workers, p.worker)
		}
	}
	return workers
}

func (t *nodeTrial) run(ctx context.Context, prepared []preparedPair, probes *probes, cables []cable, start proto.Start, arrived time.Time) {
	defer probes.close()
	opens := arrived.Add(seconds(start.InSeconds + start.WarmUpSeconds))
	closes := opens.Add(seconds(start.WindowSeconds))
	pulls := make(chan pulled, 1)
	go func() { pulls <- pullAll(ctx, cables, opens, seconds(start.WindowSeconds)) }()
	if start.Alone {
		opens, closes = opens.Add(-readingTime), closes.Add(readAfter)
	}
	t.result.Sample, t.err = probes.sample(ctx, opens, closes, seconds(start.IntervalSeconds))
	t.result.Profile = probes.stacks.profile()
	p := <-pulls
	t.result.Sample.Pulls = p.all
	t.err = errors.Join(t.err, p.err)
	var machines map[string]result.NodeSample
	t.result.Ends, machines = collect(ctx, prepared)
	probes.inside(&t.result.Sample, machines)
}

// collect asks every worker for its ends, and those of virtual machines for what their machines saw, by
// their places. What a worker cannot answer any more is an error of each end that it held.
func collect(ctx context.Context, prepared []preparedPair) ([]proto.WorkerEnd, map[string]result.NodeSample) {
	workers := distinct(prepared)
	ends, samples := make([][]proto.WorkerEnd, len(workers)), make([]*result.NodeSample, len(workers))
	var asking sync.WaitGroup
	for i, w := range workers {
		asking.Go(func() {
			reply, err := w.ask(ctx, reportsWithin(prepared, w), proto.Request{Do: proto.DoResult})
			samples[i] = reply.Machine
			if ends[i] = reply.Ends; err != nil {
				ends[i] = failedEnds(prepared, w, err)
			}
		})
	}
	asking.Wait()
	machines := map[string]result.NodeSample{}
	for i, s := range samples {
		if s != nil {
			machines[workers[i].place] = *s
		}
	}
	return slices.Concat(ends...), machines
}

// reportsWithin bounds how long after the window's end a worker may take to report the ends that it holds.
func reportsWithin(prepared []preparedPair, w *workerProcess) time.Duration {
	longest := time.Duration(0)
	for _, p := range prepared {
		if p.worker == w {
			longest = max(longest, p.lingers)
		}
	}
	return resultPatience + longest
}

func failedEnds(prepared []preparedPair, w *workerProcess, err error) []proto.WorkerEnd {
	var ends []proto.WorkerEnd
	for _, p := range prepared {
		if p.worker == w {
			ends = append(ends, proto.WorkerEnd{Pair: p.pair, Beside: p.beside, Role: p.role, Place: p.place,
				End: result.PairEnd{}, Error: fmt.Sprintf("the worker did not report: %v%s", err, w.lastWords())})
		}
	}
	return ends
}

// result waits for the trial's end.
func (n *node) result(ctx context.Context, ask proto.Request) proto.Reply {
	n.mu.Lock()
	t := n.trials[ask.Cell]
	n.mu.Unlock()
	if t == nil {
		return refuse("no trial of cell %q was started on node %s", ask.Cell, n.config.Name)
	}
	select {
	case <-t.done:
	case <-ctx.Done():
		return refuse("waiting for the trial's end: %v", ctx.Err())
	}
	n.mu.Lock()
	delete(n.trials, ask.Cell)
	n.mu.Unlock()
	t.cancel()
	if t.err != nil {
		return refuse("sampling node %s: %v", n.config.Name, t.err)
	}
	return proto.Reply{Trial: &t.result}
}

// stop ends a running trial of a cell, or its building, and drops what its workers hold ready.
func (n *node) stop(ctx context.Context, cell string) proto.Reply {
	n.carriers.stop(cell)
	n.mu.Lock()
	t := n.trials[cell]
	delete(n.prepared, cell)
	if end := n.builds[cell]; end != nil {
		end(errStopped)
	}
	n.mu.Unlock()
	if t != nil {
		t.cancel()
		<-t.done
	}
	n.mu.Lock()
	delete(n.trials, cell)
	n.mu.Unlock()
	var asking sync.WaitGroup
	for _, w := range n.cellWorkers(cell) {
		asking.Go(func() {
			_, _ = w.ask(ctx, workerPatience, proto.Request{Do: proto.DoStop}) // a dead one has nothing to drop
		})
	}
	asking.Wait()
	return proto.Reply{}
}

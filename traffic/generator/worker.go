package generator

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// How long ends wait for each other and for their programs.
const (
	listenPatience = 3 * time.Second
	// endPatience is how long a program may go on after its time: it tells its peer, and
	// prints.
	endPatience = 2500 * time.Millisecond
	// launchDelay is by how much a client starts after its trial, so that its whole seconds
	// end after the window of everybody else.
	launchDelay = 150 * time.Millisecond
	lookAgain   = 50 * time.Millisecond
)

var errClosed = errors.New("the worker was closed")

// What a tool may have beside what all have.
type (
	// timed refuses times that it cannot keep.
	timed interface{ ready(t task) error }
	// early has a client that takes long to begin: it is started when it is prepared, and
	// begun tells from what it says that it has.
	early interface{ begun(said output) bool }
	// lasting has ends that are ended by a signal, so long after the window.
	lasting interface {
		stays(receives bool) time.Duration
	}
	// talkative has a client that may stay when it has told everything.
	talkative interface {
		told(t task, said output) bool
	}
)

// worker is an end of a pair: a program that runs, or is about to.
type worker struct {
	tool     tool
	task     task
	receives bool
	cpus     []int
	closing  chan struct{}
	once     sync.Once

	mu      sync.Mutex
	running *process // a receiver's from the beginning, a sender's from Run on
}

func (w *worker) start(args []string) (*process, error) {
	p, err := launch(args, w.cpus)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	w.running = p
	w.mu.Unlock()
	select {
	case <-w.closing: // Close may not have seen it
		return nil, errors.Join(errClosed, p.stop())
	default:
		return p, nil
	}
}

// Address is where a sender reaches a receiver, "" for a sender.
func (w *worker) Address() string {
	if !w.receives {
		return ""
	}
	return w.task.address()
}

// Run runs the program through the schedule, which has to be the one that it was prepared
// for, and reads what it tells.
func (w *worker) Run(ctx context.Context, when traffic.Schedule) (result.PairEnd, error) {
	p := w.process()
	if p == nil {
		if err := w.sleep(ctx, nil, when.Start.Add(launchDelay)); err != nil {
			return result.PairEnd{}, err
		}
		var err error
		if p, err = w.start(w.tool.client(w.task)); err != nil {
			return result.PairEnd{}, err
		}
	}
	seen := newWatch(p, w.task, w.receives)
	opens := when.Start.Add(when.WarmUp)
	for _, at := range []time.Time{when.Start.Add(when.WarmUp / 2), opens} { // late connections, too
		err := w.sleep(ctx, p, at)
		if err == nil && w.chooses() {
			err = seen.choose(w.task.load.Text("congestion"))
		}
		if err != nil {
			return result.PairEnd{}, w.failed(p, err)
		}
	}
	before, errBefore := seen.look()
	if err := w.sleep(ctx, p, opens.Add(when.Window)); err != nil {
		return result.PairEnd{}, w.failed(p, err)
	}
	after, errAfter := seen.look()
	if !w.receives && p.over() {
		return result.PairEnd{}, w.failed(p, errors.New("it was over before the window was"))
	}
	if err := w.await(ctx, p, when.Start.Add(when.WarmUp+when.Window)); err != nil {
		return result.PairEnd{}, w.failed(p, err)
	}
	end, err := w.tool.read(w.task, w.receives, p.said())
	if err != nil {
		return result.PairEnd{}, w.failed(p, err)
	}
	if err := errors.Join(errBefore, errAfter); err != nil {
		return result.PairEnd{}, fmt.Errorf("watching %s: %w", w.tool.name(), err)
	}
	w.complete(&end, seen, before, after, p)
	return end, nil
}

// complete adds what the kernel counted, and how the program was run.
func (w *worker) complete(end *result.PairEnd, seen watch, before, after sight, p *process) {
	if !w.receives {
		end.Offered = w.task.offered()
	}
	seen.fill(end, before, after, w.task)
	end.Generator = &result.Generator{Name: w.tool.name(), Version: w.tool.version(p.said()), Command: line(p.args)}
}

// chooses reports whether the program's connections are given what it cannot be told.
func (w *worker) chooses() bool {
	a, _ := w.tool.able(w.task.kind)
	return a.kernel && w.task.load.Text("congestion") != "" && w.task.load.Text("protocol") != "udp" && w.task.kind != "datagram"
}

// await lets the program end by itself, or ends it when it has told everything.
func (w *worker) await(ctx context.Context, p *process, over time.Time) error {
	until, end := over.Add(endPatience), func() error { return fmt.Errorf("it had not ended %s after its time", endPatience) }
	if t, ok := w.tool.(lasting); ok {
		stays, leaves := t.stays(w.receives), p.leave
		until, end = over.Add(stays), leaves
	}
	talker, talks := w.tool.(talkative)
	for talks && !w.receives && time.Now().Before(until) && !p.over() {
		if err := w.sleep(ctx, nil, time.Now().Add(lookAgain)); err != nil {
			return err
		}
		if time.Now().After(over) && talker.told(w.task, p.said()) {
			return p.stop()
		}
	}
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-p.ended:
		return p.result()
	case <-timer.C:
		return end()
	case <-ctx.Done():
		return ctx.Err()
	case <-w.closing:
		return errClosed
	}
}

// sleep waits for a time; a program that ends before is an error.
func (w *worker) sleep(ctx context.Context, p *process, until time.Time) error {
	var ended chan struct{} // of nobody
	if p != nil {
		ended = p.ended
	}
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ended:
		why := "it ended"
		if err := p.result(); err != nil {
			why = err.Error()
		}
		return fmt.Errorf("it was over %.2f s early: %s", time.Until(until).Seconds(), why)
	case <-ctx.Done():
		return ctx.Err()
	case <-w.closing:
		return errClosed
	}
}

// failed ends the program, and tells what it was and what it said.
func (w *worker) failed(p *process, err error) error {
	stopped := p.stop()
	return errors.Join(fmt.Errorf("`%s`: %w%s", line(p.args), err, p.said().words()), stopped)
}

func (w *worker) process() *process {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.running
}

// Close ends a Run that is under way, and the program.
func (w *worker) Close() error {
	var err error
	w.once.Do(func() {
		close(w.closing)
		if p := w.process(); p != nil {
			err = p.stop()
		}
	})
	return err
}

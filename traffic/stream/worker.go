package stream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"windtunnel/result"
	"windtunnel/traffic"
)

const (
	// tail is for how long a sender goes on after its window, so that the
	// receiver's, which began elsewhere at nearly the same time, is full.
	tail = 200 * time.Millisecond
	// drain is how long the other end may take to end its streams after that.
	drain = 2 * time.Second
	// lateSender is how long after the start a receiver waits for connections.
	lateSender = time.Second
	// silentCalls is how many calls without a byte at the window's end are a
	// stalled peer: 1 s, more than three retransmission timeouts in turn.
	silentCalls = 10
)

var errClosed = errors.New("the worker was closed")

// worker is a prepared end of a pair, sender or receiver.
type worker struct {
	role     traffic.Role
	load     load
	cpus     []int
	buffers  []hotBuffer
	listener *listener     // nil for a sender
	closing  chan struct{} // closed by Close
	once     sync.Once

	running sync.Mutex // held by Run; Close takes it before it frees the sockets
	fds     []int      // connected sockets
	moved   uint64     // bytes in all, not only in the window
}

func newWorker(l load, order traffic.Order, fds []int) *worker {
	return &worker{
		role: order.Role, load: l, cpus: order.CPUs, fds: fds,
		buffers: newBuffers(order.Role, l), closing: make(chan struct{}),
	}
}

// Address is the listening IP:port of a receiver, "" for a sender.
func (w *worker) Address() string {
	if w.listener == nil {
		return ""
	}
	return w.listener.socket.Addr().String()
}

// Run lets the streams flow as scheduled. What ended it early (the context, a
// broken or silent stream) is in the result's Error where the window had begun,
// else an error.
func (w *worker) Run(ctx context.Context, when traffic.Schedule) (result.PairEnd, error) {
	w.running.Lock()
	defer w.running.Unlock()
	select {
	case <-w.closing:
		return result.PairEnd{}, errClosed
	default:
	}
	if err := w.await(ctx, when.Start.Add(lateSender)); err != nil {
		return result.PairEnd{}, err
	}
	e, err := newEngine(w.role, w.buffers, w.cpus, w.fds)
	if err != nil {
		return result.PairEnd{}, err
	}
	defer e.close()
	end, err := w.drive(ctx, e, when)
	for _, t := range e.threads {
		w.moved += t.counter.bytes.Load()
	}
	return end, err
}

// await takes the listener's session over.
func (w *worker) await(ctx context.Context, until time.Time) error {
	if w.listener == nil || w.fds != nil {
		return nil
	}
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case w.fds = <-w.listener.streams:
		return nil
	case <-timer.C:
		return fmt.Errorf("no sender has connected %d streams to %s", w.load.streams, w.Address())
	case <-ctx.Done():
		return ctx.Err()
	case <-w.closing:
		return errClosed
	}
}

// drive runs the engine through the schedule.
func (w *worker) drive(ctx context.Context, e *engine, when traffic.Schedule) (result.PairEnd, error) {
	err := w.until(ctx, e, when.Start)
	if err == nil {
		e.begin()
		err = w.until(ctx, e, when.Start.Add(when.WarmUp))
	}
	if err != nil {
		e.halt(true)
		return result.PairEnd{}, err
	}
	before := e.snapshot()
	// The window ends by the schedule, like the other end's, however late it began.
	early := w.until(ctx, e, when.Start.Add(when.WarmUp+when.Window))
	end := e.between(before, e.snapshot())
	if early == nil {
		early = stalled(e, end)
	}
	if late := w.finish(ctx, e, early != nil); early == nil {
		early = late
	}
	if early != nil {
		end.Error = early.Error()
	}
	return end, ctx.Err()
}

// until waits for a time; an earlier end of the engine is an error.
func (w *worker) until(ctx context.Context, e *engine, at time.Time) error {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-e.ended:
		if err := e.failure(); err != nil {
			return err
		}
		return fmt.Errorf("the sender ended its streams %.3f s early", time.Until(at).Seconds())
	case <-ctx.Done():
		return ctx.Err()
	case <-w.closing:
		return errClosed
	}
}

// stalled tells a peer that had gone silent by the window's end.
func stalled(e *engine, end result.PairEnd) error {
	if n := e.silent(); n >= silentCalls {
		return fmt.Errorf("the peer stalled: nothing moved for the window's last %.1f s", (time.Duration(n) * patience).Seconds())
	}
	if end.Bytes == 0 {
		return errors.New("nothing moved in the window")
	}
	return nil
}

// finish ends the streams: a sender goes on for the tail, then says that it has
// ended and waits for the receiver to agree; a receiver reads to the end.
func (w *worker) finish(ctx context.Context, e *engine, broken bool) error {
	if broken {
		e.halt(true)
		return nil
	}
	if w.role == traffic.Receive {
		return w.readToEnd(ctx, e)
	}
	err := w.until(ctx, e, time.Now().Add(tail))
	e.halt(err != nil)
	if err == nil {
		endStreams(w.fds, time.Now().Add(drain))
	}
	return nil // the window is whole; the receiver says what it missed
}

func (w *worker) readToEnd(ctx context.Context, e *engine) error {
	err := w.until(ctx, e, time.Now().Add(tail+drain))
	e.halt(true)
	if err == nil {
		return fmt.Errorf("the sender did not end its streams within %s of the window", tail+drain)
	}
	return e.failure() // nil: the streams came to their end, which until calls early
}

// endStreams closes a sender's half of every stream and waits, within the limit,
// until the receiver has read it all and closed its own.
func endStreams(fds []int, limit time.Time) {
	for _, fd := range fds {
		unix.Shutdown(fd, unix.SHUT_WR)
	}
	var b [1]byte
	for _, fd := range fds {
		for time.Now().Before(limit) {
			if _, err := unix.Read(fd, b[:]); err != unix.EAGAIN && err != unix.EINTR {
				break
			}
		}
	}
}

// Close ends a Run that is under way and frees the sockets.
func (w *worker) Close() error {
	w.once.Do(func() {
		close(w.closing)
		if w.listener != nil {
			w.listener.close()
		}
		w.running.Lock()
		defer w.running.Unlock()
		closeAll(w.fds)
		w.fds = nil
	})
	return nil
}

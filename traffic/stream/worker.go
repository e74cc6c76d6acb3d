package stream

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

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

// worker is a prepared end of a pair.
type worker struct {
	role     traffic.Role // of the pair; with a reversed load, who sends receives
	load     load
	cpus     []int
	listener *listener     // nil for who connects
	closing  chan struct{} // closed by Close
	once     sync.Once

	running sync.Mutex // held by Run; Close takes it before it frees the sockets
	conns   []*net.TCPConn
	moved   map[traffic.Role]uint64 // bytes in all, not only in the window
	still   traffic.Still
}

func newWorker(l load, order traffic.Order, conns []*net.TCPConn) *worker {
	return &worker{
		role: order.Role, load: l, cpus: order.CPUs, conns: conns,
		closing: make(chan struct{}), moved: map[traffic.Role]uint64{},
	}
}

// Address is the listening IP:port of a receiver, "" for a sender.
func (w *worker) Address() string {
	if w.listener == nil {
		return ""
	}
	return w.listener.door.Address().String()
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
	e, err := w.engine()
	if err != nil {
		return result.PairEnd{}, err
	}
	defer e.Close()
	r := newRecorder(e, w.load.mainRole(w.role), when)
	defer r.close()
	end, err := w.drive(ctx, e, r, when)
	for _, f := range e.Counts().Flows {
		w.moved[f.Role] += f.Bytes
	}
	return end, err
}

// engine hands the connections over to a new engine.
func (w *worker) engine() (*Engine, error) {
	config := w.load.config
	config.CPUs = w.cpus
	var flows []Flow
	for i, conn := range w.conns {
		flows = append(flows, Flow{Conn: conn, Role: w.load.roleOf(i, w.role)})
	}
	w.conns = nil
	return NewEngine(flows, config)
}

// await takes the listener's session over.
func (w *worker) await(ctx context.Context, until time.Time) error {
	if w.listener == nil || w.conns != nil {
		return nil
	}
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case w.conns = <-w.listener.streams:
		return nil
	case <-timer.C:
		return fmt.Errorf("no sender has connected %d streams to %s", w.load.connections(), w.Address())
	case <-ctx.Done():
		return ctx.Err()
	case <-w.closing:
		return errClosed
	}
}

// drive runs the engine through the schedule.
func (w *worker) drive(ctx context.Context, e *Engine, r *recorder, when traffic.Schedule) (result.PairEnd, error) {
	err := w.until(ctx, e, r, when.Start)
	if err == nil {
		e.Start()
		r.begin()
		err = w.until(ctx, e, r, when.Start.Add(when.WarmUp))
	}
	if err == nil {
		err = w.catchUp(ctx, e, when.Start.Add(when.WarmUp+when.Window))
	}
	if err != nil {
		e.cut()
		return result.PairEnd{}, err
	}
	before := e.Snapshot()
	w.still.For = 0
	r.enter(before)
	// The window ends by the schedule, like the other end's, however late it began.
	early := w.until(ctx, e, r, when.Start.Add(when.WarmUp+when.Window))
	after := e.Snapshot()
	end := w.report(e, before, after)
	r.fill(&end, after)
	if early == nil {
		early = stalled(e, end, before, after)
	}
	if late := w.finish(ctx, e, early != nil); early == nil {
		early = late
	}
	if early != nil {
		end.Error = early.Error()
	}
	return end, ctx.Err()
}

// until waits for a time and records the intervals that end meanwhile; an earlier
// end of the engine, or of the streams that only the peer ends, is an error. One at that
// time or after it is none: who is woken late finds both.
func (w *worker) until(ctx context.Context, e *Engine, r *recorder, at time.Time) error {
	for {
		next, last := r.next(), true
		if next.IsZero() || !next.Before(at) {
			next = at
		} else {
			last = false
		}
		if err := w.sleep(ctx, e, next, at); err != nil || last {
			return err
		}
		if now := time.Now(); w.still.CatchesUp(now) {
			r.extend(now)
			continue
		}
		r.record(e.Snapshot())
	}
}

// catchUp lets a window that would begin as the program goes on, which had been stopped, begin later: what was moved in place of the time
// before is none of it.
func (w *worker) catchUp(ctx context.Context, e *Engine, end time.Time) error {
	for {
		now := time.Now()
		at := now.Add(w.still.Rest(now))
		if !w.still.CatchesUp(now) || !at.Before(end) {
			return nil
		}
		if err := w.sleep(ctx, e, at, end); err != nil {
			return err
		}
	}
}

func (w *worker) sleep(ctx context.Context, e *Engine, next, at time.Time) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		beat := traffic.NextBeat(next)
		timer.Reset(time.Until(beat))
		select {
		case <-timer.C:
			w.still.Woke(time.Since(beat))
			if beat.Before(next) {
				continue
			}
			return nil
		case <-e.Done():
		case <-e.peersEnd():
		case <-ctx.Done():
			return ctx.Err()
		case <-w.closing:
			return errClosed
		}
		if err := e.Err(); err != nil || !time.Now().Before(at) {
			return err
		}
		return fmt.Errorf("the sender ended its streams %.3f s early", time.Until(at).Seconds())
	}
}

// stalled tells a peer that had gone silent by the window's end.
func stalled(e *Engine, end result.PairEnd, before, after Snapshot) error {
	for _, c := range e.crews {
		if n := c.silent(); n >= silentCalls {
			return fmt.Errorf("the peer stalled: nothing moved for the window's last %.1f s", (time.Duration(n) * patience).Seconds())
		}
	}
	if end.Bytes > 0 && (end.Opposite == nil || end.Opposite.Bytes > 0) {
		return nil
	}
	sent, acked := before.sent()
	if s, a := after.sent(); s == sent && a > acked {
		return errors.New("the send buffer had no room for a byte in the window, and the peer took what it held: take a longer window or a smaller buffer")
	}
	if c := e.config; c.BitsPerSecond > 0 && c.BitsPerSecond/8*end.WindowSeconds < float64(c.piece()) {
		return fmt.Errorf("nothing was due in the window: at %.3g bit/s, of which %d bytes leave at once, it must be longer", c.BitsPerSecond, c.piece())
	}
	return errors.New("nothing moved in the window")
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
		closeConns(w.conns)
		w.conns = nil
	})
	return nil
}

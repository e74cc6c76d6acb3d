package datagram

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

const (
	// tail is for how long a sender goes on after its window, so that the path
	// stays loaded until every other window has ended.
	tail = 100 * time.Millisecond
	// tailAlone is the same where nobody has another window: the first datagram after it still marks its end.
	tailAlone = 20 * time.Millisecond
	// tailMost is for how long a sender goes on at most until a datagram after the window has left: the longest that fits
	// into a call takes as long at 1 Mbit/s.
	tailMost = 600 * time.Millisecond
	// drain is how long the other end may take to tell its totals, or that it
	// has counted.
	drain = 2 * time.Second
	// quiet is how long a receiver waits for datagrams that were sent and have
	// not come.
	quiet = 200 * time.Millisecond
	// quietInOrder is the same for a trial alone, whose last datagram has come and overtook none.
	quietInOrder = 20 * time.Millisecond
	// lateSender is how long after the start a receiver waits for a sender.
	lateSender = time.Second
)

var (
	errClosed = errors.New("the worker was closed")
	errPeer   = errors.New("the peer went away: its control connection ended")
)

// The marks of a trial.
const (
	markWarmUp = 0
	markWindow = 1
	markTail   = 2
)

// worker is a prepared end of a pair.
type worker struct {
	role     traffic.Role
	load     load
	cpus     []int
	listener *listener     // nil for a sender
	closing  chan struct{} // closed by Close
	once     sync.Once

	running sync.Mutex // held by Run; Close takes it before it frees the sockets
	session *session   // nil for a receiver until its sender has come
	ledger  ledger     // of the whole run, not only of the window
}

// ledger is what one run moved, in each direction.
type ledger struct {
	sent     uint64
	promised uint64 // by the peer: what it sent
	received FlowCounts
}

func newWorker(l load, order traffic.Order, s *session, ln *listener) *worker {
	return &worker{role: order.Role, load: l, cpus: order.CPUs, session: s, listener: ln, closing: make(chan struct{})}
}

// Address is the IP:port of a receiver's control connection, "" for a sender.
func (w *worker) Address() string {
	if w.listener == nil {
		return ""
	}
	return w.listener.door.Address().String()
}

// Run lets the datagrams flow as scheduled. What ended it early is in the
// result's Error where the window had begun, else an error.
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
	flows, sends, receives := w.session.engineFlows(w.role)
	config := w.load.config(w.session.key, w.cpus)
	config.Poll = w.load.polling(when.OneOff)
	e, err := NewEngine(flows, config)
	if err != nil {
		return result.PairEnd{}, err
	}
	defer e.Close()
	if err := e.sockets[0].lacks(w.load.buffer); err != nil {
		return result.PairEnd{}, err
	}
	r := &run{worker: w, session: w.session, engine: e, when: when, ctx: ctx, sends: sends, receives: receives}
	return r.drive()
}

// await takes the listener's session over.
func (w *worker) await(ctx context.Context, until time.Time) error {
	if w.listener == nil || w.session != nil {
		return nil
	}
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case w.session = <-w.listener.agreed:
		return nil
	case <-timer.C:
		return fmt.Errorf("no sender has opened %d flows to %s", w.load.flows, w.Address())
	case <-ctx.Done():
		return ctx.Err()
	case <-w.closing:
		return errClosed
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
		if w.session != nil {
			w.session.close()
		}
	})
	return nil
}

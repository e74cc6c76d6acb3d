package frame

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// Frames may still be under way when the sender says that it has ended; RFC 2544,
// section 23, waits for 2 s. The tail has passed by then, so a receiver waits only
// as long as some come.
const (
	settleStep = 20 * time.Millisecond
	settleMost = 2 * time.Second
)

// receiveWorker is a prepared receiver.
type receiveWorker struct {
	load     load
	order    traffic.Order
	device   device
	listener *listener
	address  string // at which a sender reaches it
	sink     sink

	closing chan struct{}
	once    sync.Once
	running sync.Mutex // held by Run; Close takes it before it frees anything
	failed  error      // of Close
}

// Address is the session's IP and first UDP port; its TCP port is the control connection's. Of a
// port of poll mode, the control connection's Unix socket stands behind it.
func (w *receiveWorker) Address() string { return w.address }

// Run counts as scheduled. The window is the sender's: the frames that it marked.
func (w *receiveWorker) Run(ctx context.Context, when traffic.Schedule) (result.PairEnd, error) {
	w.running.Lock()
	defer w.running.Unlock()
	select {
	case <-w.closing:
		return result.PairEnd{}, errClosed
	default:
	}
	c := &course{when: when, closing: w.closing, size: w.load.sizes.mean(), failure: func() error { return nil }, read: w.sofar()}
	if s, ok := w.sink.(*portSink); ok {
		c.broken, c.failure = s.tester.ended, s.tester.failure
	}
	if s, sees := w.sink.(grower); sees {
		if err := s.expect(when.Window); err != nil {
			return result.PairEnd{}, err
		}
	}
	c.start()
	defer c.stop()
	if err := w.await(ctx, when.Start.Add(lateSender)); err != nil {
		return result.PairEnd{}, err
	}
	if err := c.until(ctx, c.windowBegin()); err != nil {
		return result.PairEnd{}, err
	}
	before := w.reading()
	early := c.until(ctx, c.windowEnd())
	used := w.reading()
	last := parting{err: early}
	if early == nil {
		c.finish()
		last = w.parting(ctx)
	}
	if err := errors.Join(before.err, used.err); err != nil {
		return result.PairEnd{}, fmt.Errorf("counting the frames: %w", err)
	}
	end, err := w.end(c, before, used, last)
	return end, errors.Join(err, ctx.Err())
}

func (w *receiveWorker) await(ctx context.Context, until time.Time) error {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-w.listener.joined:
		return nil
	case <-timer.C:
		return fmt.Errorf("no sender has connected to %s", w.Address())
	case <-ctx.Done():
		return ctx.Err()
	case <-w.closing:
		return errClosed
	}
}

// sofar is for intervals: by the time of arrival, lost by gaps in the numbers but for
// those of refused frames. What the sender's device refused, it tells when its own
// interval ends, a little before or after this one's; so a loss shows two intervals
// later, when that is known of all gaps.
func (w *receiveWorker) sofar() (read func() (packets, lost uint64)) {
	var before [2]uint64 // gaps when the last two intervals ended, the older first
	var t totals         // as last read
	return func() (packets, lost uint64) {
		if all, err := w.sink.tally(); err == nil {
			t = all.all()
		}
		gaps := before[0]
		before = [2]uint64{before[1], t.gaps()}
		return t.packets, gaps - min(gaps, w.listener.refused.Load())
	}
}

// reading is the sink at one instant of this end's clock.
type reading struct {
	at    time.Time
	all   totals
	calls uint64
	cpu   time.Duration
	drops uint64
	cycle result.Cycles
	told  uint64 // frames that were refused, as the sender has said
	err   error
}

func (w *receiveWorker) reading() reading {
	if s, is := w.sink.(*portSink); is { // which tells its clock with its counts
		all, at, cycle, err := s.read()
		return reading{at: at, all: all.all(), told: w.listener.refused.Load(), cpu: cycle.BusyTime(), cycle: cycle, err: err}
	}
	all, err := w.sink.tally()
	r := reading{at: time.Now(), all: all.all(), told: w.listener.refused.Load(), err: err}
	if s, is := w.sink.(*packetSink); is {
		r.cpu, r.calls = s.used()
		r.drops = s.dropped()
	}
	return r
}

// parting waits for the sender's last word, and then for what is under way.
func (w *receiveWorker) parting(ctx context.Context) parting {
	timer := time.NewTimer(tail + drain)
	defer timer.Stop()
	select {
	case last := <-w.listener.last:
		if last.err == nil {
			w.settle(ctx, last.final.sent)
		} else {
			w.listener.last <- last // whoever asks for what was refused is not to wait
		}
		return last
	case <-timer.C:
		return parting{err: fmt.Errorf("the sender did not tell within %s of the window what it had sent", tail+drain)}
	case <-ctx.Done():
		return parting{err: ctx.Err()}
	case <-w.closing:
		return parting{err: errClosed}
	}
}

func (w *receiveWorker) settle(ctx context.Context, sent uint64) {
	came := ^uint64(0)
	for until := time.Now().Add(settleMost); time.Now().Before(until); {
		all, err := w.sink.tally()
		now := all.phases[window].packets + all.phases[window].late
		if err != nil || now >= sent || now == came {
			return
		}
		came = now
		select {
		case <-time.After(settleStep):
		case <-ctx.Done():
			return
		case <-w.closing:
			return
		}
	}
}

// Close ends a Run that is under way, and takes the sink away.
func (w *receiveWorker) Close() error {
	w.once.Do(func() {
		close(w.closing)
		w.listener.close()
		w.running.Lock()
		defer w.running.Unlock()
		w.failed = w.sink.close()
	})
	return w.failed
}

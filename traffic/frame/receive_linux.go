package frame

import (
	"context"
	"errors"
	"fmt"
	"strings"
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
	device   device
	listener *listener
	sink     sink

	closing chan struct{}
	once    sync.Once
	running sync.Mutex // held by Run; Close takes it before it frees anything
	failed  error      // of Close
}

// Address is the session's IP and first UDP port; its TCP port is the control connection's.
func (w *receiveWorker) Address() string { return w.listener.socket.Addr().String() }

// Run counts as scheduled. The window is the sender's: the frames that it marked.
func (w *receiveWorker) Run(ctx context.Context, when traffic.Schedule) (result.PairEnd, error) {
	w.running.Lock()
	defer w.running.Unlock()
	select {
	case <-w.closing:
		return result.PairEnd{}, errClosed
	default:
	}
	c := &course{when: when, closing: w.closing, size: uint64(w.load.size), failure: func() error { return nil }, read: w.sofar}
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
		last = w.parting(ctx)
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
// those of refused frames.
func (w *receiveWorker) sofar() (packets, lost uint64) {
	all, err := w.sink.tally()
	if err != nil {
		return 0, 0
	}
	t := all.all()
	gaps := t.gaps()
	return t.packets, gaps - min(gaps, w.listener.refused.Load())
}

// reading is the sink at one instant of this end's clock.
type reading struct {
	at    time.Time
	all   totals
	calls uint64
	cpu   time.Duration
	drops uint64
	err   error
}

func (w *receiveWorker) reading() reading {
	all, err := w.sink.tally()
	r := reading{at: time.Now(), all: all.all(), err: err}
	if p, ok := w.sink.(*packetSink); ok {
		r.cpu, r.calls = p.used()
		r.drops = p.dropped()
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

// end is the result: of the marked frames, or where the sender did not say what it
// sent, of those that came within this end's own window.
func (w *receiveWorker) end(c *course, before, used reading, last parting) (result.PairEnd, error) {
	all, err := w.sink.tally()
	if err != nil {
		return result.PairEnd{}, err
	}
	ours, seconds := all.phases[window], float64(last.final.windowNS)/1e9
	lost := last.final.sent - min(last.final.sent, ours.packets+ours.late)
	end := result.PairEnd{Calls: used.calls - before.calls, CPUSeconds: max(0, (used.cpu - before.cpu).Seconds()), Intervals: c.intervals}
	if last.err != nil {
		end.Error = last.err.Error()
		ours, seconds = used.all.since(before.all), used.at.Sub(before.at).Seconds()
		lost = ours.gaps()
	}
	end.WindowSeconds, end.Packets = seconds, ours.packets
	end.Bytes = ours.packets * uint64(w.load.size)
	if _, ok := w.sink.(*packetSink); ok {
		end.Threads = 1
	}
	where, why := w.where(all)
	end.Frames = w.load.frames(where + " " + w.device.name)
	end.Arrived = &result.Arrived{
		Expected: ours.packets + lost + ours.late, Lost: lost, Late: ours.late, Reordered: ours.reordered,
		Duplicate: ours.duplicate, Corrupt: ours.corrupt, SocketDrops: min(used.drops-before.drops, lost),
		Flows: int(w.load.flows), Method: where, Why: why,
	}
	if ours.merged > 0 {
		end.Error = fmt.Sprintf("%d frames came to tc as parts of aggregates, which cannot be counted: switch GRO off at %s, or use sink xdp", ours.merged, w.device.name)
	}
	if end.Error == "" && end.Packets == 0 {
		end.Error = errNone.Error()
	}
	return end, nil
}

// since subtracts an earlier reading.
func (t totals) since(o totals) totals {
	return totals{
		packets: t.packets - o.packets, skipped: t.skipped - o.skipped, reordered: t.reordered - o.reordered,
		duplicate: t.duplicate - o.duplicate, late: t.late - o.late, corrupt: t.corrupt - o.corrupt, merged: t.merged - o.merged,
	}
}

// where is the hook, or both, at which this session's frames were counted, and why
// not at XDP alone.
func (w *receiveWorker) where(t tally) (where, why string) {
	how, why := w.sink.method()
	var names []string
	for place, frames := range t.at {
		if frames > 0 {
			names = append(names, placeNames[place])
		}
	}
	if len(names) == 0 {
		return how, why
	}
	if t.at[atTC] > 0 && how == auto && why == "" {
		why = "the path puts frames behind the driver's XDP, so they were counted at tc"
	}
	return strings.Join(names, "+"), why
}

// Close ends a Run that is under way, and takes the sink away.
func (w *receiveWorker) Close() error {
	w.once.Do(func() {
		close(w.closing)
		failed := w.listener.close()
		w.running.Lock()
		defer w.running.Unlock()
		w.failed = errors.Join(failed, w.sink.close())
	})
	return w.failed
}

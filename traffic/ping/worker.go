package ping

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

const (
	// usualTail is for how long requests go on after the window, so that the receiver's,
	// which began elsewhere at nearly the same time, is full.
	usualTail = 200 * time.Millisecond
	// drain is how long the other end may take to end its flows after that.
	drain = 2 * time.Second
	// lateSender is how long after the start a receiver waits for its flows.
	lateSender = time.Second
)

var errClosed = errors.New("the worker was closed")

// worker is a prepared end of a pair, sender or receiver.
type worker struct {
	role     traffic.Role
	load     load
	cpus     []int
	make     func(setup) (engine, error)
	listener listener // nil for a sender
	tail     time.Duration
	closing  chan struct{} // closed by Close
	once     sync.Once

	running sync.Mutex    // held by Run; Close takes it before it frees the flows
	ends    *ends         // until an engine takes them over
	stood   time.Duration // for how long the program stood still since the window began
}

func newWorker(l load, order traffic.Order, e *ends, ln listener) *worker {
	return &worker{role: order.Role, load: l, cpus: order.CPUs, make: newEngine, tail: usualTail, listener: ln, closing: make(chan struct{}), ends: e}
}

// Address is the listening IP:port of a receiver, "" for a sender.
func (w *worker) Address() string {
	if w.listener == nil {
		return ""
	}
	return w.listener.address()
}

// Run lets requests flow as scheduled. What ended it early (the context, a broken or
// silent flow) is in the result's Error where the window had begun, else an error.
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
	hellos := w.ends.hellos
	s := setup{send: w.role == traffic.Send, load: w.load, cpus: w.cpus, ends: w.ends, plan: newPlan(when, w.tail)}
	w.ends = nil
	if s.send && when.Interval > 0 {
		s.collector = newCollector(w.load.threads, s.plan, uint64(w.load.message), when.Observe)
	}
	e, err := w.make(s)
	if err != nil {
		if s.collector != nil {
			s.collector.finish()
		}
		return result.PairEnd{}, err
	}
	defer e.close()
	if s.send {
		return w.ask(ctx, e, s, when, hellos)
	}
	return w.answer(ctx, e, when)
}

// newPlan says when things are, by the hot threads' clock.
func newPlan(when traffic.Schedule, tail time.Duration) plan {
	start := clockAt(when.Start)
	from := start + when.WarmUp.Nanoseconds()
	to := from + when.Window.Nanoseconds()
	return plan{start: start, from: from, to: to, stop: to + tail.Nanoseconds(), interval: when.Interval.Nanoseconds()}
}

// await takes the listener's session over.
func (w *worker) await(ctx context.Context, until time.Time) error {
	if w.ends != nil {
		return nil
	}
	if w.listener == nil {
		return errors.New("the worker has run already")
	}
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case s := <-w.listener.session():
		w.ends, w.load = s.ends, s.load
		return nil
	case <-timer.C:
		return fmt.Errorf("no sender of pings has connected to %s", w.Address())
	case <-ctx.Done():
		return ctx.Err()
	case <-w.closing:
		return errClosed
	}
}

// ask runs a sender.
func (w *worker) ask(ctx context.Context, e engine, s setup, when traffic.Schedule, hellos []hello) (result.PairEnd, error) {
	from := when.Start.Add(when.WarmUp)
	to := from.Add(when.Window)
	err := w.until(ctx, e, when.Start)
	if err == nil {
		e.open()
		err = w.until(ctx, e, from)
	}
	before := e.snapshot()
	w.stood = traffic.StoodStill(before.at.Sub(from)) // whatever stood still before it
	began := err == nil
	if began {
		err = w.until(ctx, e, to)
	}
	after := e.snapshot()
	stood := min(w.stood, when.Window)
	if late := traffic.StoodStill(after.at.Sub(to)); late > 0 {
		stood -= min(stood, late) // the window is the schedule's
	}
	if err == nil {
		err = w.settle(ctx, e, to)
	}
	e.halt()
	if len(hellos) > 0 {
		e.part(hellos)
	}
	var intervals []result.Interval
	if s.collector != nil {
		intervals = s.collector.finish()
	}
	if !began {
		return result.PairEnd{}, err
	}
	o := sum(e.tallies())
	end := w.asked(e, o, before, after)
	end.Intervals = intervals
	end.WindowSeconds = min(when.Window, max(0, after.at.Sub(from))).Seconds()
	end.StoodSeconds = stood.Seconds()
	if end.Opposite != nil {
		end.Opposite.WindowSeconds = end.WindowSeconds
	}
	switch {
	case err != nil:
	case w.behind(o):
		end.Arrived.Behind = o.lost
	default:
		err = w.judge(end)
	}
	if err != nil {
		end.Error = err.Error()
	}
	return end, ctx.Err()
}

// settle waits until the window's requests are answered or given up.
func (w *worker) settle(ctx context.Context, e engine, to time.Time) error {
	err := w.until(ctx, e, to.Add(w.tail+w.load.lateness()+w.load.wait+drain))
	if errors.Is(err, errEnded) {
		return nil
	}
	return err
}

// asked is what a sender counted.
func (w *worker) asked(e engine, o outcome, before, after snapshot) result.PairEnd {
	method, why := w.load.method()
	spent := after.spent.Since(before.spent)
	end := result.PairEnd{
		Bytes:          (o.sent() - o.reads - o.unread) * uint64(w.load.message),
		Packets:        o.answered,
		Calls:          o.sent(),
		CPUSeconds:     spent.CPU.Seconds(),
		BusiestSeconds: spent.Busiest().Seconds(),
		Threads:        e.threads(),
		Connections:    connections(before, after),
		Offered: &result.Offered{
			TargetPacketsPerSecond: w.load.rate,
			Lag:                    o.lag,
			WaitSeconds:            spent.Wait.Seconds(),
			Refused:                o.refused,
			Unsent:                 o.unsent,
			Method:                 method,
			Why:                    why,
		},
		Arrived: &result.Arrived{
			Expected:  o.requests(),
			Lost:      o.lost,
			Late:      o.late,
			Duplicate: o.duplicate,
			Corrupt:   o.corrupt,
			Flows:     w.load.flows,
			Within:    &o.within,
		},
		Latencies: o.latencies,
	}
	w.readBack(&end, o.reads*uint64(w.load.message))
	return end
}

// readBack notes the payload that flows back to who asks.
func (w *worker) readBack(end *result.PairEnd, bytes uint64) {
	if w.load.mixed {
		end.Opposite = &result.PairEnd{Bytes: bytes, CPUSeconds: end.CPUSeconds, BusiestSeconds: end.BusiestSeconds, Threads: end.Threads}
	}
}

// behind tells of a peer that answered until the end, but fewer requests than were asked. Over TCP none is lost, so all wait behind the
// first: it may be that the window's have no answer, while those of before it came in the window and are what the path carries.
func (w *worker) behind(o outcome) bool {
	return !w.load.udp && !o.silent && o.lost > 0 && o.within > 0
}

// judge says what is wrong with a sender's window that ended in time.
func (w *worker) judge(end result.PairEnd) error {
	switch {
	case end.Packets == 0 && w.load.open() && end.Arrived.Expected+end.Offered.Refused == 0:
		return fmt.Errorf("no request was due in the window: at %g a second it must be longer", w.load.rate)
	case !w.load.open() && end.Arrived.Expected+end.Offered.Refused == 0 && end.InWindow() == 0:
		says := "no request left in the window: the one before it may have had no answer" // or this end no CPU
		if w.load.udp {
			says += fmt.Sprintf(", which is waited for for %s", w.load.wait)
		}
		return errors.New(says)
	case end.Packets == 0 && end.Arrived.Late == 0 && end.InWindow() == 0:
		return errors.New("no request was answered in the window")
	case end.Arrived.Lost > 0 && !w.load.udp:
		return fmt.Errorf("the peer stalled: %d requests were open %s after the trial; what they had waited by then is in the latencies", end.Arrived.Lost, w.load.wait)
	}
	return nil
}

// answer runs a receiver.
func (w *worker) answer(ctx context.Context, e engine, when traffic.Schedule) (result.PairEnd, error) {
	from := when.Start.Add(when.WarmUp)
	to := from.Add(when.Window)
	e.open() // at once: a sender's clock may be ahead
	err := w.until(ctx, e, when.Start)
	var warm []result.Interval
	before := e.snapshot()
	if err == nil {
		warm, before, err = w.watch(ctx, e, when, before, when.Start, from)
	}
	if err == nil && !before.at.Before(to) {
		err = fmt.Errorf("this end's program stood still until %s after the window", before.at.Sub(to).Round(time.Millisecond))
	}
	if err != nil {
		e.halt()
		return result.PairEnd{}, err
	}
	w.stood = 0
	steps, after, err := w.watch(ctx, e, when, before, from, to)
	stood := w.stood
	if err == nil {
		err = w.answerToEnd(ctx, e, to, when.OneOff)
	}
	e.halt()
	spent := after.spent.Since(before.spent)
	end := result.PairEnd{
		WindowSeconds:  after.at.Sub(before.at).Seconds(),
		StoodSeconds:   stood.Seconds(),
		Bytes:          after.seen.bytes - before.seen.bytes,
		Packets:        after.seen.requests - before.seen.requests,
		Calls:          after.seen.requests - before.seen.requests,
		CPUSeconds:     spent.CPU.Seconds(),
		BusiestSeconds: spent.Busiest().Seconds(),
		Threads:        e.threads(),
		Connections:    connections(before, after),
		Intervals:      append(warm, steps...),
	}
	if spent.Wait > 0 {
		end.Waited = &result.Wait{Seconds: spent.Wait.Seconds()}
	}
	w.readBack(&end, after.seen.back-before.seen.back)
	if end.Opposite != nil {
		end.Opposite.WindowSeconds = end.WindowSeconds
	}
	// What never came, only who asked can tell.
	if corrupt := after.seen.corrupt - before.seen.corrupt; corrupt > 0 {
		end.Arrived = &result.Arrived{Corrupt: corrupt}
	}
	if err == nil && end.Packets == 0 && !w.load.mayMiss(when.Window) {
		err = errors.New("no request came in the window")
	}
	if err != nil {
		end.Error = err.Error()
	}
	return end, ctx.Err()
}

// mayMiss tells whether so few requests are due in a window that all may come beside that of the other end, which is a little apart.
func (l load) mayMiss(window time.Duration) bool { return l.open() && l.rate*window.Seconds() < 2 }

// watch waits from one time until another, interval by interval where they are asked
// for: cut at whole intervals from the window's begin, as the sender's are. It takes the
// snapshot of the first time and returns that of the other, so that intervals leave out nothing. A snapshot that comes late,
// at the other time or after it, is that of the other: no interval begins behind what it is part of.
func (w *worker) watch(ctx context.Context, e engine, when traffic.Schedule, first snapshot, at, to time.Time) (steps []result.Interval, last snapshot, err error) {
	zero := when.Start.Add(when.WarmUp)
	for last = first; at.Before(to) && last.at.Before(to) && err == nil; {
		next := to
		if when.Interval > 0 {
			whole := at.Sub(zero).Truncate(when.Interval)
			if edge := zero.Add(whole); edge.After(at) {
				next = edge
			} else if edge := edge.Add(when.Interval); edge.Before(to) {
				next = edge
			}
		}
		err = w.until(ctx, e, next)
		now := e.snapshot()
		if when.Interval > 0 {
			i := result.Interval{
				From: last.at.Sub(zero).Seconds(), To: now.at.Sub(zero).Seconds(),
				Bytes: now.seen.bytes - last.seen.bytes, Packets: now.seen.requests - last.seen.requests,
				BackBytes: w.load.wentBack(now.seen) - w.load.wentBack(last.seen),
			}
			if steps = append(steps, i); when.Observe != nil {
				when.Observe(i)
			}
		}
		at, last = next, now
	}
	return steps, last, err
}

// wentBack is how many bytes of payload went back in the answers: of a mixed load those
// of its reads, as in the totals.
func (l load) wentBack(c seen) uint64 {
	if l.mixed {
		return c.back
	}
	return c.requests * uint64(l.response)
}

// answerToEnd answers until the sender has ended its flows: of a test by hand also beyond the limit, where requests, and
// so the end behind them, come out of a queue.
func (w *worker) answerToEnd(ctx context.Context, e engine, to time.Time, oneOff bool) error {
	limit := w.tail + w.load.lateness() + w.load.wait + drain
	most := to.Add(limit)
	if oneOff {
		most = most.Add(traffic.LongestQueue)
	}
	const look = time.Second
	at, had := to.Add(limit-look), uint64(math.MaxUint64) // not known before the first look
	for {
		err := w.until(ctx, e, at)
		switch {
		case errors.Is(err, errEnded), wentAway(err): // a sender whose wait is over leaves, whatever is on its way to it
			return nil
		case err != nil:
			return err
		}
		select {
		case <-e.ended():
			return nil
		default:
		}
		have := e.snapshot().seen.requests
		switch {
		case have == had:
			return fmt.Errorf("the sender did not end its flows within %s of the window", at.Sub(to))
		case oneOff && !at.Before(most):
			return fmt.Errorf("the sender did not end its flows: %w", traffic.QueuedOn(at.Sub(to)))
		case !at.Before(most):
			return fmt.Errorf("the sender did not end its flows within %s of the window, and requests still came", at.Sub(to))
		}
		at, had = at.Add(look), have
	}
}

var errEnded = errors.New("the peer ended its flows early")

// until waits for a time, and notes for how long the program stood still meanwhile; an earlier end of the engine is an error.
func (w *worker) until(ctx context.Context, e engine, at time.Time) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		beat := traffic.NextBeat(at)
		timer.Reset(time.Until(beat))
		select {
		case <-timer.C:
			w.stood += traffic.StoodStill(time.Since(beat))
			if beat.Before(at) {
				continue
			}
			return nil
		case <-e.ended():
			if err := e.failure(); err != nil || !time.Now().Before(at) {
				return err
			}
			return errEnded
		case <-ctx.Done():
			return ctx.Err()
		case <-w.closing:
			return errClosed
		}
	}
}

// Close ends a Run that is under way and frees the flows.
func (w *worker) Close() error {
	w.once.Do(func() {
		close(w.closing)
		w.running.Lock()
		defer w.running.Unlock()
		if w.listener != nil {
			w.listener.close()
		}
		if w.ends != nil {
			w.ends.close()
			w.ends = nil
		}
	})
	return nil
}

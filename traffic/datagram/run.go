package datagram

import (
	"context"
	"errors"
	"fmt"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// run is one trial of a worker. Its engine's flows are first those that are
// sent, then those that are received.
type run struct {
	worker   *worker
	session  *session
	engine   *Engine
	when     traffic.Schedule
	ctx      context.Context
	sends    int
	receives int

	first         Snapshot // when the warm-up began
	began, ended  Snapshot // the window's ends, by this end's clock
	halted        Snapshot // when the senders had ended; zero before
	cutShort      bool
	out, in       intervals
	nextInterval  time.Time // zero: none is kept
	watcher       *traffic.Watcher
	peerSent      totals // nil: not told
	peerHasCounts bool
}

// drive goes through the schedule.
func (r *run) drive() (result.PairEnd, error) {
	window := r.when.Start.Add(r.when.WarmUp)
	r.watcher = traffic.NewWatcher(r.when.Observe)
	defer r.watcher.Close()
	r.engine.markFrom(markWindow, window)
	r.engine.markFrom(markTail, window.Add(r.when.Window))
	if r.sends == 0 {
		r.engine.Start()
	}
	err := r.until(r.when.Start)
	r.first = r.engine.Snapshot()
	if err == nil {
		r.engine.Start()
		r.beginIntervals(window)
		err = r.until(window)
	}
	if err != nil {
		r.engine.Halt()
		return result.PairEnd{}, err
	}
	r.began = r.engine.Snapshot()
	// The window ends by the schedule, like the other end's, however late it began.
	early := r.until(window.Add(r.when.Window))
	r.cutShort = early != nil
	r.ended = r.engine.Snapshot()
	r.endIntervals()
	if late := r.finish(early != nil); early == nil {
		early = r.blame(late)
	}
	end := r.report()
	if early == nil {
		early = r.nothing(&end)
	}
	if early != nil {
		end.Error = early.Error()
	}
	return end, r.ctx.Err()
}

// nothing says why a window has no datagram, as far as this end knows, nil of one that has.
func (r *run) nothing(end *result.PairEnd) error {
	perSecond := r.engine.config.packetsPerSecond() * float64(r.load().flows)
	due := perSecond * r.when.Window.Seconds()
	switch {
	case r.sends > 0 && due > 0 && due < 1 && r.part(end, traffic.Send).Packets == 0:
		return fmt.Errorf("no datagram was due in the window: at %.3g a second it must be longer", perSecond)
	case r.receives > 0 && r.part(end, traffic.Receive).Packets == 0:
		return traffic.ErrNothing
	}
	return nil
}

// part is that of the report which was sent, or received.
func (r *run) part(end *result.PairEnd, role traffic.Role) *result.PairEnd {
	if end.Opposite != nil && r.worker.role != role {
		return end.Opposite
	}
	return end
}

// until waits for a time and keeps intervals meanwhile; an earlier end of the
// engine, or of the peer, is an error.
func (r *run) until(at time.Time) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		next := at
		if !r.nextInterval.IsZero() && r.nextInterval.Before(at) {
			next = r.nextInterval
		}
		timer.Reset(time.Until(next))
		select {
		case <-timer.C:
			if next == at {
				return nil
			}
			r.keepInterval(r.engine.Snapshot())
		case <-r.engine.Done():
			return r.failure()
		case <-r.session.gone:
			return r.peerEnded()
		case <-r.ctx.Done():
			return r.ctx.Err()
		case <-r.worker.closing:
			return errClosed
		}
	}
}

func (r *run) failure() error {
	if err := r.engine.Err(); err != nil {
		return err
	}
	return errors.New("the datagrams ended early")
}

// peerEnded prefers the reason that the own sockets know.
func (r *run) peerEnded() error {
	if err := r.engine.Err(); err != nil {
		return err
	}
	return errPeer
}

// blame says of an error at the end that the system has no way to the peer any more, or that its datagrams come back, if that is so.
func (r *run) blame(err error) error {
	if no := r.engine.Snapshot().away(); err != nil && no != nil {
		return fmt.Errorf("%w, and nothing left any more at the end (%w)", no, err)
	}
	if no := r.ended.gone(); err != nil && no != nil {
		return fmt.Errorf("%w (%w)", no, err)
	}
	return err
}

// finish ends the flows: who sends goes on for the tail and tells what it sent;
// who receives waits for that and for what is still on its way, and says so.
func (r *run) finish(broken bool) error {
	defer r.engine.Halt()
	if broken {
		return nil
	}
	if r.sends > 0 {
		if err := r.goOn(r.when.Start.Add(r.when.WarmUp + r.when.Window)); err != nil {
			return err
		}
		r.engine.HaltSenders()
		r.halted = r.engine.Snapshot()
		if err := r.session.tell(noteTotals, r.sentTotals().encode()); err != nil {
			return fmt.Errorf("telling the peer what was sent: %w", err)
		}
	}
	var stillComes error
	limit := time.Now().Add(time.Until(r.when.Start.Add(r.when.WarmUp+r.when.Window)) + tailMost + drain)
	if r.receives > 0 {
		if err := r.hear(limit, r.datagramsCome(), func() bool { return r.peerSent != nil }); err != nil {
			return fmt.Errorf("waiting for what the peer has sent: %w", err)
		}
		if r.when.OneOff && time.Until(limit) < drain { // the notes were late, and so may be the datagrams
			limit = time.Now().Add(drain)
		}
		stillComes = r.settle(limit)
		if err := r.session.tell(noteDone, nil); err != nil {
			return fmt.Errorf("telling the peer that its datagrams are counted: %w", err)
		}
	}
	if r.sends > 0 {
		if err := r.hear(limit.Add(drain), r.noteLeaves(), func() bool { return r.peerHasCounts }); err != nil {
			return fmt.Errorf("waiting until the peer has counted: %w", err)
		}
	}
	r.session.part()
	return stillComes
}

// goOn sends for the tail, and until a datagram of it has left, which marks the window's end: before a slow path a call waits for room
// longer than the tail takes. It is waited for no longer than tailMost.
func (r *run) goOn(over time.Time) error {
	least := tail
	if r.when.Alone {
		least = tailAlone
	}
	err := r.until(over.Add(least))
	for at := over.Add(least); err == nil && at.Before(over.Add(tailMost)) && r.sentTotals().sum()[markTail] == 0; {
		at = at.Add(tailAlone)
		err = r.until(at)
	}
	return err
}

func (r *run) sentTotals() totals {
	t := make(totals, r.sends)
	for i, f := range r.engine.Snapshot().Flows[:r.sends] {
		for m := range marks {
			t[i][m] = f.Marked[m].Packets
		}
	}
	return t
}

// hear takes the peer's notes until what is waited for has come. It waits on where what was sent is under way.
func (r *run) hear(limit time.Time, is underWay, come func() bool) error {
	timer := time.NewTimer(time.Until(limit))
	defer timer.Stop()
	for !come() {
		select {
		case n := <-r.session.notes:
			if err := r.take(n); err != nil {
				return err
			}
			continue
		default:
		}
		select {
		case n := <-r.session.notes:
			if err := r.take(n); err != nil {
				return err
			}
			if n.what == noteCounts && r.mayWaitOn(limit) {
				timer.Reset(countsEvery + drain)
			}
		case <-r.session.gone:
			if len(r.session.notes) == 0 {
				return r.unheard(is, errPeer)
			}
		case <-timer.C:
			if !r.waitsOn(limit, is) {
				return r.unheard(is, errSilent)
			}
			timer.Reset(drain / 2)
		case <-r.ctx.Done():
			return r.ctx.Err()
		case <-r.worker.closing:
			return errClosed
		}
	}
	return nil
}

func (r *run) take(n note) (err error) {
	switch n.what {
	case noteTotals:
		r.peerSent, err = decodeTotals(n.body, r.load().flows)
		return err
	case noteDone:
		r.peerHasCounts = true
		return nil
	case noteCounts:
		return nil
	}
	return fmt.Errorf("the peer sent note %d, which means nothing here", n.what)
}

func (r *run) load() load { return r.worker.load }

// come is how many datagrams have come of how many that were sent, and whether the last of each flow has, on a path that overtook
// none: then nothing is behind it.
func (r *run) come(flows []FlowCounts) (have, sent uint64, last bool) {
	last = true
	for i, f := range flows {
		all := uint64(0)
		for _, n := range r.peerSent[i] {
			all += n
		}
		sent += all
		have += f.Packets + f.Late
		last = last && f.Expected >= all && f.Reordered+f.Late == 0
	}
	return have, sent, last
}

// beginIntervals sets the first boundary: boundaries are whole intervals from
// the window's beginning.
func (r *run) beginIntervals(window time.Time) {
	if r.when.Interval <= 0 {
		return
	}
	now := time.Now()
	r.out.window, r.out.last = window, now
	r.in.window, r.in.last = window, now
	r.nextInterval = window.Add(-r.when.WarmUp.Truncate(r.when.Interval))
	for !r.nextInterval.After(now) {
		r.nextInterval = r.nextInterval.Add(r.when.Interval)
	}
}

// keepInterval ends an interval in both directions; the one that this end is
// here for is observed.
func (r *run) keepInterval(s Snapshot) {
	var record, back result.Interval
	if r.receives > 0 {
		record = r.in.add(s.At, amountsOf(s.Flows[r.sends:]))
	}
	if r.sends > 0 {
		back = r.out.add(s.At, amountsOf(s.Flows[:r.sends]))
		if r.worker.role == traffic.Send || r.receives == 0 {
			record, back = back, record
		}
	}
	record.BackBytes = back.Bytes
	r.watcher.Tell(record)
	r.nextInterval = r.nextInterval.Add(r.when.Interval)
}

// endIntervals keeps what is left of the window, unless that is next to nothing.
func (r *run) endIntervals() {
	if r.nextInterval.IsZero() {
		return
	}
	last := r.out.last
	if r.sends == 0 {
		last = r.in.last
	}
	if r.ended.At.Sub(last) > r.when.Interval/10 {
		r.keepInterval(r.ended)
	}
	r.nextInterval = time.Time{}
}

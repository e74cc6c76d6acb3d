package iperf3

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// trial is a test whose streams stand: the part that client and server share.
type trial struct {
	test     Test
	server   bool
	streams  []*dataStream
	mover    mover
	control  *control
	observer Observer
	guard    guard

	running time.Time // when a server told its client to start
	tally   *tally
	meter   meter
	finish  time.Time // when a client ends it, zero: not by time
	quiet   time.Time // when the last came from a server that ended by itself
	pause   pause
	look    time.Time // when to see again whether a backlog is read
	told    bool      // the server knows that the client has ended it
}

// errEnded is the regular end of a test's traffic.
var errEnded = errors.New("the test ended")

// flow lets the traffic run until the test's end, and returns the last reading
// and errEnded, or what cut it short.
func (t *trial) flow(ctx context.Context) (reading, error) {
	t.meter = newMeter()
	t.mover.start()
	t.tally = newTally(t.test, t.streams, time.Now())
	t.guard.begin(t.tally.begun)
	if !t.server && t.test.Duration > 0 {
		t.finish = t.tally.begun.Add(t.test.Omit + t.test.Duration)
	}
	err := t.loop(ctx)
	t.tally.untaken.over(true)
	t.tally.silent.over(false)
	if errors.Is(err, errStream) {
		err = t.reason(err)
	}
	var last reading
	if t.server {
		last = t.stopServer(err)
	} else {
		last, err = t.stopClient(ctx, err)
	}
	t.lastInterval(last)
	if !t.tally.omitted { // nothing that counts has begun
		t.count(last)
	}
	return last, err
}

func (t *trial) stopServer(err error) reading {
	ended := time.Now()
	t.noteAcked() // before what the other end's system takes when its program has ended
	if errors.Is(err, errEnded) {
		t.readUp()
		ended = t.drain()
	}
	t.mover.halt()
	last := t.mover.read()
	// Halting waits for threads that wait for data; that time is not the test's.
	last.at = ended
	return last
}

// stopClient ends what this end sends, waits until that has come where a limit asks for it, tells the server, and then ends the
// rest: halting receivers waits 0.1 s where nothing comes any more, by which the server's time would be too long. What comes
// meanwhile is none of the test's.
func (t *trial) stopClient(ctx context.Context, err error) (reading, error) {
	end := t.mover.glance()
	if errors.Is(err, errEnded) {
		t.mover.haltSenders()
		if t.test.Duration == 0 {
			err = t.empty(ctx)
			end = t.mover.glance()
		}
	}
	t.noteAcked() // before the other end can know that it is over
	if errors.Is(err, errEnded) {
		t.told = t.control.sendState(testEnd) == nil
	}
	t.mover.halt()
	last := t.mover.read()
	last.at, last.receive = end.at, end.receive
	if !t.quiet.IsZero() {
		last.at = t.quiet
	}
	for i, s := range t.streams {
		if !s.sender {
			last.streams[i] = end.streams[i]
		}
	}
	return last, err
}

// loop handles what happens, one thing at a time: states of the peer, the ends
// of intervals, of what is omitted and of the test, limits. How late it wakes for what was due, which is never later than the guard's next
// look, tells when this end stood still; what it takes its time for itself, such as a line for a slow reader, is none of that.
func (t *trial) loop(ctx context.Context) error {
	ended := t.mover.done()
	for {
		due := later(t.next(), time.Now())
		timer := time.NewTimer(time.Until(due))
		select {
		case <-ctx.Done():
			timer.Stop()
			return ErrInterrupted
		case h := <-t.control.listen():
			timer.Stop()
			t.tally.still.Woke(time.Since(due))
			t.control.heard()
			if err := t.hear(h); err != nil {
				return err
			}
		case <-ended:
			timer.Stop()
			t.tally.still.Woke(time.Since(due))
			ended = nil
			if err := t.allEnded(); err != nil {
				return err
			}
		case <-timer.C:
			t.tally.still.Woke(time.Since(due))
			if err := t.tick(time.Now()); err != nil {
				return err
			}
		}
	}
}

// hear is what the peer's state means while traffic runs.
func (t *trial) hear(h heard) error {
	switch {
	case h.err != nil:
		return h.err
	case t.server && h.state == testEnd:
		t.resume()
		t.omission(time.Now()) // due before it, whichever of both is heard first
		return errEnded
	case t.server && (h.state == clientTerminate || h.state == iperfDone): // which 3.21 sends for an error of its own
		return ErrClientTerminated
	case t.server:
		return &sessionError{number: ErrorMessage, err: errors.New("the client sent " + h.state.String() + " while traffic ran")}
	}
	if err := t.control.refusal(h.state); err != nil {
		return err
	}
	if h.state == testRunning || h.state == testStart {
		return nil
	}
	return errors.New("the server sent " + h.state.String() + " while traffic ran")
}

// allEnded is the end of all streams that end by themselves: a client's limit is
// reached. A server waits for the client's word.
func (t *trial) allEnded() error {
	if t.server {
		return nil
	}
	if err := t.mover.err(); err != nil {
		return fmt.Errorf("%w: %w", errStream, err)
	}
	if t.test.limits(false) != (limits{}) {
		return errEnded
	}
	if t.test.Protocol == UDP { // receivers have no end
		return nil
	}
	return fmt.Errorf("%w: the server ended it", errStream)
}

// errStream is a client's stream that broke.
var errStream = errors.New("a stream broke before the test's end")

// reasonTimeout is how long a client waits for the word of a server that broke
// its streams.
const reasonTimeout = time.Second

// reason is what the server says to a stream's failure, that it is gone, or else
// the failure.
func (t *trial) reason(failure error) error {
	got, err := t.control.receiveState(reasonTimeout)
	switch {
	case errors.Is(err, ErrControlClosed):
		return err
	case err != nil:
		return failure
	}
	if err := t.control.refusal(got); err != nil {
		return err
	}
	return failure
}

// next is when there is something to do.
func (t *trial) next() time.Time {
	at := t.guard.next
	earlier := func(other time.Time) {
		if !other.IsZero() && other.Before(at) {
			at = other
		}
	}
	earlier(t.pastBacklog(t.finish))
	earlier(t.pastBacklog(t.intervalEnd()))
	if !t.tally.omitted {
		earlier(t.pastBacklog(t.omissionEnd()))
		earlier(t.pause.look)
	}
	return at
}

// omissionEnd of a server counts from its word to start, so that it is before the client's, whose limit may be
// reached at once.
func (t *trial) omissionEnd() time.Time {
	if t.server {
		return t.running.Add(t.test.Omit)
	}
	return t.tally.begun.Add(t.test.Omit)
}

// intervalEnd keeps to the grid of the test's begin, so that ends do not drift.
func (t *trial) intervalEnd() time.Time {
	if t.test.Interval <= 0 {
		return time.Time{}
	}
	return t.tally.begun.Add(time.Duration(t.tally.shown+1) * t.test.Interval)
}

// tick does what is due: first what is omitted ends, then intervals, then the test.
func (t *trial) tick(now time.Time) error {
	due := func(at time.Time) bool { return !at.IsZero() && !now.Before(at) }
	t.resume()
	ends := due(t.intervalEnd()) || due(t.finish) || !t.tally.omitted && due(t.omissionEnd())
	if !ends || !t.behind(now) {
		if due(t.intervalEnd()) && !due(t.finish) { // the last one ends with the test: what moves until then is no interval of its own
			t.interval(t.mover.read())
		}
		t.omission(now)
		if due(t.finish) {
			return errEnded
		}
	}
	if due(t.guard.next) {
		return t.check()
	}
	return nil
}

// omission ends what is omitted, where that is due.
func (t *trial) omission(now time.Time) {
	if t.tally.omitted || now.Before(t.omissionEnd()) {
		return
	}
	t.omit(t.mover.read())
}

// omit ends what is omitted with a reading.
func (t *trial) omit(r reading) {
	t.lastInterval(r)
	t.count(r)
	if !t.finish.IsZero() { // however late that was, what counts takes its time
		t.finish = r.at.Add(t.test.Duration)
	}
}

// count lets the test count from a reading on: what came before is omitted.
func (t *trial) count(from reading) {
	t.mover.anew()
	t.mover.limitFrom(from)
	t.tally.reset(from)
	t.guard.progress = later(t.guard.progress, from.at) // of what is omitted the sender may have sent all
	t.guard.next = from.at                              // the limit of what comes may be near
}

func (t *trial) interval(r reading) {
	v := t.tally.interval(r)
	// Where this end fell behind by whole intervals, they are one; and less than a tenth of the next one is left to that after it.
	if behind := int((r.at.Sub(t.tally.begun) + t.test.Interval/10) / t.test.Interval); behind > t.tally.shown {
		t.tally.shown = behind
	}
	t.observer.Interval(v)
}

// lastInterval reports what is left over at the end of what is omitted, and of
// the test: less than a tenth of an interval is not worth a line, unless it holds
// bytes of the test, of either direction, as in iperf3. Without intervals (-i 0) the test is one.
func (t *trial) lastInterval(r reading) {
	left := r.at.Sub(t.tally.last.at)
	moved := t.tally.omitted && t.tally.anyMoved(t.tally.last, r)
	whole := t.test.Interval == 0 && t.tally.omitted
	if whole || t.test.Interval > 0 && (left >= t.test.Interval/10 || t.tally.shown == 0 || moved) {
		t.observer.Interval(t.tally.interval(r))
	} else {
		t.tally.note(r)
	}
}

// emptyLimit bounds how long a client waits until what a limit of bytes or blocks
// asked for is acknowledged. An iperf3 server stops counting at the client's word,
// which overtakes the data.
const (
	emptyLimit = 30 * time.Second
	emptyTick  = time.Millisecond
)

// empty waits until the other end has what this one sent, which took until then, or
// what it says instead; errEnded is the regular end.
func (t *trial) empty(ctx context.Context) error {
	tick := time.NewTicker(emptyTick)
	defer tick.Stop()
	for limit := time.Now().Add(emptyLimit); t.mover.queued() > 0 && time.Now().Before(limit); {
		select {
		case <-ctx.Done():
			return ErrInterrupted
		case h := <-t.control.listen():
			t.control.heard()
			if err := t.hear(h); err != nil {
				return err
			}
		case <-tick.C:
		}
	}
	return errEnded
}

// drainQuiet and drainLimit bound how long a server goes on reading after the
// client's end, where a limit ended the test: all that was sent counts then, in
// the time until it came, to a drainTick.
const (
	drainTick  = time.Millisecond
	drainQuiet = 50 * time.Millisecond
	drainLimit = 2 * time.Second
)

func (t *trial) drain() (last time.Time) {
	last = time.Now()
	if t.test.Bytes == 0 && t.test.Blocks == 0 || !t.test.receives(t.server) {
		return last
	}
	var halted sync.WaitGroup
	halted.Go(t.mover.haltSenders) // of both directions, as the client takes no more; one that is blocked takes its time
	defer halted.Wait()
	before, came := t.tally.received(t.mover.glance()), last
	for limit := last.Add(drainLimit); time.Now().Before(limit); {
		time.Sleep(drainTick)
		waits := t.mover.waits() // where many clients share the CPUs, quiet alone may be that of threads without a turn
		now := t.tally.received(t.mover.glance())
		switch {
		case now != before:
			before, last = now, time.Now()
			came = last
		case waits:
			came = time.Now()
		case now >= t.due() && time.Since(came) >= drainQuiet:
			return last
		}
	}
	return last
}

// due is how much must come: TCP loses nothing, of UDP some at least. What is
// omitted ends at each end in its own time, and of both directions either one
// may have reached the limit.
func (t *trial) due() uint64 {
	switch {
	case t.test.Bidirectional:
		return 0
	case t.test.Protocol == UDP || t.test.Omit > 0:
		return 1
	}
	return t.test.volume()
}

package oneoff

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

const (
	// byteWatch is how often a bound of bytes is looked at, at least; a small one is more often (traffic.ByteWatch).
	byteWatch = 250 * time.Millisecond
	// waitingIntervals may wait for a sender that reads slowly; more are dropped.
	waitingIntervals = 64
	// mostLooks are all of a session's at its bytes: a worker remembers each as an interval.
	mostLooks = 100_000
)

var (
	errLeft      = errors.New("the sender went away")
	errStopped   = errors.New("the sender stopped")
	errClosing   = errors.New("the receiver is being stopped")
	errManyBytes = errors.New("the bytes that this receiver gives one sender are used up (its --max-bytes)")
	errEndless   = errors.New("the worker did not end")
)

// receive runs the worker, and tells its intervals and its end.
func (s *session) receive(ctx context.Context, worker traffic.Worker, start time.Time) error {
	running, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	over := time.AfterFunc(time.Until(start)+s.times.warmUp+s.times.window+s.patience(), func() { cancel(errEndless) })
	defer over.Stop()
	var beside sync.WaitGroup
	beside.Go(func() { s.listen(cancel) })

	passed := make(chan result.Interval, waitingIntervals)
	beside.Go(func() { s.pass(passed, cancel) })
	thief := watchStolen(start.Add(s.times.warmUp), s.times.window)
	when, flush := s.schedule(start, passed, cancel)
	end, err := worker.Run(running, when)
	flush()
	end.Stolen = thief.end()
	early := context.Cause(running) // before listen is told to end, which it takes for a sender that left
	if ctx.Err() != nil {
		early = errClosing
	}
	close(passed)
	s.wire.hurry(errClosing)
	beside.Wait()
	return s.conclude(end, err, early)
}

// patience is for how long after its schedule the worker may go on.
func (s *session) patience() time.Duration {
	if l, is := s.kind.(traffic.Lingerer); is {
		return endPatience + l.Lingers(s.load)
	}
	return endPatience
}

// watch is how often its bytes are looked at.
func (s *session) watch() time.Duration {
	often := traffic.ByteWatch(s.server.config.MaxBytes, byteWatch)
	return max(often, min(byteWatch, (s.times.warmUp+s.times.window)/mostLooks))
}

// schedule is the worker's. A bound of bytes needs shorter intervals than a sender may
// ask for; these are put together again, the last of them by flush.
func (s *session) schedule(start time.Time, passed chan<- result.Interval, cancel context.CancelCauseFunc) (when traffic.Schedule, flush func()) {
	when = traffic.Schedule{Start: start, WarmUp: s.times.warmUp, Window: s.times.window, Interval: s.times.interval, OneOff: true}
	limit := s.server.config.MaxBytes
	watch := s.watch()
	parts := uint64(1)
	switch {
	case limit > 0 && when.Interval == 0:
		when.Interval = watch
	case limit > 0:
		parts = uint64((when.Interval + watch - 1) / watch)
		when.Interval = (when.Interval + time.Duration(parts) - 1) / time.Duration(parts) // no shorter, or the window had one more
	}
	whole := joiner{length: s.times.interval.Seconds(), out: func(i result.Interval) {
		select {
		case passed <- i:
		default:
		}
	}}
	bytes := uint64(0)
	when.Observe = func(i result.Interval) {
		if bytes += i.Bytes + i.BackBytes; limit > 0 && bytes > limit {
			cancel(errManyBytes)
		}
		switch {
		case s.times.interval == 0:
		case parts == 1:
			whole.out(i)
		default:
			whole.take(i)
		}
	}
	return when, whole.flush
}

// pass sends intervals to the sender and tells the receiver's owner.
func (s *session) pass(intervals <-chan result.Interval, cancel context.CancelCauseFunc) {
	broken := false
	for i := range intervals {
		e := s.event(traffic.SessionInterval)
		e.Interval = &i
		s.server.tell(e)
		if broken {
			continue
		}
		if err := s.wire.write(reply{Say: sayInterval, Interval: &i}); err != nil {
			broken = true
			cancel(errLeft)
		}
	}
}

// listen hears a sender that stops or goes away.
func (s *session) listen(cancel context.CancelCauseFunc) {
	var heard ask
	err := s.wire.read(&heard, 0)
	switch {
	case err != nil:
		cancel(errLeft)
	case heard.Do == doStop:
		cancel(errStopped)
	default:
		cancel(fmt.Errorf("the sender said %q in a measurement", result.Clip(heard.Do)))
	}
}

// conclude keeps what was counted. A sender that stopped gets what there is.
func (s *session) conclude(end result.PairEnd, err, early error) error {
	if end.WindowSeconds > 0 {
		end.Intervals = nil // were passed one by one
		if end.Opposite != nil {
			end.Opposite.Intervals = fitting(joined(end.Opposite.Intervals, s.times.interval))
		}
		s.tellCalibration(&end)
		s.end = &end
	}
	switch {
	case errors.Is(early, errStopped) && s.end != nil:
		s.end.Error = ""
		return nil
	case early != nil:
		why(s.end, early)
		return early
	case err == nil && s.end == nil:
		return errors.New("the receiver counted nothing")
	}
	return err
}

// fitting are the intervals of what came back, none where they may be too many for the last line (longestReply): the bytes of each were
// told when it ended.
func fitting(intervals []result.Interval) []result.Interval {
	const most = 50_000 // of up to 120 bytes
	if len(intervals) > most {
		return nil
	}
	return intervals
}

// why tells an end that was cancelled what by.
func why(end *result.PairEnd, cause error) {
	if end != nil && end.Error == context.Canceled.Error() {
		end.Error = cause.Error()
	}
}

// says is the order in a line.
func (s *session) says() string {
	return s.kind.Name() + " for " + s.times.window.String() + ": " + strings.Join(loadWords(s.kind, s.load), ", ")
}

// loadWords are a load's options as a person writes them.
func loadWords(kind traffic.Kind, load result.Options) []string {
	var words []string
	for _, o := range kind.Options() {
		if value, set := load[o.Name]; set {
			words = append(words, o.Name+" "+result.FormatValue(o.Type, value))
		}
	}
	return words
}

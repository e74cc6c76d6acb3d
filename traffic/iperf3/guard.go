package iperf3

import (
	"errors"
	"fmt"
	"time"

	"windtunnel/traffic"
)

// guard bounds a test while its traffic runs.
type guard struct {
	next time.Time // when to look again

	silence     time.Duration // without a byte that should come, or be taken
	silent      *sessionError // what that is
	maxTime     time.Duration // 0: no bound
	maxBytes    uint64
	maxRate     float64 // bits per second
	rateAverage time.Duration
	overdue     time.Duration // the client should have ended by then; 0: no bound

	begun    time.Time
	progress time.Time     // when something last moved
	asleep   time.Duration // since then, while this end could not run, of which it does not know who was silent
	moved    uint64
	samples  []sample // of the last rateAverage
}

type sample struct {
	at    time.Time
	bytes uint64
}

// How often a guard looks at least, and how close to a limit in bytes or blocks.
const (
	guardPeriod   = 100 * time.Millisecond
	guardShortest = time.Millisecond
)

// The ends for want of bytes.
var (
	noneCame  = &sessionError{number: ErrorNoMessage, err: ErrNothingReceived}
	noneTaken = &sessionError{number: ErrorStreamWrite, err: errors.New("the client took nothing for longer than the server waits")}
)

// Limits that a server puts on a test: what the client is told of them.
var (
	errMaxBytes = errors.New("the session has moved as many bytes as the server allows")
	errAskBytes = errors.New("the client asks for more bytes than the server allows")
	errMaxTime  = errors.New("the session has lasted as long as the server allows")
)

func (g *guard) begin(now time.Time) {
	g.begun, g.progress = now, now
	g.next = now.Add(guardShortest)
}

// period is how often it looks.
func (g *guard) period() time.Duration { return traffic.ByteWatch(g.maxBytes, guardPeriod) }

// check looks at every limit.
func (t *trial) check() error {
	r := t.mover.glance()
	g := &t.guard
	late := r.at.Sub(g.next)
	if late > guardPeriod {
		g.asleep += late
	}
	t.watchStalls(r, late)
	g.next = r.at.Add(g.period())
	var all, watched uint64
	for i, s := range t.streams {
		c := r.streams[i]
		all += c.bytes
		// A server of both directions that is at its limit sends no more; a client ends the test there, and one that is silent is gone.
		if !s.sender || !t.test.receives(t.server) || t.test.Bidirectional && t.test.volume() > 0 && !t.server {
			watched += c.bytes
		}
		if c.failure != nil && !t.server {
			return fmt.Errorf("%w: stream %d: %w", errStream, s.id, c.failure)
		}
		if c.failure != nil && s.sender && t.test.Protocol == UDP { // of TCP the client sees its stream end
			return &sessionError{number: ErrorStreamWrite, err: fmt.Errorf("stream %d: %w", s.id, c.failure)}
		}
	}
	if watched != g.moved || !t.tally.omitted && t.test.first() > 0 { // of what is omitted the sender may have sent all
		g.moved, g.progress, g.asleep = watched, r.at, 0
	}
	if err := g.judge(r.at, all); err != nil {
		return err
	}
	return t.checkLimits(r)
}

func (g *guard) judge(now time.Time, bytes uint64) error {
	took := now.Sub(g.begun)
	switch {
	case now.Sub(g.progress)-g.asleep > g.silence:
		return g.silent
	case g.overdue > 0 && took > g.overdue:
		return &sessionError{number: ErrorDurationExpired, err: errors.New("the client did not end the test in time")}
	case g.maxTime > 0 && took > g.maxTime:
		return errMaxTime
	case g.maxBytes > 0 && bytes >= g.maxBytes:
		return errMaxBytes
	case g.maxRate > 0:
		return g.judgeRate(now, bytes)
	}
	return nil
}

// judgeRate compares the mean of the last rateAverage, once it is over.
func (g *guard) judgeRate(now time.Time, bytes uint64) error {
	g.samples = append(g.samples, sample{now, bytes})
	for len(g.samples) > 1 && now.Sub(g.samples[1].at) >= g.rateAverage {
		g.samples = g.samples[1:]
	}
	since := now.Sub(g.samples[0].at)
	if since < g.rateAverage {
		return nil
	}
	if mean := rate(bytes-g.samples[0].bytes, since.Seconds()); mean > g.maxRate {
		return &sessionError{number: ErrorTotalRate, err: fmt.Errorf("%.0f bit/s over %s are more than the server's limit of %.0f", mean, since.Round(time.Millisecond), g.maxRate)}
	}
	return nil
}

// aloneQuiet is how long nothing comes from a server that is taken to have ended by itself.
const aloneQuiet = 2 * time.Second

// endsAlone tells whether the server may have ended by itself before the limit has come here: iperf3's counts what it sends
// where it minds the limit. What it omits ends by its own clock, so that
// some of what it counted came before this end's did; and datagrams may be lost.
func (t *trial) endsAlone() bool {
	if !t.test.minds() || t.test.Bidirectional {
		return false
	}
	if t.test.Protocol == UDP {
		return true
	}
	return t.test.Omit > 0 && t.guard.moved >= t.test.volume()
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// checkLimits ends a client's test by bytes or blocks where the engine cannot: where it
// receives, if in both directions. The closer the limit, the sooner it looks again.
func (t *trial) checkLimits(r reading) error {
	if t.server || !t.tally.omitted || t.test.Bytes == 0 && t.test.Blocks == 0 || !t.test.receives(false) {
		return nil
	}
	have, limit := t.tally.bytes(r), t.test.Bytes
	if limit == 0 {
		have, limit = t.tally.blocks(r), t.test.Blocks
	}
	if have >= limit {
		return errEnded
	}
	if t.endsAlone() {
		// What came last is told to the moment, as the time of the test ends there.
		t.guard.next = r.at.Add(guardShortest)
		if t.guard.moved > 0 && r.at.Sub(t.guard.progress) >= aloneQuiet {
			t.quiet = later(t.guard.progress, t.tally.begun)
			return errEnded
		}
	} else if took := r.at.Sub(t.tally.begun); have > 0 {
		left := time.Duration(float64(took) * float64(limit-have) / float64(have))
		t.guard.next = r.at.Add(min(max(left/2, guardShortest), guardPeriod))
	} else {
		t.guard.next = r.at.Add(guardShortest)
	}
	return nil
}

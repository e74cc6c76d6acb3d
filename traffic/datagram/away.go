package datagram

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// noWay is why the system sends nothing to a peer for now: the interface is down, or no route leads there. Both may come back.
type noWay struct{ why error }

func (n noWay) Error() string { return fmt.Sprintf("sending: %v", n.why) }

func (n noWay) Unwrap() error { return n.why }

// awayPause is how long a sender without a rate waits before it tries again.
const awayPause = time.Millisecond

// awayPatience is for how long a sender that has an amount to send, and so no end of its own before, waits for a way to come back.
const awayPatience = 30 * time.Second

// awayEnds is why a flow that outlived a failed send ends all the same, nil where it goes on.
func (s *sender) awayEnds(f *outflow, now int64, no error) error {
	if long := time.Duration(now - f.away.since); s.config.limit() > 0 && long >= awayPatience {
		return fmt.Errorf("%w, for %s", no, long.Round(time.Second))
	}
	return nil
}

// away is for how long a flow had no way to its peer. It is guarded as the flow's counters are.
type away struct {
	is    bool
	since int64 // ns of the engine's clock
	total time.Duration
	why   error // the last time; nil: it always had one
}

// outlives tells whether a flow goes on after a send that failed: one whose datagrams have left before, so that there was a way.
func (f *outflow) outlives(err error) bool {
	_, is := errors.AsType[noWay](err)
	return is && f.counts.Packets > 0
}

// note takes what became of a send at a time.
func (a *away) note(now int64, left bool, no error) {
	if left && a.is {
		a.total += time.Duration(now - a.since)
		a.is = false
	}
	if no == nil {
		return
	}
	if a.why = errors.Unwrap(no); !a.is {
		a.is, a.since = true, now
	}
}

// until is how long it was in all by now.
func (a *away) until(now int64) time.Duration {
	if a.is {
		return a.total + time.Duration(now-a.since)
	}
	return a.total
}

// Away is for how long the flows that send had no way to their peers, on the mean, and why; 0 and nil where they always had one.
func (s Snapshot) Away() (mean time.Duration, why error) {
	senders := 0
	for _, f := range s.Flows {
		if f.Sends {
			senders++
			mean += f.Away
		}
		if f.AwayWhy != nil {
			why = f.AwayWhy
		}
	}
	return mean / time.Duration(max(1, senders)), why
}

// away is why the first of the sent flows that have no way to their peer now has none, nil where all have one.
func (s Snapshot) away() error {
	for _, f := range s.Flows {
		if f.IsAway {
			return noWay{f.AwayWhy}
		}
	}
	return nil
}

const (
	// goneMost is for how long a sender goes on whose datagrams ICMP brings back, as their port is closed. A translator of addresses may
	// have given them another source, from where the receiver hears them when it has missed them (apartAfter).
	goneMost = 3 * time.Second
	// goneLately is for how long that holds once it was said: who says it does so once a second at the least (icmp_ratelimit of Linux).
	goneLately = 2 * time.Second
)

// gone is since when, and when last, ICMP said that a flow's port is closed, in ns of the engine's clock; 0: never.
type gone struct{ since, last int64 }

func (g *gone) is(now int64) bool { return g.last > 0 && now-g.last < goneLately.Nanoseconds() }

// note takes it that it was said again, and returns for how long it has been.
func (g *gone) note(now int64) time.Duration {
	if !g.is(now) {
		g.since = now
	}
	g.last = now
	return time.Duration(now - g.since)
}

// goesOn tells whether a sender outlives such a word.
func (c Config) goesOn() bool { return c.GoesOn || c.GonePatience > 0 }

// goneEnds is the reason for which a flow ends at last whose datagrams come back, nil where it goes on.
func (s *sender) goneEnds(f *outflow, now int64) error {
	if !s.batch.gone {
		return nil
	}
	if long := f.gone.note(now); s.config.GonePatience > 0 && long >= s.config.GonePatience {
		return errGone
	}
	return nil
}

// gone is why datagrams of one of the sent flows come back, nil where none do.
func (s Snapshot) gone() error {
	if slices.ContainsFunc(s.Flows, func(f FlowCounts) bool { return f.IsGone }) {
		return errGone
	}
	return nil
}

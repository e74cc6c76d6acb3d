package iperf3

import (
	"time"

	"windtunnel/traffic"
)

// stall is for how long nothing moved over TCP in one direction, a while at a time: the other end's program may have been stopped, which
// iperf3's does not tell. Of what this end sends those whiles alone count in which the other one's window was closed.
type stall struct {
	total  time.Duration
	whiles int

	bytes        uint64    // that had moved
	since, until time.Time // the looks between which nothing more did; zero: there was none
	from         time.Time // the first look at which that was seen, what the system told then, and what at the last one
	before, last told
}

// told is what the system tells of all connections.
type told struct {
	shut      time.Duration // for how long the windows of those that send were closed, on the mean
	roundTrip time.Duration // the longest
	segments  uint64        // that came to those that receive, also out of order, which wait for what is sent again
}

const (
	// stallLeast is the shortest while: also a path takes its time, and a sender waits for a round trip where a window is small.
	stallLeast      = 200 * time.Millisecond
	stallRoundTrips = 2
	// stallShut is for how much of a while the windows must have been closed.
	stallShut = 0.9
)

// look notes how much this end has sent, or received; system is asked while that is no more.
func (s *stall) look(at time.Time, bytes uint64, system func() told, sends bool) {
	if bytes != s.bytes || s.since.IsZero() {
		s.over(sends)
		s.bytes, s.since = bytes, at
		return
	}
	s.last = system()
	if s.from.IsZero() {
		s.from, s.before = at, s.last
	}
	s.until = at
}

// over ends a while.
func (s *stall) over(sends bool) {
	took, seen := s.until.Sub(s.since), s.until.Sub(s.from)
	counts := !s.from.IsZero() && took >= max(stallLeast, stallRoundTrips*s.last.roundTrip)
	if sends {
		counts = counts && (s.last.shut-s.before.shut).Seconds() >= stallShut*seen.Seconds()
	} else {
		counts = counts && s.last.segments == s.before.segments
	}
	if counts {
		s.total += took
		s.whiles++
	}
	s.since, s.from, s.until = time.Time{}, time.Time{}, time.Time{}
}

// watchStalls looks at both directions. What this end did not see, as it stood still itself, is of no while.
func (t *trial) watchStalls(r reading, late time.Duration) {
	if t.test.Protocol == UDP {
		return
	}
	stoodStill := traffic.StoodStill(late) > 0
	system := func() told { return t.mover.read().told() }
	sent, received := t.tally.directions(func(i int) uint64 { return r.streams[i].bytes })
	for _, way := range []struct {
		*stall
		moves bool
		bytes uint64
		sends bool
	}{{&t.tally.untaken, t.test.receives(!t.server), sent, true}, {&t.tally.silent, t.test.receives(t.server), received, false}} {
		switch {
		case !way.moves:
		case stoodStill:
			way.over(way.sends)
		default:
			way.look(r.at, way.bytes, system, way.sends)
		}
	}
}

func (r reading) told() told {
	all, senders := told{roundTrip: r.roundTrip, segments: r.segments}, time.Duration(0)
	for _, s := range r.streams {
		if s.tcp != nil {
			all.shut, senders = all.shut+s.tcp.rwnd, senders+1
		}
	}
	all.shut /= max(1, senders)
	return all
}

// mayBeThePaths tells whether what silent whiles there were may be a path's that loses much: then the sender sent something again for each.
func (s *stall) mayBeThePaths(sentAgain int64) bool {
	const mostStops = 2 // of a program
	return s.whiles > mostStops && sentAgain >= int64(s.whiles)
}

package iperf3

import "time"

// pause is what a receiver sees of a sender that stops in what is omitted (Test.first).
type pause struct {
	bytes uint64    // that had come
	since time.Time // when the last of them came
	last  reading   // the last one without more
	look  time.Time // when to look again, zero: whenever there is something else to do
}

const (
	// pauseQuiet is for how long nothing comes from a sender that has stopped: longer than its last blocks are under way.
	pauseQuiet = 50 * time.Millisecond
	// pauseEarly is by how much its end of what is omitted may be before this one's.
	pauseEarly = 500 * time.Millisecond
)

// resume ends what is omitted of a sender that had stopped: when it has gone on, or when this end's clock says so, with the last
// reading before. Each end omits by its own clock, and of few bytes all may come before this one's tells, or while it is
// read: they would count at the sender alone. Of both directions the server goes on first, and the client with it.
func (t *trial) resume() {
	first := t.test.first()
	if t.tally.omitted || first == 0 || !t.test.receives(t.server) {
		return
	}
	r, p := t.mover.glance(), &t.pause
	bytes := t.tally.received(r)
	near := !r.at.Before(t.omissionEnd().Add(-pauseEarly))
	moved := bytes != p.bytes || p.since.IsZero()
	if !moved {
		p.last = r
	}
	stands := near && (p.bytes >= first || t.test.neverRests() && p.bytes > 0) && p.last.at.Sub(p.since) >= pauseQuiet
	switch {
	case stands && (moved || !r.at.Before(t.omissionEnd())):
		t.omit(t.withStates(p.last))
		return
	case moved:
		p.bytes, p.since, p.last = bytes, r.at, r
	}
	if near {
		p.look = r.at.Add(guardShortest)
	}
}

// withStates gives a glance the states of what this end sends, which have rested since.
func (t *trial) withStates(r reading) reading {
	if t.test.Bidirectional {
		now := t.mover.read()
		for i := range r.streams {
			r.streams[i].tcp = now.streams[i].tcp
		}
	}
	return r
}

// neverRests tells whether a sender that is quiet has sent all, however much of it came: of datagrams some, or most, may be lost, and
// only the bursts of a rate leave gaps between them.
func (t Test) neverRests() bool { return t.Protocol == UDP && t.BitsPerSecond == 0 }

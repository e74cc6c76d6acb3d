package datagram

import (
	"errors"
	"time"

	"windtunnel/traffic"
)

// errSilent is of a peer whose word did not come.
var errSilent = errors.New("it is silent")

// underWay says at the end of a wait whether something is on its way still, as far as this end can see.
type underWay func() bool

// datagramsCome tells that more have come than when it was asked before.
func (r *run) datagramsCome() underWay {
	count := func() (n uint64) {
		for _, f := range r.engine.Snapshot().Flows[r.sends:] {
			n += f.Packets + f.Late + f.Duplicate + f.Corrupt
		}
		return n
	}
	had := count()
	return func() bool {
		have := count()
		come := have > had
		had = have
		return come
	}
}

// noteLeaves tells that the peer's system has not acknowledged this end's notes, or had not when it was asked before: then
// its answer may be on its way.
func (r *run) noteLeaves() underWay {
	had := false
	return func() bool {
		before := had
		had = unacknowledged(r.session.conn)
		return had || before
	}
}

// waitsOn tells whether a wait that was to end at a limit goes on.
func (r *run) waitsOn(limit time.Time, is underWay) bool {
	return r.when.OneOff && time.Now().Before(limit.Add(traffic.LongestQueue)) && is()
}

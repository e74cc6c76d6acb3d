package ping

import (
	"sync/atomic"
	"time"

	"windtunnel/traffic"
)

// responderCounts is what one responder has done. It has cache lines of its own, and
// one writer.
type responderCounts struct {
	_        [64]byte
	requests atomic.Uint64 // that were answered
	bytes    atomic.Uint64 // of requests; of mixed ones their payload
	back     atomic.Uint64 // payload of mixed ones' answers
	corrupt  atomic.Uint64 // datagrams of another size
	refused  atomic.Uint64 // responses that the socket did not take
	_        [64]byte
}

// seen is what responders had done at one instant.
type seen struct{ requests, bytes, back, corrupt, refused uint64 }

func (s *seen) add(c *responderCounts) {
	s.requests += c.requests.Load()
	s.bytes += c.bytes.Load()
	s.back += c.back.Load()
	s.corrupt += c.corrupt.Load()
	s.refused += c.refused.Load()
}

// snapshot is an engine's state at one instant.
type snapshot struct {
	at      time.Time
	seen    seen
	spent   traffic.CrewTime
	sockets []socketState // one a flow; empty: no sockets that tell
}

// engine moves the requests or the responses of a session. It owns its sockets.
type engine interface {
	open()                  // lets requests flow
	ended() <-chan struct{} // closed when no thread runs any more, or at the first error
	failure() error         // what ended it early, or nil
	halt()                  // stops every thread and waits for it
	snapshot() snapshot
	threads() int
	tallies() []*tally // of a sender, after halt
	part(hellos []hello)
	close()
}

// setup is what an engine is made of.
type setup struct {
	send      bool
	load      load
	cpus      []int // its threads are pinned here, in turn; empty: not pinned
	ends      *ends // taken over
	plan      plan
	collector *collector // of a sender; nil: no intervals
}

// tallySteps gives a sender's thread its intervals.
func (s setup) tallySteps(t *tally, thread int) {
	if s.collector != nil {
		t.steps = newSteps(thread, s.plan, s.collector.steps, s.collector.spares)
	}
}

// deal returns every n-th of all from the i-th on.
func deal[T any](all []T, i, n int) []T {
	var hand []T
	for ; i < len(all); i += n {
		hand = append(hand, all[i])
	}
	return hand
}

package stream

import (
	"sync/atomic"

	"windtunnel/traffic"
)

// flow is a Flow that was taken over. Its counters have cache lines of their own
// and one writer, its thread.
type flow struct {
	socket
	role   traffic.Role
	bucket *traffic.Bucket // nil: the kernel paces, or nobody
	piece  int             // bytes that leave when the bucket has them
	rest   int             // of a piece that has begun to leave
	spilt  int64           // ns of the rate, by the bucket, that are accounted for
	full   bool            // its socket took nothing of a piece
	budget *traffic.Budget // bytes that it may still move
	begun  uintptr         // of a message of which the socket took a part, the rest, taken from the budget

	_      [64]byte
	bytes  atomic.Uint64
	calls  atomic.Uint64
	missed atomic.Int64 // ns of the rate that its thread slept through
	held   atomic.Int64 // ns of it in which its socket was full
	_      [64]byte

	ended   atomic.Bool
	failure atomic.Pointer[error]
}

//go:nosplit
func (f *flow) count(n uintptr) {
	f.bytes.Add(uint64(n))
	f.calls.Add(1)
}

// spill accounts for what the bucket could not hold since it last did: its socket was full, or its thread slept, or was late otherwise.
func (f *flow) spill(slept bool) {
	more := f.bucket.Spilt() - f.spilt
	f.spilt += more
	switch {
	case f.full:
		f.held.Add(more)
	case slept:
		f.missed.Add(more)
	}
}

// took is spill after the socket took some of a piece.
func (f *flow) took() {
	f.spill(false)
	f.full = false
}

// end marks the flow as one that moves nothing any more; err says why, nil for a
// limit or the peer's end.
func (f *flow) end(err error) {
	if err != nil {
		f.failure.Store(&err)
	}
	f.ended.Store(true)
}

// err is what ended the flow, or nil.
func (f *flow) err() error {
	if at := f.failure.Load(); at != nil {
		return *at
	}
	return nil
}

// cameToEnd tells whether the flow ended without an error.
func (f *flow) cameToEnd() bool { return f.ended.Load() && f.err() == nil }

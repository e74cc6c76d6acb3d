package datagram

import "sync/atomic"

// latch keeps a hot thread's counters whole while a cold goroutine reads them.
// The hot side holds it for the time of one batch and never across a call that
// may block.
type latch struct{ held atomic.Uint32 }

//go:nosplit
func (l *latch) lock() {
	for !l.held.CompareAndSwap(0, 1) {
		yield()
	}
}

//go:nosplit
func (l *latch) unlock() { l.held.Store(0) }

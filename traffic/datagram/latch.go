package datagram

import (
	"runtime"
	"sync/atomic"
)

// latch keeps a hot thread's counters whole while a cold goroutine reads them.
// The hot side holds it for the time of one batch and never across a call that
// may block.
type latch struct{ held atomic.Uint32 }

// kernelTries is how often who wants the latch lets the kernel run somebody else:
// less than a millisecond in all.
const kernelTries = 1000

// lock asks the kernel first, which costs a hot thread least, and then the Go
// scheduler: whoever holds the latch may have been stopped with the whole program
// (garbage, another engine's change of GOMAXPROCS), and the program waits for hot
// threads to come by the scheduler.
func (l *latch) lock() {
	for tries := 0; !l.held.CompareAndSwap(0, 1); tries++ {
		if tries < kernelTries {
			yield()
		} else {
			runtime.Gosched()
		}
	}
}

//go:nosplit
func (l *latch) unlock() { l.held.Store(0) }

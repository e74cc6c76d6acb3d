package traffic

import (
	"runtime"
	"runtime/debug"
	"sync"
)

// hot is what the Go runtime was set to before the first hot thread, and how
// many hot threads there are now.
var hot struct {
	sync.Mutex
	threads   int
	procs     int
	gcPercent int
}

// coldProcs is how many Ps the rest of the program has at least: a worker pinned
// to one CPU begins with one.
const coldProcs = 2

// HoldHot readies the Go runtime for so many hot threads, until release is
// called. A hot thread makes raw system calls, in which the scheduler takes it
// for running: it keeps its P (so it gets one on top of the program's own) and
// holds up whoever stops the world (so garbage is not collected meanwhile). Call
// it before the threads run hot: changing either setting stops the world.
func HoldHot(threads int) (release func()) {
	hot.Lock()
	defer hot.Unlock()
	if hot.threads == 0 {
		hot.gcPercent = debug.SetGCPercent(-1)
		hot.procs = runtime.GOMAXPROCS(0)
	}
	hot.threads += threads
	runtime.GOMAXPROCS(max(hot.procs, coldProcs) + hot.threads)
	return sync.OnceFunc(func() { releaseHot(threads) })
}

func releaseHot(threads int) {
	hot.Lock()
	defer hot.Unlock()
	hot.threads -= threads
	if hot.threads > 0 {
		return
	}
	runtime.GOMAXPROCS(hot.procs)
	debug.SetGCPercent(hot.gcPercent)
}

package traffic

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

// hot is what the Go runtime was set to before the first hot thread, and how
// many hot threads there are now.
var hot struct {
	sync.Mutex
	threads     int
	procs       int
	granted     int // Ps for hot threads
	gcPercent   int
	memoryLimit int64
}

const (
	// coldProcs is how many Ps the rest of the program has at least: a worker
	// pinned to one CPU begins with one.
	coldProcs = 2
	// leastGrant is how many Ps hot threads get at least; they double from there:
	// each change stops the world, and a server gets clients while others are being
	// measured.
	leastGrant = 8
	// hotMemory is the size at which garbage is collected after all: a server
	// that always has a client must not grow without end.
	hotMemory = 1 << 30
)

// SwiftCall is up to which time a hot thread's calls, in the mean, and its sleeps are raw ones, of which the Go runtime does
// not know.
//
// The runtime takes a thread that it knows to be in a call for one that may stay there, and its monitor takes the P from it,
// each time: a locked goroutine never counts as scheduled anew (retake in Go's runtime/proc.go). Having found one to take,
// the monitor looks again every 20 us, on the thread's CPU where the process is bound to that: some thousand wake-ups a
// second, 3 to 15 % of either CPU on an AMD EPYC. What the runtime does not know of holds up whoever stops the world, which a
// call that ends soon may.
const SwiftCall = time.Millisecond

// HoldHot readies the Go runtime for so many hot threads, until release is
// called. A hot thread makes raw system calls, in which the scheduler takes it
// for running: it keeps its P (so it gets one on top of the program's own) and
// holds up whoever stops the world (so garbage is not collected meanwhile, unless
// the program gets large). Call it before the threads run hot: changing either
// setting stops the world.
func HoldHot(threads int) (release func()) {
	hot.Lock()
	defer hot.Unlock()
	if hot.threads == 0 {
		hot.gcPercent = debug.SetGCPercent(-1)
		hot.memoryLimit = debug.SetMemoryLimit(-1)
		debug.SetMemoryLimit(min(hot.memoryLimit, hotMemory))
		hot.procs = runtime.GOMAXPROCS(0)
	}
	hot.threads += threads
	if hot.threads > hot.granted {
		hot.granted = leastGrant
		for hot.granted < hot.threads {
			hot.granted *= 2
		}
		runtime.GOMAXPROCS(max(hot.procs, coldProcs) + hot.granted)
	}
	return sync.OnceFunc(func() { releaseHot(threads) })
}

// HotThreads is how many threads of this process are held hot.
func HotThreads() int {
	hot.Lock()
	defer hot.Unlock()
	return hot.threads
}

func releaseHot(threads int) {
	hot.Lock()
	defer hot.Unlock()
	hot.threads -= threads
	if hot.threads > 0 {
		return
	}
	hot.granted = 0
	runtime.GOMAXPROCS(hot.procs)
	debug.SetMemoryLimit(hot.memoryLimit)
	debug.SetGCPercent(hot.gcPercent)
}

// CheckCPUs refuses CPUs to which no thread of this process can be bound.
func CheckCPUs(cpus []int) error {
	for _, cpu := range cpus {
		if !HasCPU(cpu) {
			return fmt.Errorf("there is no CPU %d, or this process may not run on it", cpu)
		}
	}
	return nil
}

// CPUOf is the CPU of the i-th hot thread, -1 for any.
func CPUOf(cpus []int, i int) int {
	if len(cpus) == 0 {
		return -1
	}
	return cpus[i%len(cpus)]
}

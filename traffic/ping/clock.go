package ping

import (
	"time"
	_ "unsafe" // for the name of the runtime's clock
)

// nanotime is the runtime's monotonic clock, in ns. time.Now reads the same one, but
// may give the thread away on its way in: hot loops must not. The runtime keeps this
// name for such use (runtime/time_nofake.go).
//
//go:linkname nanotime runtime.nanotime
//go:nosplit
func nanotime() int64

// clockAt is what nanotime says at a time that has a monotonic reading.
func clockAt(t time.Time) int64 { return nanotime() + int64(time.Until(t)) }

package oneoff

import (
	"fmt"

	"windtunnel/result"
)

// What no receiver's figures are, whatever it has counted.
const (
	fastest     = 1e15 // bit/s, and packets a second
	mostThreads = 1 << 16
	spareCPU    = 10 // seconds by which a thread's CPU time may be longer than a window that was cut
)

// impossible says what of a receiver's end cannot be; "" where all can.
func impossible(end result.PairEnd) string {
	window := end.WindowSeconds
	switch {
	case window < 0 || window > 2*maxWindow.Seconds():
		return fmt.Sprintf("a window of %g s", window)
	case window >= leastRated && (8*float64(end.Bytes)/window > fastest || float64(end.Packets)/window > fastest):
		return fmt.Sprintf("%d bytes and %d packets in %g s", end.Bytes, end.Packets, window)
	case end.Threads < 0 || end.Threads > mostThreads:
		return fmt.Sprintf("%d threads", end.Threads)
	case end.CPUSeconds < 0 || end.Threads > 0 && end.CPUSeconds > float64(end.Threads)*(2*window+spareCPU):
		return fmt.Sprintf("%g s of CPU time of %d threads in %g s", end.CPUSeconds, end.Threads, window)
	}
	if a := end.Arrived; a != nil && (a.Lost > a.Expected || a.Late > a.Expected) {
		return fmt.Sprintf("%d packets lost and %d late of %d", a.Lost, a.Late, a.Expected)
	}
	if end.Opposite != nil {
		return impossible(*end.Opposite)
	}
	return ""
}

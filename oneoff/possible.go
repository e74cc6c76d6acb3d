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
	if end.StoodSeconds < 0 || end.StoodSeconds > 2*window+spareCPU {
		return fmt.Sprintf("threads that stood still for %g s of %g s", end.StoodSeconds, window)
	}
	if a := end.Arrived; a != nil && (a.Lost > a.Expected || a.Late > a.Expected) {
		return fmt.Sprintf("%d packets lost and %d late of %d", a.Lost, a.Late, a.Expected)
	}
	if end.Opposite != nil {
		return impossible(*end.Opposite)
	}
	return ""
}

// impossibleInterval is the same of an interval, as its line is shown before anything is known of the end.
func impossibleInterval(i result.Interval) string {
	length := i.To - i.From
	most := 8 * max(float64(i.Bytes), float64(i.BackBytes))
	if length >= leastRated && (most/length > fastest || float64(max(i.Packets, i.Lost))/length > fastest) {
		return fmt.Sprintf("%d bytes there, %d back, %d packets and %d lost ones in an interval of %g s", i.Bytes, i.BackBytes, i.Packets, i.Lost, length)
	}
	return ""
}

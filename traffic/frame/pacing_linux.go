package frame

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// pacing is a token bucket of whole frames, in ns of the monotonic clock, which a float64 has whole only in the first hundred days of an
// uptime.
type pacing struct {
	interval float64 // ns a frame; 0: as fast as it goes
	depth    float64 // ns
	epoch    int64
	due      float64 // when the next frame is due, after the epoch
	forgone  float64 // ns that are not made good any more, of which no frame has told yet
}

//go:nosplit
func (p *pacing) ready(now int64) (frames int, wait int64) {
	if p.interval == 0 {
		return packetBatch, 0
	}
	since := float64(now - p.epoch)
	late := since - p.due
	if late < 0 {
		return 0, int64(-late)
	}
	if late > p.depth {
		p.forgone += late - p.depth
		p.due, late = since-p.depth, p.depth
	}
	return min(int(late/p.interval)+1, packetBatch), 0
}

//go:nosplit
func monotonic() int64 {
	var now unix.Timespec
	syscall.RawSyscall(unix.SYS_CLOCK_GETTIME, unix.CLOCK_MONOTONIC, uintptr(unsafe.Pointer(&now)), 0)
	return now.Sec*1e9 + now.Nsec
}

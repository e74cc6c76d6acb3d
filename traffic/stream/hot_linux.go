package stream

import (
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The loops of this file are hot. They are nosplit, so that the scheduler's
// request to give way, which comes every 10 ms (forcePreemptNS in Go's
// runtime/proc.go), does not switch threads inside of them; they return after a
// burst, which is the safe point that stopping the world waits for. EINTR, which
// a profiler's signal may cause, means again. sendto and recvfrom spare the file
// layer that write and read pass through.
const (
	burstCalls = 1 << 16
	burstBytes = 256 << 20
)

// counter is what one hot thread has done. It has cache lines of its own, and
// one writer.
type counter struct {
	_      [64]byte
	bytes  atomic.Uint64
	calls  atomic.Uint64
	silent atomic.Uint64 // calls since the last byte that ended by patience
	_      [64]byte
}

//go:nosplit
func (c *counter) add(n uintptr) {
	c.bytes.Add(uint64(n))
	c.calls.Add(1)
}

// hotBuffer is the memory of a hot thread's calls.
type hotBuffer struct {
	at   unsafe.Pointer
	size uintptr
}

func newHotBuffer(size int) hotBuffer {
	b := make([]byte, size)
	fillPattern(b)
	return hotBuffer{unsafe.Pointer(unsafe.SliceData(b)), uintptr(size)}
}

// fillPattern writes bytes that are not all alike (xorshift, Marsaglia 2003), a
// page of them again and again, and so makes the memory present.
func fillPattern(b []byte) {
	x := uint32(2463534242)
	page := b[:min(len(b), 4093)]
	for i := range page {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		page[i] = byte(x)
	}
	for done := len(page); done < len(b); done *= 2 {
		copy(b[done:], b[:done])
	}
}

// sendBurst writes messages to one blocking socket until a stop, an error, a
// call that patience ended (EAGAIN), or the burst's end (0).
//
//go:nosplit
func sendBurst(fd uintptr, b hotBuffer, c *counter, stop *atomic.Bool) syscall.Errno {
	for calls, bytes := 0, uintptr(0); calls < burstCalls && bytes < burstBytes && !stop.Load(); calls++ {
		n, _, e := syscall.RawSyscall6(unix.SYS_SENDTO, fd, uintptr(b.at), b.size, unix.MSG_NOSIGNAL, 0, 0)
		if e == unix.EINTR {
			continue
		}
		if e != 0 {
			return e
		}
		c.add(n)
		bytes += n
	}
	return 0
}

// receiveBurst is sendBurst's other end; eof says that the sender has ended.
//
//go:nosplit
func receiveBurst(fd uintptr, b hotBuffer, c *counter, stop *atomic.Bool) (eof bool, _ syscall.Errno) {
	for calls, bytes := 0, uintptr(0); calls < burstCalls && bytes < burstBytes && !stop.Load(); calls++ {
		n, _, e := syscall.RawSyscall6(unix.SYS_RECVFROM, fd, uintptr(b.at), b.size, 0, 0, 0)
		if e == unix.EINTR {
			continue
		}
		if e != 0 {
			return false, e
		}
		if n == 0 {
			return true, 0
		}
		c.add(n)
		bytes += n
	}
	return false, 0
}

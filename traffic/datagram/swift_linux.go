package datagram

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"windtunnel/traffic"
)

// swift is whether a thread's receiving calls end soon, with their waits, decided anew each burstNS by those that went
// before (traffic.SwiftCall). A call that turns out to wait for long holds up whoever stops the world once, for patience.
type swift struct {
	is    bool
	calls int64
	since int64 // ns of the engine's clock
}

// ended takes note of a call that has ended now and brought something.
func (s *swift) ended(now int64) {
	s.calls++
	if took := now - s.since; took >= burstNS {
		*s = swift{is: took <= s.calls*traffic.SwiftCall.Nanoseconds(), since: now}
	}
}

// waited takes note of a call that has brought nothing.
func (s *swift) waited(now int64) { *s = swift{since: now} }

// isRaw tells whether a receiving call is to be made without the runtime's knowledge: one that does not wait is, too.
func (s *swift) isRaw(flags uintptr) bool { return s.is || flags&unix.MSG_DONTWAIT != 0 }

// call makes a system call on a descriptor and an array, again where a signal ended it. Of a raw one the Go runtime does not
// know.
func call(raw bool, number, fd uintptr, array unsafe.Pointer, length int, last uintptr) (int, syscall.Errno) {
	for {
		var n uintptr
		var e syscall.Errno
		if raw {
			n, _, e = syscall.RawSyscall6(number, fd, uintptr(array), uintptr(length), last, 0, 0)
		} else {
			n, _, e = syscall.Syscall6(number, fd, uintptr(array), uintptr(length), last, 0, 0)
		}
		switch e {
		case 0:
			return int(n), 0
		case unix.EINTR:
		default:
			return 0, e
		}
	}
}

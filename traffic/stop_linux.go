package traffic

import (
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Stop asks hot threads to end: they look at it between their calls, and it wakes those that sleep until their next turn, so
// that an end takes no longer at a low rate. Its zero value asks for nothing. It must not be copied.
type Stop struct{ asked atomic.Uint32 }

// The operations of futex(2) on a word of this process (linux/futex.h).
const (
	futexWait = 0 | futexPrivate
	futexWake = 1 | futexPrivate

	futexPrivate = 128
	everyWaiter  = 1<<31 - 1
)

// Load tells whether it was asked.
//
//go:nosplit
func (s *Stop) Load() bool { return s.asked.Load() != 0 }

// Ask asks, once and for all.
func (s *Stop) Ask() {
	s.asked.Store(1)
	syscall.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&s.asked)), futexWake, everyWaiter, 0, 0, 0)
}

// Sleep sleeps for so many ns, or until it is asked; a signal may wake it early. The Go runtime knows of a long one.
func (s *Stop) Sleep(ns int64) {
	if ns <= 0 {
		return
	}
	t := unix.NsecToTimespec(ns)
	if ns <= SwiftCall.Nanoseconds() {
		syscall.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&s.asked)), futexWait, 0, uintptr(unsafe.Pointer(&t)), 0, 0)
		return
	}
	syscall.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&s.asked)), futexWait, 0, uintptr(unsafe.Pointer(&t)), 0, 0)
}

package stream

import (
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// zeroCopy is the book-keeping of a socket that sends with MSG_ZEROCOPY
// (Documentation/networking/msg_zerocopy.rst): each call has a number, and the
// error queue says ranges of numbers whose pages the kernel no longer needs. It
// is used by the flow's thread alone, but for the counts.
type zeroCopy struct {
	open      uint32 // calls whose completion has not come
	since     uint32 // calls since completions were last looked for
	completed atomic.Uint64
	copied    atomic.Uint64

	header  unix.Msghdr
	control [256]byte
	ready   pollFD
}

// pollFD is struct pollfd.
type pollFD struct {
	fd      int32
	events  int16
	revents int16
}

const (
	// mostOpen bounds the calls whose completion has not come. The kernel bounds
	// them, too, by the send buffer and net.core.optmem_max; with fewer, messages of
	// a few bytes would wait for a delayed acknowledgement (RFC 1122, section
	// 4.2.3.2), because all of them make no full segment.
	mostOpen = 1 << 16
	// reapEvery is after how many calls completions are looked for: each look is a
	// system call or two.
	reapEvery = 32
)

func newZeroCopy() *zeroCopy {
	z := &zeroCopy{}
	z.header.Control = &z.control[0]
	return z
}

// reap reads the completions that have come. A range is one message of the error
// queue: a control message with a struct sock_extended_err.
//
//go:nosplit
func (z *zeroCopy) reap(fd uintptr) syscall.Errno {
	for {
		z.header.SetControllen(len(z.control))
		_, _, e := syscall.RawSyscall(unix.SYS_RECVMSG, fd, uintptr(unsafe.Pointer(&z.header)), unix.MSG_ERRQUEUE|unix.MSG_DONTWAIT)
		switch e {
		case 0:
			z.note()
		case unix.EINTR:
		case unix.EAGAIN:
			return 0
		default:
			return e
		}
	}
}

// note counts one range. What is too short or of another origin is passed over.
//
//go:nosplit
func (z *zeroCopy) note() {
	const head = unsafe.Sizeof(unix.Cmsghdr{})
	if uintptr(z.header.Controllen) < head+unsafe.Sizeof(unix.SockExtendedErr{}) {
		return
	}
	said := (*unix.SockExtendedErr)(unsafe.Add(unsafe.Pointer(&z.control), head))
	if said.Origin != unix.SO_EE_ORIGIN_ZEROCOPY {
		return
	}
	calls := min(said.Data-said.Info+1, z.open)
	z.open -= calls
	z.completed.Add(uint64(calls))
	if said.Code&unix.SO_EE_CODE_ZEROCOPY_COPIED != 0 {
		z.copied.Add(uint64(calls))
	}
}

// await blocks until a completion has come, by patience at most.
//
//go:nosplit
func (z *zeroCopy) await(fd uintptr) syscall.Errno {
	z.ready = pollFD{fd: int32(fd)} // no events: POLLERR always counts
	limit := unix.Timespec{Nsec: patience.Nanoseconds()}
	n, _, e := syscall.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&z.ready)), 1, uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
	if e == 0 && n == 0 {
		return unix.EAGAIN
	}
	if e != 0 && e != unix.EINTR {
		return e
	}
	return z.reap(fd)
}

// sendZero is one call with MSG_ZEROCOPY. The kernel refuses with ENOBUFS
// what would take its notes about the call over net.core.optmem_max: then a
// completion makes room.
//
//go:nosplit
func (s *socket) sendZero(b hotBuffer, size, flags uintptr) (uintptr, syscall.Errno) {
	z := s.zero
	if z.since >= reapEvery {
		z.since = 0
		if e := z.reap(s.fd); e != 0 {
			return 0, e
		}
	}
	for z.open >= mostOpen {
		if e := z.await(s.fd); e != 0 {
			return 0, e
		}
	}
	for {
		n, _, e := syscall.RawSyscall6(unix.SYS_SENDTO, s.fd, uintptr(b.at), size, flags|unix.MSG_NOSIGNAL|unix.MSG_ZEROCOPY, 0, 0)
		if e == 0 {
			z.open++
			z.since++
			return n, 0
		}
		if e != unix.ENOBUFS || z.open == 0 {
			return 0, e
		}
		if e := z.await(s.fd); e != 0 {
			return 0, e
		}
	}
}

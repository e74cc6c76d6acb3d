package stream

import (
	"fmt"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// zeroCopy is the book-keeping of a socket that sends with MSG_ZEROCOPY
// (Documentation/networking/msg_zerocopy.rst): each call has a number, and the
// error queue says ranges of numbers whose pages the kernel no longer needs. The
// hot loop only counts calls; it returns for what came. It is used by the flow's
// thread alone, but for the counts.
type zeroCopy struct {
	open      uint32 // calls whose completion has not come
	since     uint32 // calls since completions were last looked for
	completed atomic.Uint64
	copied    atomic.Uint64

	header  unix.Msghdr
	control [256]byte
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

// due tells that the hot loop should return for completions.
//
//go:nosplit
func (z *zeroCopy) due() bool { return z.since >= reapEvery }

// reap reads the completions that have come. A range is one message of the error
// queue: a control message with a struct sock_extended_err.
func (z *zeroCopy) reap(fd uintptr) error {
	z.since = 0
	for {
		z.header.SetControllen(len(z.control))
		_, _, e := syscall.RawSyscall(unix.SYS_RECVMSG, fd, uintptr(unsafe.Pointer(&z.header)), unix.MSG_ERRQUEUE|unix.MSG_DONTWAIT)
		switch e {
		case 0:
			z.note()
		case unix.EINTR:
		case unix.EAGAIN:
			return nil
		default:
			return fmt.Errorf("reading completions of zero copy: %w", e)
		}
	}
}

// note counts one range. What is too short or of another origin is passed over.
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

// settle reads completions; with full, which says that the kernel or mostOpen
// allows no more calls before one comes, it waits for that, by patience at most. What
// has come already made the room.
func (z *zeroCopy) settle(fd uintptr, full bool) error {
	had := z.open
	if err := z.reap(fd); err != nil || z.open < mostOpen && (!full || z.open < had) {
		return err
	}
	if z.open == 0 {
		// Also all of a user's pages under way together are bounded (mm_account_pinned_pages in net/core/skbuff.c); the error is one.
		return fmt.Errorf("the kernel takes no call without a copy, for want of locked memory (all its user's messages under way, up to ulimit -l) or of memory for its notes (net.core.optmem_max): raise that, or take shorter messages or fewer streams, or copy %s or %s: %w", CopySendfile, CopySplice, unix.ENOBUFS)
	}
	ready := []unix.PollFd{{Fd: int32(fd)}} // no events: POLLERR always counts
	if _, err := unix.Poll(ready, int(patience.Milliseconds())); err != nil && err != unix.EINTR {
		return fmt.Errorf("waiting for completions of zero copy: %w", err)
	}
	return z.reap(fd)
}

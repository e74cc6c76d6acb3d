package stream

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"windtunnel/traffic"
)

// The loops of this file are hot. They are nosplit, so that the scheduler's
// request to give way, which comes every 10 ms (forcePreemptNS in Go's
// runtime/proc.go), does not switch threads inside of them; they return after a
// burst, which is the safe point that stopping the world waits for: its calls are
// bounded by what takes 20 ms (see burst_linux.go). EINTR, which
// a profiler's signal may cause, means again. sendto and recvfrom spare the file
// layer that write and read pass through.

// burstEnd is how a burst came to its end.
type burstEnd struct {
	flow  *flow // the one that ended, failed, or has completions; nil: none in particular
	ended bool  // by its peer's end or the limit
	errno syscall.Errno
}

// longestFile is what one call of sendfile sends at most. On a blocking socket it goes on from piece to piece, each with the
// socket's whole patience: of a large message that a peer takes slowly an end would wait for all. The runtime knows of the
// call, so that nothing else does.
const longestFile = 256 << 10

// sendFile is a function of its own, whose stack may grow: with what the runtime does around a call it knows of, and what fuzzing
// counts, there is no room for it in its callers'.
//
//go:noinline
func (f *flow) sendFile(size uintptr) (n uintptr, e syscall.Errno) {
	f.at = 0
	n, _, e = syscall.Syscall6(unix.SYS_SENDFILE, f.fd, f.file, uintptr(unsafe.Pointer(&f.at)), size, 0, 0)
	return n, e
}

// send is one sending call of the flow's way of copying. Of more than one message it
// sends whole ones.
//
//go:nosplit
func (f *flow) send(t *thread, size, flags uintptr) (n uintptr, e syscall.Errno) {
	messages := uintptr(1)
	switch {
	case f.file != 0:
		n, e = f.sendFile(min(size, longestFile))
	case t.splicer != nil:
		n, e = t.splicer.send(f.fd, size)
	case size > t.buffer.size:
		n, messages, e = t.batch.send(f.fd, size/t.buffer.size, flags|t.sendFlags)
	default:
		n, _, e = syscall.RawSyscall6(unix.SYS_SENDTO, f.fd, uintptr(t.buffer.at), size, flags|t.sendFlags, 0, 0)
	}
	if e != 0 {
		return 0, e
	}
	f.bytes.Add(uint64(n))
	f.calls.Add(uint64(messages))
	if f.zero != nil {
		f.zero.open++
		f.zero.since++
	}
	return n, 0
}

// sendCounted is send within the budget; ended says that this is spent. The rest of a message that a socket took a part of stays its
// flow's, so that a limit over several ends with whole ones: a receiver of iperf3 counts no others.
//
//go:nosplit
func (f *flow) sendCounted(t *thread, size, flags uintptr) (n uintptr, ended bool, e syscall.Errno) {
	if f.begun > 0 {
		n, e = f.send(t, min(size, f.begun), flags)
		f.begun -= n
		return n, false, e
	}
	if size = uintptr(f.budget.Take(int64(size))); size == 0 {
		return 0, true, 0
	}
	n, e = f.send(t, size, flags)
	if f.budget != nil && n%t.buffer.size > 0 {
		f.begun = min(t.buffer.size-n%t.buffer.size, size-n)
	}
	f.budget.GiveBack(int64(size - n - f.begun))
	return n, false, e
}

// sendBurst writes messages to one blocking socket until a stop, an error, a
// call that patience ended (EAGAIN), or the burst's end.
//
//go:nosplit
func (t *thread) sendBurst(f *flow, stop *traffic.Stop) burstEnd {
	calls := 0
	for messages := 0; messages < t.bound && !stop.Load() && !t.late(calls); calls++ {
		once := min(t.batch.most(), t.bound-messages)
		messages += once
		_, ended, e := f.sendCounted(t, uintptr(once)*t.buffer.size, 0)
		if e == unix.EINTR {
			continue
		}
		if e != 0 || ended {
			return burstEnd{f, ended, e}
		}
		if f.zero != nil && f.zero.due() {
			return burstEnd{flow: f}
		}
	}
	return burstEnd{}
}

// receive is one receiving call of at most so many bytes, and of the budget; none
// without an error is the end.
//
//go:nosplit
func (f *flow) receive(t *thread, size, flags uintptr) (n uintptr, e syscall.Errno) {
	if size = uintptr(f.budget.Take(int64(size))); size == 0 {
		return 0, 0
	}
	n, _, e = syscall.RawSyscall6(unix.SYS_RECVFROM, f.fd, uintptr(t.buffer.at), size, flags|t.receiveFlags, 0, 0)
	if e != 0 {
		n = 0
	}
	f.budget.GiveBack(int64(size - n))
	if n > 0 {
		f.count(n)
	}
	return n, e
}

// receiveBurst is sendBurst's other end. With MSG_TRUNC the kernel writes nothing
// to the buffer (tcp(7)).
//
//go:nosplit
func (t *thread) receiveBurst(f *flow, stop *traffic.Stop) burstEnd {
	for calls := 0; calls < t.bound && !stop.Load() && !t.late(calls); calls++ {
		n, e := f.receive(t, t.call, 0)
		if e == unix.EINTR {
			continue
		}
		if e != 0 || n == 0 {
			return burstEnd{f, e == 0, e}
		}
		if t.dozes && n < t.call {
			syscall.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&t.nap)), 0, 0)
		}
	}
	return burstEnd{}
}

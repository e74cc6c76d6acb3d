package stream

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"windtunnel/traffic"
)

// A call sends so many small messages at once, at most. More bytes are a burst of
// their own already, and more messages gain nothing: of 1390 bytes 1.6 times as much
// arrived with 16 or 64 a call than with one, and 1.3 times with 4 (AMD EPYC).
const (
	batchBytes    = 64 << 10
	batchMessages = 64
)

// batch is what a call of several messages needs. TCP gets each of them by itself,
// with its own end (so TCP_NODELAY pushes each); the way into the kernel is shared.
type batch []traffic.Message // all of the same bytes; nil: one a call

func newBatch(message hotBuffer) batch {
	n := min(batchMessages, batchBytes/message.size)
	if n < 2 {
		return nil
	}
	b := make(batch, n)
	bytes := &unix.Iovec{Base: (*byte)(message.at)}
	bytes.SetLen(int(message.size))
	for i := range b {
		b[i].Header.Iov = bytes
		b[i].Header.SetIovlen(1)
	}
	return b
}

// most is how many messages a call sends at most.
//
//go:nosplit
func (b batch) most() int { return max(1, len(b)) }

// send is a call of sendmmsg, and an error only if it sent nothing. Of its messages
// the last may have been cut short, as by send: the kernel goes no further then.
//
//go:nosplit
func (b batch) send(fd, messages, flags uintptr) (n, sent uintptr, e syscall.Errno) {
	sent, _, e = syscall.RawSyscall6(unix.SYS_SENDMMSG, fd, uintptr(unsafe.Pointer(unsafe.SliceData(b))), messages, flags, 0, 0)
	if e != 0 || sent == 0 {
		return 0, 0, e
	}
	return (sent-1)*uintptr(b[0].Header.Iov.Len) + uintptr(b[sent-1].Length), sent, 0
}

package frame

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// leash is for how long a call of the kernel goes on of which nobody in this process has said that it may. One that ends costs
	// the sender 25 ms (see live), so it is longer than a busy machine keeps a goroutine waiting.
	leash = time.Second
	// leashed is how often that is said.
	leashed = leash / 10
)

// sigevThreadID is SIGEV_THREAD_ID of linux/signal.h: the signal is one thread's.
const sigevThreadID = 4

// sigEvent is struct sigevent (include/uapi/asm-generic/siginfo.h), as all 64-bit systems have it.
type sigEvent struct {
	value          uint64
	signal, notify int32
	thread         int32
	_              [44]byte
}

// leashThread lets the kernel itself end the calls of the thread that it runs on, by the signal of live.interrupt, unless this process is
// there to do so, until free is called. Where a control group has used up its CPU time, nothing of the process runs that could end a call,
// and since Linux 6.18 a call goes on meanwhile, as a thread is stopped only when it leaves the kernel (throttle_cfs_rq_work in
// kernel/sched/fair.c). The group owes what it took.
func leashThread() (free func()) {
	event := sigEvent{signal: int32(unix.SIGURG), notify: sigevThreadID, thread: int32(unix.Gettid())}
	var timer int32
	if _, _, errno := unix.Syscall(unix.SYS_TIMER_CREATE, unix.CLOCK_MONOTONIC, uintptr(unsafe.Pointer(&event)), uintptr(unsafe.Pointer(&timer))); errno != 0 {
		return func() {} // a sandbox may not have it, and mostly none is needed
	}
	giveLeash(timer)
	stop := again(leashed, func() (over bool) {
		giveLeash(timer)
		return false
	})
	return func() {
		stop() // or it might be another's timer that it sets
		_, _, _ = unix.Syscall(unix.SYS_TIMER_DELETE, uintptr(timer), 0, 0)
	}
}

// giveLeash puts the end of a call off, and of each further one of which nothing is said either.
func giveLeash(timer int32) {
	length := unix.NsecToTimespec(int64(leash))
	setting := unix.ItimerSpec{Interval: length, Value: length}
	_, _, _ = unix.Syscall6(unix.SYS_TIMER_SETTIME, uintptr(timer), 0, uintptr(unsafe.Pointer(&setting)), 0, 0, 0)
}

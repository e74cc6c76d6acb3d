package traffic

import (
	"fmt"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// PinThread binds the calling OS thread to one CPU. The goroutine must be locked
// to it and end without unlocking, so that the thread ends with its binding.
func PinThread(cpu int) error {
	var set unix.CPUSet
	set.Set(cpu)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("pinning a hot thread to CPU %d: %w", cpu, err)
	}
	return nil
}

// ThreadNice is the calling OS thread's nice value, -20 (first) to 19. (The system call gives 20 less it,
// so that it is never negative: getpriority(2).)
func ThreadNice() (int, error) {
	is, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	return 20 - is, err
}

// SetThreadNice changes it, of that thread alone (setpriority(2), "Linux notes": there a nice value is a thread's).
func SetThreadNice(nice int) error { return unix.Setpriority(unix.PRIO_PROCESS, 0, nice) }

// SetThreadRealTime gives the calling OS thread the lowest real-time priority (SCHED_FIFO, sched(7)), which goes before every thread
// without one, or takes it back. Its nice value stays.
func SetThreadRealTime(on bool) error {
	nice, err := ThreadNice()
	if err != nil {
		return err
	}
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_NORMAL, Nice: int32(nice)}
	if on {
		attr.Policy, attr.Priority = unix.SCHED_FIFO, 1
	}
	return unix.SchedSetAttr(0, &attr, 0)
}

// HasCPU tells whether threads of this process may be bound to a CPU.
func HasCPU(cpu int) bool {
	var set unix.CPUSet
	return unix.SchedGetaffinity(0, &set) == nil && set.IsSet(cpu)
}

// SharpenThread lets sleeps of the calling OS thread end on time: by default the kernel may add 50 us
// (PR_SET_TIMERSLACK, prctl(2)).
func SharpenThread() error {
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("setting a hot thread's timer slack: %w", err)
	}
	return nil
}

// ThreadID names the calling OS thread for ThreadCPU and ThreadWait.
func ThreadID() int { return unix.Gettid() }

// StackElsewhere tells whether the kernel's stack handed a connected socket what came last on another CPU than the one that
// the caller runs on (SO_INCOMING_CPU, socket(7)). Where that is not known it did not.
func StackElsewhere(socket int) bool {
	came, err := unix.GetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_INCOMING_CPU)
	if err != nil || came < 0 {
		return false
	}
	var here uint32
	_, _, errno := syscall.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&here)), 0, 0)
	return errno == 0 && uint32(came) != here
}

// DeafenThread blocks the signal by which Go's scheduler interrupts the calling
// OS thread every 10 ms (sigPreempt in runtime/signal_unix.go). It would begin
// the time limit of a blocked call anew each time, so that the limit never came.
// The goroutine must be as for PinThread.
func DeafenThread() error {
	var set unix.Sigset_t
	const bits = 8 * int(unsafe.Sizeof(set.Val[0]))
	signal := int(unix.SIGURG) - 1
	set.Val[signal/bits] |= 1 << (signal % bits)
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &set, nil); err != nil {
		return fmt.Errorf("blocking SIGURG in a hot thread: %w", err)
	}
	return nil
}

// ThreadCPU is the CPU time that a thread of this process has used. The clock's
// id is made from the thread's, as the kernel lays it out in
// include/linux/posix-timers_types.h: CPUCLOCK_PERTHREAD_MASK | CPUCLOCK_SCHED.
func ThreadCPU(tid int) (time.Duration, error) {
	const perThread, sched = 4, 2
	var now unix.Timespec
	if err := unix.ClockGettime(int32(^tid<<3|perThread|sched), &now); err != nil {
		return 0, fmt.Errorf("reading the CPU clock of thread %d: %w", tid, err)
	}
	return time.Duration(now.Nano()), nil
}

package traffic

import (
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sys/windows"
)

// SetThreadAffinityMask is in kernel32 since Windows XP; x/sys has no wrapper.
var setThreadAffinityMask = windows.NewLazySystemDLL("kernel32.dll").NewProc("SetThreadAffinityMask")

// PinThread binds the calling OS thread to one CPU of its processor group. The
// goroutine must be locked to it and end without unlocking.
func PinThread(cpu int) error {
	if cpu < 0 || cpu > 63 {
		return fmt.Errorf("pinning a hot thread to CPU %d: a processor group has CPUs 0 to 63", cpu)
	}
	if old, _, err := setThreadAffinityMask.Call(uintptr(windows.CurrentThread()), 1<<uint(cpu)); old == 0 {
		return fmt.Errorf("pinning a hot thread to CPU %d: %w", cpu, err)
	}
	return nil
}

// HasCPU tells whether threads of this process may be bound to a CPU.
func HasCPU(cpu int) bool { return cpu >= 0 && cpu < min(64, runtime.NumCPU()) }

// CanPin tells whether PinThread can work on this system.
func CanPin() bool { return true }

// DeafenThread has nothing to do: hot threads of this system make calls that the
// Go runtime knows of.
func DeafenThread() error { return nil }

// SharpenThread has nothing to do: this system has no slack of a thread's timers.
func SharpenThread() error { return nil }

// ThreadID names the calling OS thread for ThreadCPU.
func ThreadID() int { return int(windows.GetCurrentThreadId()) }

// ThreadCPU is the CPU time that a thread of this process has used
// (GetThreadTimes).
func ThreadCPU(tid int) (time.Duration, error) {
	thread, err := windows.OpenThread(windows.THREAD_QUERY_INFORMATION, false, uint32(tid))
	if err != nil {
		return 0, fmt.Errorf("opening thread %d: %w", tid, err)
	}
	defer windows.CloseHandle(thread)
	return threadTimes(thread)
}

package traffic

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// x/sys has no wrapper for these two of kernel32.
var (
	getThreadTimes = windows.NewLazySystemDLL("kernel32.dll").NewProc("GetThreadTimes")
	getSystemTimes = windows.NewLazySystemDLL("kernel32.dll").NewProc("GetSystemTimes")
)

// CurrentThreadCPU is the CPU time of the calling OS thread.
func CurrentThreadCPU() (time.Duration, error) { return threadTimes(windows.CurrentThread()) }

func threadTimes(thread windows.Handle) (time.Duration, error) {
	var creation, exit, kernel, user windows.Filetime
	ok, _, err := getThreadTimes.Call(uintptr(thread), uintptr(unsafe.Pointer(&creation)), uintptr(unsafe.Pointer(&exit)),
		uintptr(unsafe.Pointer(&kernel)), uintptr(unsafe.Pointer(&user)))
	if ok == 0 {
		return 0, fmt.Errorf("reading a thread's CPU time: %w", err)
	}
	return span(kernel) + span(user), nil
}

// span is a length of time in a Filetime: units of 100 ns. (Its own Nanoseconds
// counts from 1970.)
func span(f windows.Filetime) time.Duration {
	return time.Duration(int64(f.HighDateTime)<<32|int64(f.LowDateTime)) * 100
}

// ThreadWait is not available on this system.
func ThreadWait(int) (time.Duration, error) {
	return 0, errors.New("this system does not say how long a thread waited for a CPU")
}

// ProcessCPU is the CPU time of this process, all its threads (GetProcessTimes).
func ProcessCPU() (user, system time.Duration) {
	var creation, exit, kernel, mine windows.Filetime
	if windows.GetProcessTimes(windows.CurrentProcess(), &creation, &exit, &kernel, &mine) != nil {
		return 0, 0 // cannot be: a process may ask for its own
	}
	return span(mine), span(kernel)
}

// HostCPU is the time that all CPUs of this host were busy, and their whole time,
// since the host started (GetSystemTimes; its kernel time holds the idle time).
func HostCPU() (busy, total time.Duration, err error) {
	var idle, kernel, user windows.Filetime
	ok, _, err := getSystemTimes.Call(uintptr(unsafe.Pointer(&idle)), uintptr(unsafe.Pointer(&kernel)), uintptr(unsafe.Pointer(&user)))
	if ok == 0 {
		return 0, 0, fmt.Errorf("reading the host's CPU time: %w", err)
	}
	total = span(kernel) + span(user)
	return total - span(idle), total, nil
}

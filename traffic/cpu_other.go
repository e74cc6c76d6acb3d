//go:build unix && !linux

package traffic

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// CurrentThreadCPU is the CPU time of the calling OS thread.
func CurrentThreadCPU() (time.Duration, error) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		return 0, fmt.Errorf("reading the thread's CPU clock: %w", err)
	}
	return time.Duration(now.Nano()), nil
}

// ThreadWait is not available on this system.
func ThreadWait(int) (time.Duration, error) {
	return 0, errors.New("this system does not say how long a thread waited for a CPU")
}

// ProcessCPU is the CPU time of this process, all its threads (getrusage).
func ProcessCPU() (user, system time.Duration) { return usage() }

// HostCPU is not available on this system without its C library.
func HostCPU() (busy, total time.Duration, err error) {
	return 0, 0, errors.New("the host's CPU time is not available: this system tells it through its C library only")
}

//go:build !linux && !windows

package traffic

import (
	"errors"
	"fmt"
	"runtime"
	"time"
)

// errNoThreads says why a thread's own clock cannot be read from outside.
var errNoThreads = errors.New("this system has no clock of another thread: read CurrentThreadCPU in the thread itself")

// PinThread refuses: this system does not bind threads to CPUs.
func PinThread(cpu int) error {
	return fmt.Errorf("pinning a hot thread to CPU %d: %s binds no threads to CPUs", cpu, runtime.GOOS)
}

// HasCPU tells whether there is such a CPU.
func HasCPU(cpu int) bool { return cpu >= 0 && cpu < runtime.NumCPU() }

// CanPin tells whether PinThread can work on this system.
func CanPin() bool { return false }

// DeafenThread has nothing to do: hot threads of this system make calls that the
// Go runtime knows of.
func DeafenThread() error { return nil }

// SharpenThread has nothing to do: this system has no slack of a thread's timers.
func SharpenThread() error { return nil }

// ThreadID is 0: this system's threads have no number that a clock takes.
func ThreadID() int { return 0 }

// ThreadCPU is not available on this system.
func ThreadCPU(int) (time.Duration, error) { return 0, errNoThreads }

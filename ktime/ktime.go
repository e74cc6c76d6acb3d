//go:build linux

// Package ktime tells of the kernel's own clocks, which are those of a process but for one in a time namespace (time_namespaces(7)):
// to such a process its clocks since boot are moved, and to BPF programs they are not. It also tells what the kernel says of another
// process's time.
package ktime

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// offsets tells by how much clocks are moved for who reads it (proc_timens_show_offsets in kernel/time/namespace.c). A kernel
// without time namespaces has no such file, and moves none.
const offsets = "/proc/self/timens_offsets"

// Clock is CLOCK_MONOTONIC as the kernel has it, which BPF programs read by bpf_ktime_get_ns.
type Clock struct{ moved time.Duration }

// Open looks by how much this process's clock is moved, which no running process can change.
func Open() Clock { return Clock{read("monotonic")} }

// Now is its time.
func (c Clock) Now() time.Duration {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) // which every kernel has
	return time.Duration(now.Nano()) - c.moved
}

// Moved is by how much the process's own CLOCK_MONOTONIC is later.
func (c Clock) Moved() time.Duration { return c.moved }

// BootMoved is by how much the process's own CLOCK_BOOTTIME is later than the kernel's, and with it the times at which /proc says that
// processes began.
func BootMoved() time.Duration { return read("boottime") }

func read(clock string) time.Duration {
	text, err := os.ReadFile(offsets)
	if err != nil {
		return 0
	}
	return offset(string(text), clock)
}

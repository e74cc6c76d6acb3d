//go:build linux

package ktime

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Tick is the unit of times in /proc/PID/stat: USER_HZ is 100 on every architecture that Linux and Go have in common.
const Tick = 10 * time.Millisecond

// Used is what all threads of a process have run, those that have ended too, by its CPU clock, whose id is made of the process's
// (clock_getcpuclockid(3); include/linux/posix-timers_types.h: CPUCLOCK_SCHED). Of one that has ended it is EINVAL or ESRCH.
func Used(pid int) (time.Duration, error) {
	const sched = 2
	var now unix.Timespec
	err := unix.ClockGettime(int32(^pid<<3|sched), &now)
	return time.Duration(now.Nano()), err
}

// Stat is the fields of /proc/PID/stat from the third on, the state; the name in the second may hold anything, so they are
// counted from its closing bracket (proc(5)).
func Stat(pid int) ([]string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return fields(string(text)), err
}

func fields(stat string) []string { return strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:]) }

package wire

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// clockTick is the unit of times in /proc/PID/stat (proc(5)): USER_HZ is 100 on every architecture that Go runs on.
const clockTick = 10 * time.Millisecond

// otherTime is the CPU time that all processes of the machine but some have used, and those that these have reaped. What
// has ended is still in it, with its parent, so that two readings tell what was used between them; what has ended
// without a parent that waits is not. Idle clocks would not do instead: on a machine whose CPUs sleep and wake
// thousands of times a second, the interrupts that wake them are nobody's, and were 5 to 8 % of a ping's time.
func otherTime(but []int) (sum time.Duration) {
	folders, _ := filepath.Glob("/proc/[0-9]*") // the pattern is good
	for _, folder := range folders {
		pid, err := strconv.Atoi(filepath.Base(folder))
		if err != nil || slices.Contains(but, pid) {
			continue
		}
		sum += cpuTime(pid) + reapedTime(pid)
	}
	return sum
}

// cpuTime reads a process's CPU clock, whose id is made of the process's (include/linux/posix-timers_types.h:
// CPUCLOCK_SCHED). It is 0 of one that has ended.
func cpuTime(pid int) time.Duration {
	var now unix.Timespec
	if unix.ClockGettime(int32(^pid<<3|2), &now) != nil {
		return 0
	}
	return time.Duration(now.Nano())
}

// reapedTime is what a process's children had used that it has waited for.
func reapedTime(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0 // it has ended
	}
	return reapedIn(string(text))
}

// reapedIn is the sum of cutime and cstime, the 16th and 17th field of proc(5), of which the second is a name in
// parentheses that may hold anything.
func reapedIn(stat string) (sum time.Duration) {
	const named = 2
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	for i := 16 - named - 1; i < 17-named && i < len(fields); i++ {
		if ticks, err := strconv.ParseInt(fields[i], 10, 64); err == nil {
			sum += time.Duration(ticks) * clockTick
		}
	}
	return sum
}

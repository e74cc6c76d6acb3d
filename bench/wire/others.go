package wire

import (
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"windtunnel/ktime"
)

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

// cpuTime is what a process has used, 0 of one that has ended.
func cpuTime(pid int) time.Duration {
	used, err := ktime.Used(pid)
	if err != nil {
		return 0
	}
	return used
}

// reapedTime is what a process's children had used that it has waited for: cutime and cstime, the 16th and 17th field of
// /proc/PID/stat (proc(5)); 0 of one that has ended.
func reapedTime(pid int) time.Duration {
	fields, err := ktime.Stat(pid)
	if err != nil {
		return 0
	}
	return reapedIn(fields)
}

func reapedIn(fields []string) (sum time.Duration) {
	const first = 3 // of the fields
	for i := 16 - first; i <= 17-first && i < len(fields); i++ {
		if ticks, err := strconv.ParseInt(fields[i], 10, 64); err == nil {
			sum += time.Duration(ticks) * ktime.Tick
		}
	}
	return sum
}

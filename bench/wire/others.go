package wire

import (
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"windtunnel/ktime"
)

// others are the processes of the machine but some, by their numbers.
type others map[int]otherTime

// otherTime is the CPU time that a process has used, and those that it has waited for.
type otherTime struct {
	used     time.Duration
	isKernel bool // a thread of the kernel's, for which nobody waits
}

func readOthers(but []int) others {
	all := others{}
	folders, _ := filepath.Glob("/proc/[0-9]*") // the pattern is good
	for _, folder := range folders {
		pid, err := strconv.Atoi(filepath.Base(folder))
		if err != nil || slices.Contains(but, pid) {
			continue
		}
		fields, err := ktime.Stat(pid)
		if err != nil { // it has ended
			continue
		}
		all[pid] = otherTime{cpuTime(pid) + reapedIn(fields), ofKernel(pid, fields)}
	}
	return all
}

// since is the CPU time that the others have used after an earlier reading. What has ended is still in it, with its parent, but for what
// has no parent that waits: of the kernel's threads that end, some in any second, all is left out, or what one had used in its life would
// be missing from what the others have used since. Idle clocks would not do instead: on a machine whose CPUs sleep and wake thousands of
// times a second, the interrupts that wake them are nobody's, and were 5 to 8 % of a ping's time.
func (o others) since(before others) (sum time.Duration) {
	for _, now := range o {
		sum += now.used
	}
	for pid, was := range before {
		if _, lives := o[pid]; lives || !was.isKernel {
			sum -= was.used
		}
	}
	return sum
}

// kthreadd begins the kernel's threads (rest_init in init/main.c).
const kthreadd = 2

func ofKernel(pid int, stat []string) bool {
	const parent = 4 - 3 // the fields begin with the third
	return pid == kthreadd || len(stat) > parent && stat[parent] == strconv.Itoa(kthreadd)
}

// cpuTime is what a process has used, 0 of one that has ended.
func cpuTime(pid int) time.Duration {
	used, err := ktime.Used(pid)
	if err != nil {
		return 0
	}
	return used
}

// reapedIn is what a process's children had used that it has waited for: cutime and cstime, the 16th and 17th field of /proc/PID/stat
// (proc(5)).
func reapedIn(fields []string) (sum time.Duration) {
	const first = 3 // of the fields
	for i := 16 - first; i <= 17-first && i < len(fields); i++ {
		if ticks, err := strconv.ParseInt(fields[i], 10, 64); err == nil {
			sum += time.Duration(ticks) * ktime.Tick
		}
	}
	return sum
}

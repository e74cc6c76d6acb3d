//go:build linux

package run

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// LocalHost looks at this machine: the CPUs that this process may use, its
// memory and kernel. Features are not looked at.
func LocalHost() (Host, error) {
	var h Host
	var set unix.CPUSet
	var info unix.Sysinfo_t
	var name unix.Utsname
	err := errors.Join(unix.SchedGetaffinity(0, &set), unix.Sysinfo(&info), unix.Uname(&name))
	if err != nil {
		return h, fmt.Errorf("looking at this host: %w", err)
	}
	for cpu := 0; len(h.CPUs) < set.Count(); cpu++ {
		if set.IsSet(cpu) {
			h.CPUs = append(h.CPUs, cpu)
		}
	}
	h.MemoryBytes = int64(info.Totalram) * int64(info.Unit)
	h.Kernel = unix.ByteSliceToString(name.Release[:])
	return h, nil
}

package measure

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// perfCount is one reading of a perf event: its count, for how long it was asked
// to count, and for how long it did, in nanoseconds.
type perfCount struct{ count, enabled, running uint64 }

// openPerf counts an event on a CPU, whoever runs there.
func openPerf(kind, event uint32, cpu int) (fd int, err error) {
	attr := unix.PerfEventAttr{
		Type:        kind,
		Size:        uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Config:      uint64(event),
		Read_format: unix.PERF_FORMAT_TOTAL_TIME_ENABLED | unix.PERF_FORMAT_TOTAL_TIME_RUNNING,
	}
	fd, err = unix.PerfEventOpen(&attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("counting perf event %d on CPU %d: %w", event, cpu, err)
	}
	return fd, nil
}

// openPerfs opens an event on every CPU, or on none.
func openPerfs(kind, event uint32, cpus []int) (map[int]int, error) {
	fds := map[int]int{}
	for _, cpu := range cpus {
		fd, err := openPerf(kind, event, cpu)
		if err != nil {
			closePerfs(fds)
			return nil, err
		}
		fds[cpu] = fd
	}
	return fds, nil
}

func closePerfs(fds map[int]int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}

func readPerf(fd int) (perfCount, error) {
	var b [24]byte
	n, err := unix.Read(fd, b[:])
	if err != nil {
		return perfCount{}, fmt.Errorf("reading a perf event: %w", err)
	}
	if n != len(b) {
		return perfCount{}, errors.New("a perf event could not be scheduled")
	}
	word := binary.NativeEndian.Uint64
	return perfCount{word(b[:]), word(b[8:]), word(b[16:])}, nil
}

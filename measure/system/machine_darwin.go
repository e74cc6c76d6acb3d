package system

import (
	"errors"
	"fmt"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// machine is this Mac. Its ports are names that the kernel counts: they are asked for once.
type machine struct {
	facts      Facts
	host, task uintptr
}

var _ Machine = machine{}

// Open looks at this machine.
func Open() (Machine, error) {
	m := machine{host: call(trampolineHostSelf, 0, 0, 0, 0, 0), task: call(trampolineTaskSelf, 0, 0, 0, 0, 0)}
	var err error
	if m.facts.MemoryBytes, err = unix.SysctlUint64("hw.memsize"); err != nil {
		return nil, fmt.Errorf("reading how much memory there is: %w", err)
	}
	m.facts.Release, _ = unix.Sysctl("kern.osproductversion")
	m.facts.Name = "macOS " + m.facts.Release
	m.facts.CPU, _ = unix.Sysctl("machdep.cpu.brand_string")
	if boot, err := unix.Sysctl("kern.bootsessionuuid"); err == nil && boot != "" {
		m.facts.Identity = "macos " + boot
	}
	times, err := m.Times()
	m.facts.CPUs = len(times)
	return m, err
}

// Facts are this machine's.
func (m machine) Facts() Facts { return m.facts }

// What host_processor_info(3) is asked for and tells (mach/processor_info.h, mach/machine.h): four counts of ticks
// a CPU.
const (
	cpuLoadInfo = 2
	stateUser   = 0
	stateSystem = 1
	stateIdle   = 2
	stateNice   = 3
	states      = 4

	tick = time.Second / 100 // kern.clockrate's hz
	most = 1024              // CPUs
)

// Times asks host_processor_info, whose answer is in memory of this process that has to be given back.
func (m machine) Times() ([]Times, error) {
	var cpus, words uint32
	var info *[most * states]uint32
	if failed := uint32(call(trampolineProcessorInfo, m.host, cpuLoadInfo, uintptr(unsafe.Pointer(&cpus)), uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(&words)))); failed != 0 {
		return nil, fmt.Errorf("reading the times of the processors: host_processor_info returned %d", failed)
	}
	defer call(trampolineDeallocate, m.task, uintptr(unsafe.Pointer(info)), uintptr(words)*unsafe.Sizeof(words), 0, 0)
	if cpus == 0 || cpus > most || words != cpus*states {
		return nil, fmt.Errorf("host_processor_info tells %d words of %d processors", words, cpus)
	}
	times := make([]Times, cpus)
	for i := range times {
		of := func(state int) time.Duration { return time.Duration(info[i*states+state]) * tick }
		times[i] = Times{Idle: of(stateIdle), User: of(stateUser) + of(stateNice), Kernel: of(stateSystem)}
	}
	return times, nil
}

// Link asks for the 64-bit counters of all interfaces (sysctl(3), NET_RT_IFLIST2).
func (machine) Link(index int) (Counters, error) {
	list, err := syscall.RouteRIB(syscall.NET_RT_IFLIST2, index)
	if err != nil {
		return Counters{}, fmt.Errorf("reading the counters of the interface %d: %w", index, err)
	}
	return linkIn(list, index)
}

// MemoryInUse is not asked for: which of macOS' kinds of pages are in use is nothing that it says.
func (machine) MemoryInUse() (uint64, error) {
	return 0, errors.New("macOS does not say how much of its memory is in use")
}

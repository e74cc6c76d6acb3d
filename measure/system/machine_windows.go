package system

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
)

// globalMemoryStatus is in kernel32 since Windows XP; x/sys has no wrapper.
var globalMemoryStatus = windows.NewLazySystemDLL("kernel32.dll").NewProc("GlobalMemoryStatusEx")

// allGroups is every processor group (winnt.h, ALL_PROCESSOR_GROUPS).
const allGroups = 0xffff

// machine is this Windows.
type machine struct{ facts Facts }

var _ Machine = machine{}

// Open looks at this machine.
func Open() (Machine, error) {
	memory, err := memoryStatus()
	if err != nil {
		return nil, err
	}
	v := windows.RtlGetVersion()
	f := Facts{Release: fmt.Sprintf("%d.%d.%d", v.MajorVersion, v.MinorVersion, v.BuildNumber), CPUs: int(windows.GetActiveProcessorCount(allGroups)), MemoryBytes: memory.total}
	f.Name = "Windows " + f.Release
	f.CPU = registryText(`HARDWARE\DESCRIPTION\System\CentralProcessor\0`, "ProcessorNameString")
	// Copies of one virtual machine may have the same GUID, and names of their own.
	guid := registryText(`SOFTWARE\Microsoft\Cryptography`, "MachineGuid")
	if name, err := windows.ComputerName(); err == nil && guid != "" {
		f.Identity = "windows " + guid + " " + name
	}
	return machine{f}, nil
}

// registryText is a text of the machine's, "" if there is none.
func registryText(path, name string) string {
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, path, registry.QUERY_VALUE|registry.WOW64_64KEY)
	if err != nil {
		return ""
	}
	defer key.Close()
	text, _, err := key.GetStringValue(name)
	if err != nil {
		return ""
	}
	return text
}

// Facts are this machine's.
func (m machine) Facts() Facts { return m.facts }

// processorTimes is SYSTEM_PROCESSOR_PERFORMANCE_INFORMATION of winternl.h, whose Reserved1 are the DPC and the
// interrupt time (as ntexapi.h of the Windows Driver Kit names them). Times are in units of 100 ns; the kernel's
// hold the other three.
type processorTimes struct {
	idle, kernel, user, deferred, interrupt int64
	interrupts                              uint32
	_                                       uint32
}

// Times asks NtQuerySystemInformation, which tells of the CPUs of one processor group: a machine of several is
// refused, rather than told in part.
func (m machine) Times() ([]Times, error) {
	n := int(windows.GetActiveProcessorCount(allGroups))
	if n == 0 {
		return nil, errors.New("Windows tells of no active processor")
	}
	all := make([]processorTimes, n)
	var told uint32
	err := windows.NtQuerySystemInformation(windows.SystemProcessorPerformanceInformation, unsafe.Pointer(&all[0]), uint32(n)*uint32(unsafe.Sizeof(all[0])), &told)
	if err != nil {
		return nil, fmt.Errorf("reading the times of the processors: %w", err)
	}
	if got := int(told) / int(unsafe.Sizeof(all[0])); got != n {
		return nil, fmt.Errorf("Windows tells the times of %d of its %d processors: those of one processor group", got, n)
	}
	times := make([]Times, n)
	for i, t := range all {
		span := func(units int64) time.Duration { return time.Duration(units) * 100 }
		times[i] = Times{Idle: span(t.idle), User: span(t.user), Kernel: span(t.kernel - t.idle - t.deferred - t.interrupt),
			Deferred: span(t.deferred), Interrupt: span(t.interrupt)}
	}
	return times, nil
}

// Link asks GetIfEntry2.
func (m machine) Link(index int) (Counters, error) {
	row := windows.MibIfRow2{InterfaceIndex: uint32(index)}
	if err := windows.GetIfEntry2Ex(windows.MibIfEntryNormal, &row); err != nil {
		return Counters{}, fmt.Errorf("reading the counters of the interface %d: %w", index, err)
	}
	return Counters{
		RxPackets: row.InUcastPkts + row.InNUcastPkts, RxBytes: row.InOctets, RxDropped: row.InDiscards, RxErrors: row.InErrors,
		TxPackets: row.OutUcastPkts + row.OutNUcastPkts, TxBytes: row.OutOctets, TxDropped: row.OutDiscards, TxErrors: row.OutErrors,
		BitsPerSecond: speedOf(row.TransmitLinkSpeed),
	}, nil
}

// speedOf is 0 where the driver does not know (ifdef.h, NDIS_LINK_SPEED_UNKNOWN).
func speedOf(bitsPerSecond uint64) float64 {
	const unknown = ^uint64(0)
	if bitsPerSecond == unknown {
		return 0
	}
	return float64(bitsPerSecond)
}

// memory is MEMORYSTATUSEX of sysinfoapi.h; sizes in bytes.
type memory struct {
	length, load     uint32
	total, available uint64
	_                [5]uint64 // of the paging file and the address space
}

func memoryStatus() (memory, error) {
	m := memory{length: uint32(unsafe.Sizeof(memory{}))}
	if ok, _, err := globalMemoryStatus.Call(uintptr(unsafe.Pointer(&m))); ok == 0 {
		return m, fmt.Errorf("reading how much memory there is: %w", err)
	}
	return m, nil
}

// MemoryInUse is what is not available.
func (machine) MemoryInUse() (uint64, error) {
	m, err := memoryStatus()
	return m.total - m.available, err
}

package command

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
)

var (
	iphlpapi      = windows.NewLazySystemDLL("iphlpapi.dll")
	tcpStatistics = iphlpapi.NewProc("GetTcpStatisticsEx")
	udpStatistics = iphlpapi.NewProc("GetUdpStatisticsEx")

	ntdll             = windows.NewLazySystemDLL("ntdll.dll")
	systemInformation = ntdll.NewProc("NtQuerySystemInformation")
	wineVersion       = ntdll.NewProc("wine_get_version")
)

// mibTCP is MIB_TCPSTATS, mibUDP MIB_UDPSTATS of iprtrmib.h.
type mibTCP struct {
	_                       [6]uint32 // timeouts, most connections, opens
	attemptFails            uint32
	_                       [2]uint32
	inSegs, outSegs, resent uint32
	_                       [3]uint32
}

type mibUDP struct{ inDatagrams, noPorts, inErrors, outDatagrams, numAddrs uint32 }

// processorTimes is SYSTEM_PROCESSOR_PERFORMANCE_INFORMATION, interruptCounts
// SYSTEM_INTERRUPT_INFORMATION of winternl.h, one for each CPU.
type processorTimes struct {
	_          [5]int64
	interrupts uint32
	_          uint32
}

type interruptCounts struct {
	_    uint32
	dpcs uint32
	_    [4]uint32
}

const (
	processorPerformance = 8
	interruptInformation = 23
)

func (c *counters) readSystem(w watched) {
	c.readHost()
	c.readStack(w)
	c.readInterrupts()
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, `HARDWARE\DESCRIPTION\System\CentralProcessor\0`, registry.QUERY_VALUE)
	if err != nil {
		c.lacks("CPU speed, and with it cycles a byte", err)
		return
	}
	defer key.Close()
	mhz, _, err := key.GetIntegerValue("~MHz")
	if err != nil {
		c.lacks("CPU speed, and with it cycles a byte", err)
	}
	c.mhz = float64(mhz)
}

func (c *counters) readInterrupts() {
	if wineVersion.Find() == nil {
		c.lacks("interrupts and DPCs", errWine)
		return
	}
	cpus := runtime.NumCPU()
	times := make([]processorTimes, cpus)
	counts := make([]interruptCounts, cpus)
	if err := query(processorPerformance, unsafe.Pointer(&times[0]), unsafe.Sizeof(times[0])*uintptr(cpus)); err != nil {
		c.lacks("interrupts", err)
	}
	if err := query(interruptInformation, unsafe.Pointer(&counts[0]), unsafe.Sizeof(counts[0])*uintptr(cpus)); err != nil {
		c.lacks("DPCs", err)
	}
	for i := range cpus {
		c.interrupts += uint64(times[i].interrupts)
		c.softirqs += uint64(counts[i].dpcs)
	}
}

// errWine: Wine answers the query for DPCs with random numbers (dlls/ntdll).
var errWine = errors.New("Wine has no such counters")

func query(class uintptr, into unsafe.Pointer, size uintptr) error {
	status, _, _ := systemInformation.Call(class, uintptr(into), size, 0)
	if status != 0 {
		return fmt.Errorf("NtQuerySystemInformation %d: %w", class, windows.NTStatus(status))
	}
	return nil
}

func (c *counters) readStack(w watched) {
	family := uintptr(windows.AF_INET)
	if w.v6 {
		family = windows.AF_INET6
	}
	var tcp mibTCP
	if status, _, _ := tcpStatistics.Call(uintptr(unsafe.Pointer(&tcp)), family); status != 0 {
		c.lacks("TCP segments", windows.Errno(status))
	}
	var udp mibUDP
	if status, _, _ := udpStatistics.Call(uintptr(unsafe.Pointer(&udp)), family); status != 0 {
		c.lacks("UDP datagrams", windows.Errno(status))
	}
	c.tcp = tcpCounters{sent: uint64(tcp.outSegs), received: uint64(tcp.inSegs), retransmitted: uint64(tcp.resent), failed: uint64(tcp.attemptFails)}
	c.udpErrors = uint64(udp.inErrors)
	if w.nic != "" || w.device != "" {
		c.lacks("one interface's packets, one device's interrupts", fmt.Errorf("they are read from Linux' /sys and /proc"))
	}
}

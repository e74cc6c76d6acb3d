// Package system samples machines that are no Linux, by what their systems count themselves: the times of
// their CPUs and the packets of their interfaces, read at the two ends of a window and subtracted. What a
// system does not tell has its reason in the sample, and never a zero.
package system

import (
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"time"

	"windtunnel/result"
)

// Source is the source of CPU times in samples of such machines: the system's own account, which Windows and
// macOS keep by the clock's tick, 10 to 16 ms apart.
const Source = "system-times"

// Facts are what a machine is.
type Facts struct {
	Name        string // of the system, with its version: Windows 10.0.22631
	Release     string // 10.0.22631
	CPU         string // its model; "": not told
	CPUs        int    // that run
	MemoryBytes uint64
	// Identity is the same in everything that runs on this machine now, and on no other one; "": not known.
	Identity string
}

// Times are what one CPU did since the machine started.
type Times struct {
	Idle, User, Kernel  time.Duration // the kernel's without the other two
	Deferred, Interrupt time.Duration // Windows' deferred procedure calls, and interrupts; 0 where they are not told apart
}

// Counters are an interface's since it came up.
type Counters struct {
	RxPackets, RxBytes, RxDropped, RxErrors uint64
	TxPackets, TxBytes, TxDropped, TxErrors uint64
	BitsPerSecond                           float64 // 0: it does not say
}

// Machine is a machine whose counters can be read.
type Machine interface {
	Facts() Facts
	// Times are those of each CPU, in the order of their numbers.
	Times() ([]Times, error)
	// Link reads an interface by its index.
	Link(index int) (Counters, error)
	// MemoryInUse is in bytes.
	MemoryInUse() (uint64, error)
}

// longestDevice is what suites' graphs take, which is what Linux does (IFNAMSIZ in include/uapi/linux/if.h).
const longestDevice = 15

// Device is an interface's name in graphs and records: its own, or "if" and its index where that has blanks or
// is long, as Windows' names for people are.
func Device(link net.Interface) string {
	usable := link.Name != "" && len(link.Name) <= longestDevice && link.Name != "." && link.Name != ".."
	for _, r := range link.Name {
		usable = usable && r > ' ' && r < 0x7f && !strings.ContainsRune("/:%", r)
	}
	if usable {
		return link.Name
	}
	return fmt.Sprintf("if%d", link.Index)
}

// ByDevice finds an interface by the name that Device gives it.
func ByDevice(name string) (net.Interface, error) {
	links, err := net.Interfaces()
	if err != nil {
		return net.Interface{}, fmt.Errorf("listing the interfaces: %w", err)
	}
	for _, link := range links {
		if Device(link) == name {
			return link, nil
		}
	}
	return net.Interface{}, fmt.Errorf("there is no interface %s by now", name)
}

// Link is an interface that is sampled.
type Link struct {
	Place  string
	Device string
	Index  int
	Role   string // result.RoleWire or RoleEndpoint
}

// Reading is every counter at one instant.
type Reading struct {
	at     time.Time
	times  []Times
	links  []Counters
	memory uint64

	timesErr, memoryErr error
	linkErrs            []error
}

// Read reads the CPUs first: what the rest costs lies in the window at its beginning only.
func Read(m Machine, links []Link) Reading {
	r := Reading{at: time.Now(), links: make([]Counters, len(links)), linkErrs: make([]error, len(links))}
	r.times, r.timesErr = m.Times()
	for i, l := range links {
		r.links[i], r.linkErrs[i] = m.Link(l.Index)
	}
	r.memory, r.memoryErr = m.MemoryInUse()
	return r
}

// untold are the probes of Linux, by their names in NodeSample.Missing, that no other system has.
var untold = []string{"context-switches", "interrupts", "softnet", "kernel-threads"}

// Between is what a machine did from one reading to a later one, of the same links. Place is the node's, whose
// stack's own counters are not read.
func Between(before, after Reading, links []Link, place string) result.NodeSample {
	s := result.NodeSample{WindowSeconds: after.at.Sub(before.at).Seconds(), Missing: map[string]string{}}
	for _, probe := range append([]string{"stack " + place}, untold...) {
		s.Missing[probe] = fmt.Sprintf("not read on %s", runtime.GOOS)
	}
	cpus, err := cpusBetween(before, after, s.WindowSeconds)
	if err != nil {
		s.Missing["cpu"], s.Missing["cpu-split"] = err.Error(), err.Error()
	} else {
		s.CPUSource, s.CPUs = Source, cpus
	}
	for i, l := range links {
		if err := errors.Join(before.linkErrs[i], after.linkErrs[i]); err != nil {
			s.Missing["link "+l.Place+"/"+l.Device] = err.Error()
			continue
		}
		sample, err := linkBetween(before.links[i], after.links[i])
		if err != nil {
			s.Missing["link "+l.Place+"/"+l.Device] = err.Error()
			continue
		}
		sample.Place, sample.Device, sample.Role = l.Place, l.Device, l.Role
		s.Links = append(s.Links, sample)
	}
	if s.MemoryBytes = after.memory; after.memoryErr != nil {
		s.MemoryBytes, s.Missing["memory"] = 0, after.memoryErr.Error()
	}
	return s
}

// cpusBetween takes what was not idle for busy: the idle time is every system's, and the classes of the rest
// are only some's.
func cpusBetween(before, after Reading, window float64) ([]result.CPUSample, error) {
	if err := errors.Join(before.timesErr, after.timesErr); err != nil {
		return nil, err
	}
	if len(before.times) != len(after.times) || len(after.times) == 0 {
		return nil, fmt.Errorf("there were %d CPUs, and then %d", len(before.times), len(after.times))
	}
	var cpus []result.CPUSample
	for i, now := range after.times {
		old := before.times[i]
		within := func(from, to time.Duration) float64 { return min(max((to-from).Seconds(), 0), window) }
		s := result.CPUSample{CPU: i, Idle: within(old.Idle, now.Idle), User: within(old.User, now.User), System: within(old.Kernel, now.Kernel),
			Softirq: within(old.Deferred, now.Deferred), IRQ: within(old.Interrupt, now.Interrupt)}
		s.Busy = window - s.Idle
		cpus = append(cpus, s)
	}
	return cpus, nil
}

func linkBetween(before, after Counters) (s result.LinkSample, err error) {
	for _, c := range []struct {
		to       *uint64
		old, now uint64
	}{
		{&s.RxPackets, before.RxPackets, after.RxPackets}, {&s.RxBytes, before.RxBytes, after.RxBytes},
		{&s.RxDropped, before.RxDropped, after.RxDropped}, {&s.RxErrors, before.RxErrors, after.RxErrors},
		{&s.TxPackets, before.TxPackets, after.TxPackets}, {&s.TxBytes, before.TxBytes, after.TxBytes},
		{&s.TxDropped, before.TxDropped, after.TxDropped}, {&s.TxErrors, before.TxErrors, after.TxErrors},
	} {
		if c.now < c.old {
			return s, errors.New("its counters went backwards: it was reset in the window")
		}
		*c.to = c.now - c.old
	}
	return s, nil
}

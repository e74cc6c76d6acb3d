// Package measure samples a node: its CPUs, links, network stacks, switches,
// memory and softnet queues. One file is one probe. A probe is read twice, at
// the two ends of a window, and the readings are subtracted; what could not be
// read leaves its reason and never a zero.
//
// Reading costs the measured CPUs well under a millisecond: files are opened
// once, in the network stack that they are about, and read again from any thread.
package measure

import (
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// Config says what belongs to a node.
type Config struct {
	CPUs     []int
	Stacks   []Stack
	Links    []Link
	Switches []Switch
	Rules    []Rule
	// Receivers are the kernel threads that receive for the interfaces of the testbed, and for nobody else.
	Receivers []int
	VMs       []VM
}

// Stack is one network stack: the node's own or a container's. Do runs a
// function on a thread inside of it; it is called by NewNode only. Sysfs is where
// that thread sees the sysfs of the stack's own devices; when it is empty, nobody
// watches whether their links went down.
type Stack struct {
	Place string
	Sysfs string
	Do    func(func() error) error
}

// Link is an interface in a stack of the node.
type Link struct {
	Place  string // of the stack
	Device string
	Role   string // result.RoleWire, RoleEndpoint or RoleInner
}

// Switch is a process that counts its drops by name and answers on a socket.
type Switch struct {
	Name   string
	Kind   string // vrouter, openvswitch
	Socket string // path of a Unix socket
}

// Node holds the probes of one node open. An open probe keeps its network stack
// alive, so Close it before the stack is to go.
type Node struct {
	config  Config
	cpu     cpuProbe
	stat    *procFile
	softnet *procFile
	memory  *procFile
	events  eventsProbe
	threads reading[packetThreads]
	// receivers are the testbed's own threads, by the CPU that each has to itself.
	receivers map[int]packetThreads
	stacks    []stackProbe
	exits     []exitsProbe // of each virtual machine
}

// Snapshot is every probe's reading at one instant.
type Snapshot struct {
	at      time.Duration // CLOCK_MONOTONIC
	config  Config
	cpu     cpuReading
	ticks   reading[statReading]
	softnet reading[map[int]softnetRow]
	memory  reading[uint64]
	events  eventsReading
	threads reading[threadTimes]
	// receivers are Node's, and receiving their times.
	receivers map[int]packetThreads
	receiving reading[threadTimes]
	stacks    map[string]stackReading
	switches  []reading[switchReading]
	rules     []reading[switchReading]
	vms       []reading[vmReading]
	exits     []reading[uint64] // of each virtual machine
}

// reading is a probe's value, or why there is none.
type reading[T any] struct {
	value T
	err   error
}

func read[T any](value T, err error) reading[T] { return reading[T]{value, err} }

// NewNode opens the probes. A probe that this machine lacks is no error here: it
// is missing from the sample, with its reason.
func NewNode(config Config) (*Node, error) {
	if len(config.CPUs) == 0 {
		return nil, fmt.Errorf("measuring a node: it has no CPUs")
	}
	for _, l := range config.Links {
		if !slices.ContainsFunc(config.Stacks, func(s Stack) bool { return s.Place == l.Place }) {
			return nil, fmt.Errorf("measuring the link %s: the node has no stack %q", l.Device, l.Place)
		}
	}
	n := &Node{
		config:  config,
		cpu:     openCPU(config.CPUs),
		stat:    openProc("/proc/stat"),
		softnet: openProc("/proc/net/softnet_stat"),
		memory:  openProc("/proc/meminfo"),
		events:  openEvents(config.CPUs),
		threads: findPacketThreads(config.CPUs),

		receivers: receiversByCPU(config.Receivers),
	}
	for _, s := range config.Stacks {
		p, err := openStack(s, config.linksOf(s.Place))
		if err != nil {
			n.Close()
			return nil, fmt.Errorf("opening the counters of the stack %s: %w", s.Place, err)
		}
		n.stacks = append(n.stacks, p)
	}
	for _, vm := range config.VMs {
		n.exits = append(n.exits, openExits(vm.PID))
	}
	return n, nil
}

// linksOf are a stack's.
func (c Config) linksOf(place string) []Link {
	var links []Link
	for _, l := range c.Links {
		if l.Place == place {
			links = append(links, l)
		}
	}
	return links
}

// Read takes a snapshot. The CPUs come first: what the other probes cost then
// lies in the window at its beginning only.
func (n *Node) Read() (Snapshot, error) {
	s := Snapshot{config: n.config, stacks: map[string]stackReading{}}
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return Snapshot{}, fmt.Errorf("reading the clock: %w", err)
	}
	s.at = time.Duration(now.Nano())
	s.cpu = n.cpu.read()
	s.ticks = read(readStat(n.stat))
	s.softnet = read(readSoftnet(n.softnet))
	s.events = n.events.read(s.ticks)
	s.threads = readPacketThreads(n.threads)
	s.receivers, s.receiving = n.receivers, read(packetThreads(n.config.Receivers).used())
	for _, p := range n.stacks {
		s.stacks[p.place] = p.read()
	}
	s.memory = read(readMemory(n.memory))
	for _, sw := range n.config.Switches {
		s.switches = append(s.switches, read(readSwitch(sw)))
	}
	for _, rule := range n.config.Rules {
		s.rules = append(s.rules, read(readRule(rule)))
	}
	for _, vm := range n.config.VMs {
		s.vms = append(s.vms, read(readVM(vm)))
	}
	for _, e := range n.exits {
		s.exits = append(s.exits, read(e.read()))
	}
	return s, nil
}

// CPUs are those of the node.
func (n *Node) CPUs() []int { return n.config.CPUs }

// Close frees the probes.
func (n *Node) Close() error {
	n.cpu.close()
	n.events.close()
	for _, f := range []*procFile{n.stat, n.softnet, n.memory} {
		f.close()
	}
	for _, s := range n.stacks {
		s.close()
	}
	for i := range n.exits {
		n.exits[i].close()
	}
	return nil
}

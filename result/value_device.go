package result

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// LayoutDevice is the fact of a cell's layout that lists the CPUs which only forward: the generator
// and the sink run on others. There is a blank between two.
const LayoutDevice = "device_cpus"

// LayoutPause is the fact of a cell's layout that tells how long a core which polls may sleep at a time
// between the packets of a measured window: part of what latency there is.
const LayoutPause = "poll_pause"

// DeviceSource is by what the busy time of the cores that forward is known.
type DeviceSource string

// The sources, best first.
const (
	DevicePolls    DeviceSource = "polling"         // by their own count of the rounds that found packets
	DeviceReceives DeviceSource = "receive-threads" // of the cell's interfaces, by the threads' clocks
	DeviceCPU      DeviceSource = "cpu"             // all that the CPUs did, whoever's work it was
)

// device is the cores that forwarded in a trial.
type device struct {
	cores  int
	busy   float64 // of them, on the mean of the window: with packets, as far as the source can tell
	full   float64 // the same, whoever's work it was
	hertz  float64 // reference cycles a second; 0: not known
	source DeviceSource
}

// deviceOf is what forwarded: cores that poll by their own count of cycles, else the CPUs
// that do nothing else.
func (c Cell) deviceOf(t Trial) (device, error) {
	if d, polls := t.polling(); polls {
		return d, nil
	}
	cpus := strings.Fields(c.Layout[LayoutDevice])
	if len(cpus) == 0 {
		return device{}, errors.New("the generator and the sink have the same CPUs as what forwards")
	}
	sum := device{source: DeviceReceives}
	for _, node := range t.Nodes {
		for _, cpu := range node.CPUs {
			if slices.Contains(cpus, strconv.Itoa(cpu.CPU)) && node.WindowSeconds > 0 {
				sum.add(cpu, node)
			}
		}
	}
	if sum.cores != len(cpus) {
		return device{}, fmt.Errorf("the CPUs that forward (%s) were not sampled", strings.Join(cpus, ", "))
	}
	if sum.source == DeviceCPU {
		sum.busy = sum.full
	}
	return sum, nil
}

// add takes a CPU of the kernel's that forwards. One without receive threads makes all of them count whole.
func (d *device) add(cpu CPUSample, node NodeSample) {
	d.cores, d.hertz = d.cores+1, node.Hertz
	d.full += cpu.Busy / node.WindowSeconds
	if cpu.Receive == nil {
		d.source = DeviceCPU
		return
	}
	d.busy += *cpu.Receive / node.WindowSeconds
}

// DeviceSource tells by what the cost of a packet on the cores that forward is known; "" where it is not.
func (c Cell) DeviceSource(t Trial) DeviceSource {
	d, err := c.deviceOf(t)
	if err != nil {
		return ""
	}
	return d.source
}

// polling adds up the cores that poll; false where there are none.
func (t Trial) polling() (sum device, polls bool) {
	for _, node := range t.Nodes {
		for _, s := range node.Switches {
			if p := s.Polling; p != nil && p.Hertz > 0 && node.WindowSeconds > 0 {
				sum.cores += p.Cores
				sum.busy += float64(p.Busy) / float64(p.Hertz) / node.WindowSeconds
				sum.hertz = float64(p.Hertz)
			}
		}
	}
	sum.full, sum.source = sum.busy, DevicePolls
	return sum, sum.cores > 0
}

// DeviceBusy is the busy share of the cores that forwarded, from 0 to 1: a CPU that is full of others' work
// has no time to spare, either.
func (c Cell) DeviceBusy(t Trial) (float64, error) {
	d, err := c.deviceOf(t)
	if err != nil {
		return 0, err
	}
	return min(1, d.full/float64(d.cores)), nil
}

// Cores is how many cores the data plane may use: those that poll, those that only
// forward, else all that the cell's nodes have, of which generator and sink use some.
func (c Cell) Cores(t Trial) (int, error) {
	if d, err := c.deviceOf(t); err == nil {
		return d.cores, nil
	}
	sum, nodes := 0, union(c.Senders(), c.Receivers())
	apart := t.apart(nodes)
	for _, name := range nodes {
		if _, _, err := t.busyCPUs(name); err != nil {
			return 0, err
		}
		sum += len(apart[name])
	}
	return sum, nil
}

// deviceValue is Value for what a packet costs the cores that forward.
func (c Cell) deviceValue(t Trial, m Metric) (float64, error) {
	rate, err := packetRate(t.Pairs, PairSample.Receivers)
	if err != nil {
		return 0, err
	}
	if m == PacketsPerCore {
		cores, err := c.Cores(t)
		return rate / float64(max(cores, 1)), err
	}
	d, err := c.deviceOf(t)
	switch {
	case err != nil:
		return 0, err
	case rate <= 0 || d.busy <= 0:
		return 0, errors.New("nothing was received")
	case m == PacketsPerBusyCore:
		return rate / d.busy, nil
	case m == DevicePacketCost:
		return 1e9 * d.busy / rate, nil
	case d.hertz == 0:
		return 0, errors.New("this machine's CPUs do not count their cycles")
	}
	return d.hertz * d.busy / rate, nil
}

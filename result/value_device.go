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

// device is the cores that forwarded in a trial.
type device struct {
	cores int
	busy  float64 // of them, on the mean of the window
	hertz float64 // reference cycles a second; 0: not known
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
	var sum device
	for _, node := range t.Nodes {
		for _, cpu := range node.CPUs {
			if slices.Contains(cpus, strconv.Itoa(cpu.CPU)) && node.WindowSeconds > 0 {
				sum.cores, sum.hertz = sum.cores+1, node.Hertz
				sum.busy += cpu.Busy / node.WindowSeconds
			}
		}
	}
	if sum.cores != len(cpus) {
		return device{}, fmt.Errorf("the CPUs that forward (%s) were not sampled", strings.Join(cpus, ", "))
	}
	return sum, nil
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
	return sum, sum.cores > 0
}

// DeviceBusy is the busy share of the cores that forwarded, from 0 to 1.
func (c Cell) DeviceBusy(t Trial) (float64, error) {
	d, err := c.deviceOf(t)
	if err != nil {
		return 0, err
	}
	return min(1, d.busy/float64(d.cores)), nil
}

// Cores is how many cores the data plane may use: those that poll, those that only
// forward, else all that the cell's nodes have, of which generator and sink use some.
func (c Cell) Cores(t Trial) (int, error) {
	if d, err := c.deviceOf(t); err == nil {
		return d.cores, nil
	}
	sum := 0
	for _, name := range union(c.Senders(), c.Receivers()) {
		_, cores, err := t.busyCPUs(name)
		if err != nil {
			return 0, err
		}
		sum += cores
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

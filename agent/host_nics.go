//go:build linux

package agent

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"sync"

	"windtunnel/agent/proto"
	"windtunnel/result"
	"windtunnel/testbed"
	"windtunnel/testbed/netns"
)

// hostNICs are the interfaces by which a real host's data goes: one for all cells, and further ones for those whose nodes are joined
// by several links.
type hostNICs struct {
	all     []*hostNIC
	refused error // why there is none
	backend *netns.Backend
	journal *journal
	mu      sync.Mutex
}

// hostNIC is one of them.
type hostNIC struct {
	way   netns.Way
	nic   netns.NIC // as it was found before it was taken
	noted bool      // in the journal, as it is in nic
}

// findNICs finds the interfaces of a real host's node, without touching them; nil for a simulated node.
func findNICs(config NodeConfig, backend *netns.Backend, notes *journal) *hostNICs {
	if len(config.Ways) == 0 {
		return nil
	}
	h := &hostNICs{backend: backend, journal: notes}
	found, err := netns.FindNICs(config.Ways)
	if err != nil {
		h.refused = err
		return h
	}
	for i, nic := range found {
		nic.Pin = filepath.Join(config.Dir, ordinal("netns", i))
		h.all = append(h.all, &hostNIC{way: config.Ways[i], nic: nic})
	}
	return h
}

// ordinal tells what is of a further interface from what is of the first one.
func ordinal(name string, i int) string {
	if i == 0 {
		return name
	}
	return name + strconv.Itoa(i+1)
}

// facts are what there is to plan with.
func (h *hostNICs) facts() (first *proto.NIC, members []proto.NIC, none string) {
	if h.refused != nil {
		return nil, nil, h.refused.Error()
	}
	var all []proto.NIC
	for _, one := range h.all {
		all = append(all, proto.NIC{NIC: one.nic.Data, Driver: one.nic.Driver, BitsPerSecond: one.nic.BitsPerSecond})
	}
	return &all[0], all[1:], ""
}

// mark adds the interfaces to a node's fingerprint.
func (h *hostNICs) mark(print result.Fingerprint) result.Fingerprint {
	if h == nil {
		return print
	}
	for i, one := range h.all {
		at := ordinal("nic", i)
		print[at+".device"], print[at+".address"] = one.nic.Device, one.nic.Data.Address
		print[at+".driver"], print[at+".mtu"] = one.nic.Driver, strconv.Itoa(one.nic.MTU)
		if one.nic.BitsPerSecond > 0 {
			print[at+".bits_per_second"] = strconv.FormatFloat(one.nic.BitsPerSecond, 'f', -1, 64)
		}
	}
	return print
}

// leave gives the interfaces back to the host's own stack, for a cell that stands there. After a failure some may be taken still.
func (h *hostNICs) leave() error {
	if h == nil {
		return errors.New("the node is simulated, and the cell is to stand in a host's own stack")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.refused != nil {
		return h.refused
	}
	return h.backend.GiveBack()
}

// take moves the interfaces that a cell's node uses into its stack, if they are not there, having noted how they were. Others that
// cells before it used stay there, unused: a NIC that goes to and fro loses its carrier for seconds.
func (h *hostNICs) take(node testbed.Node) error {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.refused != nil {
		return h.refused
	}
	for _, wanted := range node.NICs() {
		i := slices.IndexFunc(h.all, func(one *hostNIC) bool { return one.nic.Device == wanted.Device })
		if i < 0 {
			return fmt.Errorf("the cell is laid by the interface %s, which is none of those that were named for data", wanted.Device)
		}
		if err := h.takeOne(h.all[i]); err != nil {
			return err
		}
	}
	return nil
}

func (h *hostNICs) takeOne(one *hostNIC) error {
	if h.backend.Has(one.nic.Device) {
		return nil
	}
	if err := one.lookAgain(); err != nil {
		return err
	}
	if why := one.nic.Data.Fixed; why != "" {
		return errors.New(why)
	}
	if !one.noted {
		if err := h.journal.write(entry{NIC: one.nic}); err != nil {
			return err
		}
	}
	one.noted = true
	return h.backend.Take(one.nic)
}

// lookAgain has the interface put back to how it is now: it was the host's own until now, whose owner may have changed it. What
// cells were laid out by has to be as it was.
func (h *hostNIC) lookAgain() error {
	now, err := netns.FindNIC(h.way)
	if err != nil {
		return fmt.Errorf("the interface %s is not as it was when the run began: %w", h.nic.Device, err)
	}
	if was := h.nic.Data; now.Data.Device != was.Device || now.Data.Address != was.Address {
		return fmt.Errorf("the data address is %s on %s by now, and was %s on %s when the run began: run it again",
			now.Data.Address, now.Data.Device, was.Address, was.Device)
	}
	now.Pin = h.nic.Pin
	if !reflect.DeepEqual(now, h.nic) {
		h.nic, h.noted = now, false
	}
	return nil
}

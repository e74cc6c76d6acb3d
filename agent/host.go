//go:build linux

package agent

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"windtunnel/agent/proto"
	"windtunnel/result"
	"windtunnel/testbed/netns"
)

// ThisHost looks at this machine: the CPUs that this process may use, its
// memory and kernel. Features, programs and interfaces are not looked at.
func ThisHost() (proto.Host, error) {
	var h proto.Host
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

// look tells what this node's host can do, and which of the programs it lacks.
func (n *node) look(ctx context.Context, programs []string, engine string) proto.Reply {
	h, err := ThisHost()
	if err != nil {
		return refuse("%v", err)
	}
	h.CPUs = n.config.CPUs
	h.Missing, h.Programs = Missing(ctx), map[string]string{}
	for _, name := range programs {
		if _, err := netns.FindProgram(name); err != nil {
			h.Programs[name] = err.Error()
		}
	}
	if n.nic != nil {
		h.NIC, h.NoNIC = n.nic.facts()
	}
	if engine != "" && n.engines != nil {
		if h.Engine, err = n.engines.learn(ctx, engine); err != nil {
			h.NoEngine = err.Error()
		}
	}
	return proto.Reply{Host: &h}
}

// hostNIC is the interface by which a real host's data goes.
type hostNIC struct {
	way     netns.Way
	nic     netns.NIC // as it was found before it was taken
	refused error     // why there is none
	backend *netns.Backend
	journal *journal

	mu    sync.Mutex
	taken bool
	noted bool // in the journal, as it is in nic
}

// findNIC finds the interface of a real host's node, without touching it; nil for a simulated node.
func findNIC(config NodeConfig, backend *netns.Backend, notes *journal) *hostNIC {
	if config.Way == nil {
		return nil
	}
	h := &hostNIC{way: *config.Way, backend: backend, journal: notes}
	h.nic, h.refused = netns.FindNIC(h.way)
	h.nic.Pin = filepath.Join(config.Dir, "netns")
	return h
}

func (h *hostNIC) facts() (*proto.NIC, string) {
	if h.refused != nil {
		return nil, h.refused.Error()
	}
	return &proto.NIC{NIC: h.nic.Data, Driver: h.nic.Driver, BitsPerSecond: h.nic.BitsPerSecond}, ""
}

// mark adds the interface to a node's fingerprint.
func (h *hostNIC) mark(print result.Fingerprint) result.Fingerprint {
	if h == nil || h.refused != nil {
		return print
	}
	print["nic.device"], print["nic.address"] = h.nic.Device, h.nic.Data.Address
	print["nic.driver"], print["nic.mtu"] = h.nic.Driver, strconv.Itoa(h.nic.MTU)
	if h.nic.BitsPerSecond > 0 {
		print["nic.bits_per_second"] = strconv.FormatFloat(h.nic.BitsPerSecond, 'f', -1, 64)
	}
	return print
}

// leave gives the interface back to the host's own stack, for a cell that stands there.
func (h *hostNIC) leave() error {
	if h == nil {
		return errors.New("the node is simulated, and the cell is to stand in a host's own stack")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.refused != nil || !h.taken {
		return h.refused
	}
	if err := h.backend.GiveBack(); err != nil {
		return err // so it is taken still
	}
	h.taken = false
	return nil
}

// take moves the interface into the node's stack, if it is not there, having noted how it was.
func (h *hostNIC) take() error {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.refused != nil || h.taken {
		return h.refused
	}
	if err := h.lookAgain(); err != nil {
		return err
	}
	if why := h.nic.Data.Fixed; why != "" {
		return errors.New(why)
	}
	if !h.noted {
		if err := h.journal.write(entry{NIC: h.nic}); err != nil {
			return err
		}
	}
	h.taken, h.noted = true, true
	if err := h.backend.Take(h.nic); err != nil {
		h.taken = false
		return err
	}
	return nil
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

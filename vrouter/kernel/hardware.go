package kernel

import (
	"errors"
	"fmt"
	"io"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
)

// deviceXDP has a device's driver translate one of the fast path's programs, and attaches it there, before the
// driver's own XDP. The program uses the maps that it is given, so that tables and counters are those of all.
type deviceXDP interface {
	put(program string, maps func(*ebpf.CollectionSpec) map[string]*ebpf.Map, ifindex uint32) (io.Closer, error)
}

/*
driverXDP asks the kernel. It refuses a driver that translates nothing (bpf_prog_dev_bound_init in
kernel/bpf/offload.c), and a device that would have to read tables that are not its own
(bpf_offload_prog_map_match): a device's tables are arrays and hashes that the driver keeps, which no agent
could change a word at a time while packets read them.
*/
type driverXDP struct{}

func (driverXDP) put(program string, maps func(*ebpf.CollectionSpec) map[string]*ebpf.Map, ifindex uint32) (io.Closer, error) {
	spec, err := loadFast()
	if err != nil {
		return nil, fmt.Errorf("reading the fast path's programs: %w", err)
	}
	for name, p := range spec.Programs {
		if p.Ifindex = ifindex; name != program {
			delete(spec.Programs, name)
		}
	}
	loaded, err := ebpf.NewCollectionWithOptions(spec, ebpf.CollectionOptions{MapReplacements: maps(spec)})
	if err != nil {
		return nil, fmt.Errorf("loading XDP into the device: %w", err)
	}
	defer loaded.Close()
	held, err := link.AttachXDP(link.XDPOptions{Interface: int(ifindex), Program: loaded.Programs[program], Flags: link.XDPOffloadMode})
	if err != nil {
		return nil, fmt.Errorf("attaching XDP in the device: %w", err)
	}
	return held, nil
}

// inDevices is what became of the attempts to have devices run the fast path, by interface.
type inDevices struct {
	at    deviceXDP
	tried map[uint32]error // nil: its device runs it
	held  map[uint32]io.Closer
}

// SetHardware has the devices of interfaces run the fast path's programs, where it is on and the driver
// translates them, or ends that. An interface is tried once for as long as its fast path is on. The result has
// all that is asked for: nil for those whose device runs it, and else why not; packets go on as before then.
func (d *Dataplane) SetHardware(want bool, fabric uint32, fast map[uint32]Fast) (map[uint32]error, error) {
	result, h := make(map[uint32]error), &d.devices
	var failed []error
	for ifindex := range h.tried {
		if !want || !fast[ifindex].From {
			failed = append(failed, h.end(ifindex))
		}
	}
	if !want {
		return result, errors.Join(failed...)
	}
	for ifindex, f := range fast {
		if !f.From {
			result[ifindex] = fmt.Errorf("its fast path is off: %s", f.Why)
			continue
		}
		program := "vr_fast_vif"
		if ifindex == fabric {
			program = "vr_fast_fabric"
		}
		result[ifindex] = h.try(program, d.over, ifindex)
	}
	return result, errors.Join(failed...)
}

func (h *inDevices) try(program string, maps func(*ebpf.CollectionSpec) map[string]*ebpf.Map, ifindex uint32) error {
	if why, before := h.tried[ifindex]; before {
		return why
	}
	held, err := h.at.put(program, maps, ifindex)
	if h.tried == nil {
		h.tried, h.held = make(map[uint32]error), make(map[uint32]io.Closer)
	}
	if h.tried[ifindex] = err; err == nil {
		h.held[ifindex] = held
	}
	return err
}

// end takes a program out of a device.
func (h *inDevices) end(ifindex uint32) error {
	held := h.held[ifindex]
	delete(h.tried, ifindex)
	delete(h.held, ifindex)
	if held == nil {
		return nil
	}
	if err := held.Close(); err != nil {
		return fmt.Errorf("taking XDP out of the device of %s: %w", nameOf(ifindex), err)
	}
	return nil
}

// close takes all out.
func (h *inDevices) close() error {
	var failed []error
	for ifindex := range h.held {
		failed = append(failed, h.end(ifindex))
	}
	return errors.Join(failed...)
}

// OffloadsFilters tells whether an interface's driver takes filters of tc, such as flower's; else why not.
func OffloadsFilters(ifindex uint32) error {
	driver, features, err := driverOf(ifindex)
	switch on, there := features["hw-tc-offload"]; {
	case err != nil:
		return err
	case !there || !on:
		return fmt.Errorf("its driver (%s) takes no filters of tc, or is not to: hw-tc-offload is off (`ethtool -k`)", driver)
	}
	return nil
}

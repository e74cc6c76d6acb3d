package kernel

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
)

// AttachVif puts the vif program at an interface's ingress; again is no error.
func (d *Dataplane) AttachVif(ifindex uint32) error {
	return d.attach(ifindex, d.objects.VrVifIngress, "vif")
}

// AttachFabric puts the fabric program at an interface's ingress.
func (d *Dataplane) AttachFabric(ifindex uint32) error {
	return d.attach(ifindex, d.objects.VrFabricIngress, "fabric")
}

func (d *Dataplane) attach(ifindex uint32, program *ebpf.Program, role string) error {
	var err error
	switch {
	case d.links[ifindex] != nil || d.filters[ifindex] != "":
	case d.tcx:
		err = d.attachTCX(ifindex, program)
	default:
		err = attachClsact(ifindex, program, d.filterName(role))
		if err == nil {
			d.filters[ifindex] = d.filterName(role)
		}
	}
	if err != nil {
		return fmt.Errorf("attaching the %s program to interface %d: %w", role, ifindex, err)
	}
	return nil
}

func (d *Dataplane) filterName(role string) string { return "vrouter-" + role }

func (d *Dataplane) linkPath(ifindex uint32) string {
	return filepath.Join(d.folder(), "link-"+strconv.FormatUint(uint64(ifindex), 10))
}

// attachTCX takes over the pinned link of an earlier process, if it still holds the interface, by
// exchanging its program: packets meet one or the other. Else it makes a new link.
func (d *Dataplane) attachTCX(ifindex uint32, program *ebpf.Program) error {
	if d.options.Pin {
		if l := adopt(d.linkPath(ifindex), ifindex); l != nil {
			d.links[ifindex] = l
			return l.Update(program)
		}
	}
	l, err := link.AttachTCX(link.TCXOptions{Interface: int(ifindex), Program: program, Attach: ebpf.AttachTCXIngress})
	if err != nil {
		return err
	}
	if d.options.Pin {
		if err := l.Pin(d.linkPath(ifindex)); err != nil {
			l.Close()
			return fmt.Errorf("keeping it: %w", err)
		}
	}
	d.links[ifindex] = l
	return nil
}

// adopt opens a pinned link, or removes what is left of one whose interface is gone.
func adopt(path string, ifindex uint32) link.Link {
	l, err := link.LoadPinnedLink(path, nil)
	if err != nil {
		os.Remove(path)
		return nil
	}
	if info, err := l.Info(); err == nil && info.TCX() != nil && info.TCX().Ifindex == ifindex {
		return l
	}
	l.Unpin()
	l.Close()
	return nil
}

// Detach takes the program off an interface, which may be gone.
func (d *Dataplane) Detach(ifindex uint32) error {
	if name := d.filters[ifindex]; name != "" {
		delete(d.filters, ifindex)
		return detachClsact(ifindex, name)
	}
	l := d.links[ifindex]
	if l == nil {
		return nil
	}
	delete(d.links, ifindex)
	if d.options.Pin {
		if err := l.Unpin(); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("removing the link of interface %d: %w", ifindex, err)
		}
	}
	return l.Close()
}

// DetachStale takes away what an earlier process left at interfaces that are not in use any more.
func (d *Dataplane) DetachStale() error {
	entries, err := os.ReadDir(d.folder())
	if err != nil || !d.options.Pin {
		return nil
	}
	var failed []error
	for _, entry := range entries {
		kind, number, _ := strings.Cut(entry.Name(), "-")
		ifindex, err := strconv.ParseUint(number, 10, 32)
		held, ok := map[string]map[uint32]link.Link{"link": d.links, "xdp": d.xdp}[kind]
		if !ok || err != nil || held[uint32(ifindex)] != nil {
			continue
		}
		failed = append(failed, os.Remove(filepath.Join(d.folder(), entry.Name())))
	}
	return errors.Join(failed...)
}

// Delete removes a vRouter that is not running: its pins, and so its programs and tables. It says
// whether there was one.
func Delete(name string) (bool, error) {
	folder := filepath.Join(Root, name)
	if _, err := os.Stat(folder); errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	held, err := lock(folder)
	if err != nil {
		return false, err
	}
	defer held.Close()
	failed := deleteFilters(folder)
	if err := os.RemoveAll(folder); err != nil {
		failed = errors.Join(failed, fmt.Errorf("removing %s: %w", folder, err))
	}
	return true, failed
}

// deleteFilters detaches what clsact holds: pins do not.
func deleteFilters(folder string) error {
	ports, err := ebpf.LoadPinnedMap(filepath.Join(folder, "vr_ports"), nil)
	if err != nil {
		return nil // it was made in part only, and has attached nothing
	}
	defer ports.Close()
	var ifindex, vif uint32
	var failed []error
	for entries := ports.Iterate(); entries.Next(&ifindex, &vif); {
		failed = append(failed, detachClsact(ifindex, "vrouter-vif"))
	}
	if fabric := pinnedFabric(folder); fabric != 0 {
		failed = append(failed, detachClsact(fabric, "vrouter-fabric"))
	}
	return errors.Join(failed...)
}

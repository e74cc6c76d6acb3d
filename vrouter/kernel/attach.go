package kernel

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cilium/ebpf"
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
	case d.filters[ifindex] != "":
	case d.tcx:
		err = d.links.attach(ifindex, program)
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

// Detach takes the program off an interface, which may be gone.
func (d *Dataplane) Detach(ifindex uint32) error {
	if name := d.filters[ifindex]; name != "" {
		delete(d.filters, ifindex)
		return detachClsact(ifindex, name)
	}
	return d.links.detach(ifindex)
}

// DetachStale takes away what an earlier process left at interfaces that are not in use any more.
func (d *Dataplane) DetachStale() error {
	return errors.Join(d.links.removeStale(), d.xdp.removeStale())
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

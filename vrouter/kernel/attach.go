package kernel

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cilium/ebpf"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/owner"
)

// Attach puts the programs at the interfaces of the vifs and of the fabric, and takes them from those
// that have none any more. Again is no error.
func (d *Dataplane) Attach(fabric config.Attachment, vifs []config.Attachment) error {
	current := map[uint32]bool{fabric.Ifindex: true}
	d.fabric = fabric.Ifindex
	for _, vif := range vifs {
		current[vif.Ifindex] = true
		if err := d.SetPort(vif.Ifindex, vif.Vif); err != nil {
			return err
		}
		if err := d.AttachVif(vif.Ifindex); err != nil {
			return err
		}
	}
	ports, err := d.Ports()
	if err != nil {
		return fmt.Errorf("listing the ports: %w", err)
	}
	for ifindex := range ports {
		if !current[ifindex] {
			if err := errors.Join(d.Detach(ifindex), d.ClearPort(ifindex)); err != nil {
				return err
			}
		}
	}
	return d.AttachFabric(fabric.Ifindex)
}

// AttachNew puts the programs at the interfaces that have none yet. One that has a vif goes on with that,
// until Attach gives it another.
func (d *Dataplane) AttachNew(fabric config.Attachment, vifs []config.Attachment) error {
	ports, err := d.Ports()
	if err != nil {
		return fmt.Errorf("listing the ports: %w", err)
	}
	for _, vif := range vifs {
		if _, has := ports[vif.Ifindex]; !has {
			if err := d.SetPort(vif.Ifindex, vif.Vif); err != nil {
				return err
			}
		}
		if err := d.AttachVif(vif.Ifindex); err != nil {
			return err
		}
	}
	return d.AttachFabric(fabric.Ifindex)
}

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
		err = d.attachTCX(ifindex, program)
	default:
		if err = owner.Refuse(ifindex, d.nodes); err == nil {
			err = d.attachClsact(ifindex, program, d.filterName(role))
		}
		if err == nil {
			d.filters[ifindex] = d.filterName(role)
		}
	}
	if err != nil {
		return fmt.Errorf("attaching the %s program to interface %d: %w", role, ifindex, err)
	}
	return nil
}

// attachTCX looks for another vRouter before and, if the link is new, again: of two that come at once, the
// later one sees the other's.
func (d *Dataplane) attachTCX(ifindex uint32, program *ebpf.Program) error {
	held := d.holds(ifindex)
	if !held {
		if err := owner.Refuse(ifindex, d.nodes); err != nil {
			return err
		}
	}
	if err := d.links.attach(ifindex, program); err != nil || held {
		return err
	}
	if err := owner.Refuse(ifindex, d.nodes); err != nil {
		return errors.Join(err, d.links.detach(ifindex))
	}
	return nil
}

func (d *Dataplane) filterName(role string) string { return "vrouter-" + role }

// Detach takes the program off an interface, which may be gone.
func (d *Dataplane) Detach(ifindex uint32) error {
	if d.filters[ifindex] != "" {
		delete(d.filters, ifindex)
		return d.detachClsact(ifindex)
	}
	return d.links.detach(ifindex)
}

// DetachStale takes away what an earlier process left at interfaces that are not in use any more, and the
// filters of vRouters that were killed.
func (d *Dataplane) DetachStale() error {
	return errors.Join(d.links.removeStale(), d.xdp.removeStale(), d.sweepFilters())
}

// Delete removes a vRouter that is not running: its filters from this namespace, and its pins, and so its
// programs and tables. It says whether there was one.
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
	if err := refuseElsewhere(folder); err != nil {
		return true, err
	}
	if err := deleteFilters(folder); err != nil { // then the pins say still whose they are
		return true, err
	}
	if err := os.RemoveAll(folder); err != nil {
		return true, fmt.Errorf("removing %s: %w", folder, err)
	}
	return true, nil
}

// deleteFilters detaches what clsact holds: pins do not.
func deleteFilters(folder string) error {
	nodes, err := pinnedNodes(folder)
	if err != nil {
		return err
	}
	rules := filterRules{table: kernelFlower{}, cookie: cookieOf(filepath.Base(folder))}
	return errors.Join((&Dataplane{nodes: nodes}).sweepFilters(), rules.sweep())
}

package owner

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
)

// An Occupant is a vRouter's program at an interface, this one's or another's.
type Occupant struct {
	Nodes ebpf.MapID // the table of the node, by which vRouters are told apart
	Owner *Record    // nil if nothing says whose it is
	TCX   bool       // else a clsact filter holds it
}

// Dead: its process has ended, and was to take it away. A tcx link ends with its process in any case.
func (o Occupant) Dead() bool {
	return !o.TCX && o.Owner != nil && o.Owner.Pinned == 0 && !o.Owner.Lives()
}

// ProgramMaps are the tables that a program uses; none, if it is gone.
func ProgramMaps(id ebpf.ProgramID) ([]ebpf.MapID, error) {
	program, err := ebpf.NewProgramFromID(id)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("opening the BPF program %d: %w", id, err)
	}
	defer program.Close()
	info, err := program.Info()
	if err != nil {
		return nil, fmt.Errorf("reading about the BPF program %d: %w", id, err)
	}
	maps, _ := info.MapIDs()
	return maps, nil
}

// Identify tells whose a program is; ok is false if it is no vRouter's. Ours is the number of the caller's own
// table, 0 if it has none.
func Identify(id ebpf.ProgramID, ours ebpf.MapID) (o Occupant, ok bool, err error) {
	maps, err := ProgramMaps(id)
	if err != nil {
		return o, false, err
	}
	if ours != 0 && slices.Contains(maps, ours) {
		return Occupant{Nodes: ours}, true, nil
	}
	for _, id := range maps {
		if err := o.look(id); err != nil {
			return o, false, err
		}
	}
	return o, o.Nodes != 0, nil
}

// look takes out of a table what it tells of the vRouter.
func (o *Occupant) look(id ebpf.MapID) error {
	m, err := ebpf.NewMapFromID(id)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("opening the BPF map %d: %w", id, err)
	}
	defer m.Close()
	info, err := m.Info()
	if err != nil {
		return fmt.Errorf("reading about the BPF map %d: %w", id, err)
	}
	switch info.Name {
	case MapNodes:
		o.Nodes = id
	case MapRecord:
		if record, err := ReadRecord(m); err == nil { // else it is another version's, of which nothing is known
			o.Owner = &record
		}
	}
	return nil
}

// At are the vRouters' programs at an interface.
func At(ifindex uint32, ours ebpf.MapID) (found []Occupant, err error) {
	if HaveTCX() {
		at, err := link.QueryPrograms(link.QueryOptions{Target: int(ifindex), Attach: ebpf.AttachTCXIngress})
		if err != nil {
			return nil, fmt.Errorf("listing the programs of %s: %w", nameOf(ifindex), err)
		}
		for _, p := range at.Programs {
			o, ok, err := Identify(p.ID, ours)
			if err != nil {
				return nil, err
			}
			if o.TCX = true; ok {
				found = append(found, o)
			}
		}
	}
	filters, err := Filters(ifindex)
	if err != nil {
		return nil, err
	}
	for _, f := range filters {
		o, ok, err := Identify(ebpf.ProgramID(f.Id), ours)
		if err != nil {
			return nil, err
		}
		if ok {
			found = append(found, o)
		}
	}
	return found, nil
}

// Refuse refuses an interface at which another vRouter's programs are: it would be the one that gets the
// packets, or would get none any more.
func Refuse(ifindex uint32, ours ebpf.MapID) error {
	found, err := At(ifindex, ours)
	if err != nil {
		return err
	}
	for _, o := range found {
		if o.Nodes != ours && !o.Dead() {
			return occupied(nameOf(ifindex), o)
		}
	}
	return nil
}

// nameOf is for errors.
func nameOf(ifindex uint32) string {
	if device, err := net.InterfaceByIndex(int(ifindex)); err == nil {
		return device.Name
	}
	return fmt.Sprintf("interface %d", ifindex)
}

// Pins is where the kernel mode keeps what outlives its process, a folder for each vRouter.
const Pins = "/sys/fs/bpf/vrouter"

// occupied says who has an interface, and how it becomes free.
func occupied(device string, o Occupant) error {
	byHand := ""
	if !o.TCX {
		byHand = fmt.Sprintf("; should nothing be left of it, `tc filter del dev %s ingress pref 1` takes its program away", device)
	}
	if o.Owner == nil {
		return fmt.Errorf("%s is another vRouter's, of another version; end that one first%s", device, byHand)
	}
	name := o.Owner.Name()
	running := o.Owner.Lives()
	switch {
	case running && o.Owner.Pinned != 0:
		return fmt.Errorf("%s is held by the vRouter %q, which runs (process %d); end it and `vrouter delete --name %s` first", device, name, o.Owner.PID, name)
	case running:
		return fmt.Errorf("%s is held by the vRouter %q, which runs (process %d); end it first", device, name, o.Owner.PID)
	case o.Owner.Pinned == 0:
		return fmt.Errorf("%s is held by the vRouter %q, which is just ending; try again", device, name)
	}
	if _, err := os.Stat(filepath.Join(Pins, name)); err == nil {
		byHand = ""
	}
	return fmt.Errorf("%s is held by the vRouter %q, which does not run but forwards; run that one again, or `vrouter delete --name %s` first%s", device, name, name, byHand)
}

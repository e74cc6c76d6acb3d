package kernel

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"windtunnel/vrouter/owner"
)

// The kernel mode's programs have such a table.
var _ = map[bool]string{false: "", owner.MapNodes == vrMapVrNodes: "this does not compile if the names differ"}

// own says in the tables that they are this process's, and binds that to the programs at tc.
func (d *Dataplane) own() (err error) {
	if d.mark, err = owner.NewMark(d.options.Name, d.pins()); err != nil {
		return err
	}
	for _, program := range []*ebpf.Program{d.objects.VrVifIngress, d.objects.VrFabricIngress} {
		err = errors.Join(err, d.mark.Bind(program))
	}
	if err != nil {
		return err
	}
	d.nodes, err = owner.MapID(d.objects.VrNodes)
	return err
}

// refuseElsewhere guards what is pinned against a process in another network namespace: the tables name
// interfaces by numbers, which mean others there. Once no program uses them any more, since the
// interfaces are gone, or the namespace is, they are anybody's.
func refuseElsewhere(folder string) error {
	pinned, err := ebpf.LoadPinnedMap(filepath.Join(folder, owner.MapRecord), nil)
	if errors.Is(err, os.ErrNotExist) {
		return nil // it was made in part only, and has attached nothing
	}
	if err != nil {
		return fmt.Errorf("opening %s: %w", filepath.Join(folder, owner.MapRecord), err)
	}
	defer pinned.Close()
	o, err := owner.ReadRecord(pinned)
	if err != nil {
		return err
	}
	here, err := owner.NetnsCookie()
	if err != nil || o.Netns == here || o.Netns == 0 {
		return err
	}
	used, err := pinnedUsed(folder)
	if err != nil || !used {
		return err
	}
	return fmt.Errorf("the vRouter %q forwards in another network namespace, whose interfaces its tables name; run it there, or remove it there by `vrouter delete`; a vRouter here needs another name", filepath.Base(folder))
}

// pinnedUsed tells whether the pinned tables forward: a pinned link has an interface, or a filter has a
// program that uses them. Nobody may be running them.
func pinnedUsed(folder string) (bool, error) {
	nodes, err := pinnedNodes(folder)
	if err != nil || nodes == 0 {
		return false, err
	}
	used, idle, err := pinnedPrograms(folder)
	if err != nil || used {
		return used, err
	}
	for id := ebpf.ProgramID(0); ; {
		if id, err = ebpf.ProgramGetNextID(id); err != nil {
			if errors.Is(err, os.ErrNotExist) {
				return false, nil
			}
			return false, fmt.Errorf("listing the BPF programs: %w", err)
		}
		uses, err := owner.ProgramMaps(id)
		if err != nil {
			return false, err
		}
		if slices.Contains(uses, nodes) && !slices.Contains(idle, id) {
			return true, nil
		}
	}
}

// pinnedPrograms tells whether a pinned link has an interface, and which programs are held by links whose
// interfaces are gone.
func pinnedPrograms(folder string) (used bool, idle []ebpf.ProgramID, err error) {
	for _, at := range []hook{hookTCX, hookXDP} {
		pins, err := filepath.Glob(filepath.Join(folder, at.pin+"-*"))
		if err != nil {
			return false, nil, fmt.Errorf("listing what is pinned: %w", err)
		}
		for _, pin := range pins {
			l, err := link.LoadPinnedLink(pin, nil)
			if err != nil {
				return false, nil, fmt.Errorf("opening %s: %w", pin, err)
			}
			info, err := l.Info()
			l.Close()
			if err != nil {
				return false, nil, fmt.Errorf("reading about %s: %w", pin, err)
			}
			used = used || at.ifindex(info) != 0
			idle = append(idle, info.Program)
		}
	}
	return used, idle, nil
}

// pinnedNodes is the number of a pinned vRouter's table of the node, which all its programs use; 0 if
// there is none.
func pinnedNodes(folder string) (ebpf.MapID, error) {
	nodes, err := ebpf.LoadPinnedMap(filepath.Join(folder, vrMapVrNodes), nil)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("opening %s: %w", filepath.Join(folder, vrMapVrNodes), err)
	}
	defer nodes.Close()
	return owner.MapID(nodes)
}

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

// A hook is a place at an interface that a link holds a program at.
type hook struct {
	pin     string // begins the names of its pins; a change would lose those of an earlier version
	attach  func(ifindex uint32, program *ebpf.Program) (link.Link, error)
	ifindex func(*link.Info) uint32 // 0 if the link is another hook's, or its interface is gone
}

var hookTCX = hook{
	pin: "link",
	attach: func(ifindex uint32, program *ebpf.Program) (link.Link, error) {
		return link.AttachTCX(link.TCXOptions{Interface: int(ifindex), Program: program, Attach: ebpf.AttachTCXIngress})
	},
	ifindex: func(info *link.Info) uint32 {
		if tcx := info.TCX(); tcx != nil {
			return tcx.Ifindex
		}
		return 0
	},
}

// hookXDP is before the driver's GRO: in the driver, never behind it.
var hookXDP = hook{
	pin: "xdp",
	attach: func(ifindex uint32, program *ebpf.Program) (link.Link, error) {
		return link.AttachXDP(link.XDPOptions{Interface: int(ifindex), Program: program, Flags: link.XDPDriverMode})
	},
	ifindex: func(info *link.Info) uint32 {
		if xdp := info.XDP(); xdp != nil {
			return xdp.Ifindex
		}
		return 0
	},
}

// heldLinks are the links of one hook, and their pins, if they are to outlive the process.
type heldLinks struct {
	hook      hook
	pins      string // the folder; "" keeps none
	byIfindex map[uint32]link.Link
	programs  map[uint32]*ebpf.Program // that the links were given
}

func holdLinks(at hook, pins string) heldLinks {
	return heldLinks{hook: at, pins: pins, byIfindex: make(map[uint32]link.Link), programs: make(map[uint32]*ebpf.Program)}
}

func (h heldLinks) path(ifindex uint32) string {
	return filepath.Join(h.pins, h.hook.pin+"-"+strconv.FormatUint(uint64(ifindex), 10))
}

// attach takes over a link that holds the interface, also a pinned one of an earlier process, by
// exchanging its program: packets meet one or the other. Else it makes a new link. Again is no error.
func (h heldLinks) attach(ifindex uint32, program *ebpf.Program) error {
	l := h.adopt(ifindex)
	if l != nil && h.programs[ifindex] == program {
		return nil
	}
	if err := h.exchange(l, ifindex, program); err != nil {
		return err
	}
	h.programs[ifindex] = program
	return nil
}

// exchange gives a link another program, or makes it, if it is not there.
func (h heldLinks) exchange(l link.Link, ifindex uint32, program *ebpf.Program) error {
	if l != nil {
		return l.Update(program)
	}
	l, err := h.hook.attach(ifindex, program)
	if err != nil {
		return err
	}
	if h.pins != "" {
		if err := l.Pin(h.path(ifindex)); err != nil {
			l.Close()
			return fmt.Errorf("keeping it: %w", err)
		}
	}
	h.byIfindex[ifindex] = l
	return nil
}

// adopt gives the link that holds an interface, or else takes over a pinned one. It removes what is
// left of one whose interface is gone.
func (h heldLinks) adopt(ifindex uint32) link.Link {
	if l := h.byIfindex[ifindex]; l != nil || h.pins == "" {
		return l
	}
	l, err := link.LoadPinnedLink(h.path(ifindex), nil)
	if err != nil {
		os.Remove(h.path(ifindex))
		return nil
	}
	if info, err := l.Info(); err == nil && h.hook.ifindex(info) == ifindex {
		h.byIfindex[ifindex] = l
		return l
	}
	_ = end(l) // its interface is gone
	return nil
}

// detach takes the program off an interface, which may be gone.
func (h heldLinks) detach(ifindex uint32) error {
	l := h.byIfindex[ifindex]
	if l == nil {
		return nil
	}
	delete(h.byIfindex, ifindex)
	delete(h.programs, ifindex)
	if h.pins == "" {
		return l.Close()
	}
	if err := end(l); err != nil {
		return fmt.Errorf("removing the link of interface %d: %w", ifindex, err)
	}
	return nil
}

// end takes a pinned link's program off, and then its pin away: the other way round the program would stay for a
// while, because a file lets go of what it holds a grace period after it was removed (bpf_free_inode in
// kernel/bpf/inode.c), and packets would meet it after somebody was told that it is gone.
func end(l link.Link) error {
	err := l.Detach()
	if gone := l.Unpin(); !errors.Is(gone, os.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return errors.Join(err, l.Close())
}

// removeStale removes the pins of links that were not taken over.
func (h heldLinks) removeStale() error {
	if h.pins == "" {
		return nil
	}
	entries, err := os.ReadDir(h.pins)
	if err != nil {
		return fmt.Errorf("listing what is pinned: %w", err)
	}
	var failed []error
	for _, entry := range entries {
		number, ours := strings.CutPrefix(entry.Name(), h.hook.pin+"-")
		ifindex, err := strconv.ParseUint(number, 10, 32)
		if !ours || err != nil || h.byIfindex[uint32(ifindex)] != nil {
			continue
		}
		failed = append(failed, removePin(filepath.Join(h.pins, entry.Name())))
	}
	return errors.Join(failed...)
}

// removePin ends a pinned link; what is none is removed.
func removePin(path string) error {
	l, err := link.LoadPinnedLink(path, nil)
	if err != nil {
		return os.Remove(path)
	}
	return end(l)
}

// close lets go of the links: those that are pinned stay attached.
func (h heldLinks) close() error {
	var failed []error
	for _, l := range h.byIfindex {
		failed = append(failed, l.Close())
	}
	return errors.Join(failed...)
}

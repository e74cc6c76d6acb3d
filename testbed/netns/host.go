package netns

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"windtunnel/testbed"
)

// host is a node that is a real host: its interfaces for data that were taken, as they were found, and the stack in
// which those are while the run lasts. The host's own stack keeps everything else, its firewall and its
// daemons included, and the way of the control connection is not touched.
type host struct {
	nics  []NIC
	stack *Stack
}

// nic is one of the interfaces that were taken.
func (h *host) nic(device string) (NIC, bool) {
	if h == nil {
		return NIC{}, false
	}
	i := slices.IndexFunc(h.nics, func(n NIC) bool { return n.Device == device })
	if i < 0 {
		return NIC{}, false
	}
	return h.nics[i], true
}

// Take moves a host's interface into a stack that is the node's in every cell from now on; cells then
// stand one at a time. Others of the host's may follow, between cells. The stack's namespace is pinned at nic.Pin, so that the
// interface is not lost if this process dies: a physical one would fall back to the first namespace, a virtual one would be
// destroyed (default_device_exit_batch in net/core/dev.c). The caller has noted nic in its journal.
func (b *Backend) Take(nic NIC) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, taken := b.host.nic(nic.Device); taken || len(b.cells) > 0 {
		return fmt.Errorf("node %s has the interface %s already, or cells stand: take it while none does, and once", b.node, nic.Device)
	}
	if b.host == nil {
		stack, err := NewStack(b.node, b.dir)
		if err != nil {
			return err
		}
		b.host = &host{stack: stack}
		if err := errors.Join(stack.pin(b.cpus), stack.settle(false)); err != nil {
			return errors.Join(fmt.Errorf("taking the interface %s: %w", nic.Device, err), b.giveBack())
		}
	}
	b.host.nics = append(b.host.nics, nic)
	if err := nic.moveTo(b.host.stack); err != nil {
		return errors.Join(fmt.Errorf("taking the interface %s: %w", nic.Device, err), b.giveBack(nic.Device))
	}
	return nil
}

// Has tells whether a host's interface was taken, and not given back since.
func (b *Backend) Has(device string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, taken := b.host.nic(device)
	return taken
}

// GiveBack returns the host's interfaces before the end. No cell may stand with them.
func (b *Backend) GiveBack() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.cells {
		if c.host != nil {
			return fmt.Errorf("cell %s stands with the interface of node %s: take it down first", c.name, b.node)
		}
	}
	return b.giveBack()
}

// giveBack returns these of the host's interfaces, or all, and lets the stack go with the last one. Those that cannot be returned are
// taken still.
func (b *Backend) giveBack(devices ...string) error {
	if b.host == nil {
		return nil
	}
	var kept []NIC
	var failed error
	for _, n := range b.host.nics {
		if len(devices) > 0 && !slices.Contains(devices, n.Device) {
			kept = append(kept, n)
		} else if _, err := n.Return(); err != nil {
			kept, failed = append(kept, n), errors.Join(failed, err)
		}
	}
	if b.host.nics = kept; len(kept) > 0 {
		return failed
	}
	stack := b.host.stack
	b.host = nil
	return stack.Close()
}

func (n NIC) moveTo(stack *Stack) error {
	if err := os.WriteFile(n.Pin, nil, 0o600); err != nil {
		return fmt.Errorf("making %s: %w", n.Pin, err)
	}
	if err := unix.Mount(stack.Path(), n.Pin, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("keeping its network namespace at %s: %w", n.Pin, err)
	}
	there, err := netns.GetFromPath(n.Pin)
	if err != nil {
		return fmt.Errorf("opening %s: %w", n.Pin, err)
	}
	defer there.Close()
	return withLinks(func(h *handle) error {
		link, err := h.LinkByName(n.Device)
		if err != nil {
			return err
		}
		if err := h.LinkSetNsFd(link, int(there)); err != nil {
			return fmt.Errorf("moving it to a network namespace of its own (its driver may not let it): %w", err)
		}
		return nil
	})
}

// Return puts an interface back to where and how it was found, whatever became of it since it was taken, and
// removes its pin. Without a pin it is the host's already, with all that was done to it there, and was is false. A failure leaves
// the pin, which a virtual interface would be destroyed without, for another try. It is called on a
// thread of the host's own stack, by the process that took it or by one that cleans up after that.
func (n NIC) Return() (was bool, err error) {
	if _, err := os.Lstat(n.Pin); errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	err = n.fetch()
	if err == nil {
		err = n.restore()
	}
	if err == nil {
		err = await(context.Background(), heldPatience, n.unhold)
	}
	if err != nil && !errors.Is(err, errGone) {
		return true, fmt.Errorf("putting the interface %s back: %w: mend that, and `windtunnel clean` tries again (%s keeps what was taken)", n.Device, err, n.Pin)
	}
	if err = errors.Join(err, n.unpin()); err != nil {
		return true, fmt.Errorf("putting the interface %s back: %w", n.Device, err)
	}
	return true, nil
}

// errGone is of an interface that nobody has any more: its driver or its other end went.
var errGone = errors.New("it is gone, from the host and from where it was taken to")

func (n NIC) unpin() error {
	// EINVAL: nothing is mounted there, because it had not come to that.
	if err := unix.Unmount(n.Pin, unix.MNT_DETACH); err != nil && err != unix.EINVAL && err != unix.ENOENT {
		return fmt.Errorf("unmounting %s: %w", n.Pin, err)
	}
	if err := os.Remove(n.Pin); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// fetch moves the interface back, if it is in the pinned namespace.
func (n NIC) fetch() error {
	var pinned unix.Statfs_t
	if err := unix.Statfs(n.Pin, &pinned); err != nil {
		return fmt.Errorf("looking at %s: %w", n.Pin, err)
	}
	if pinned.Type != unix.NSFS_MAGIC {
		return nil // a file without a namespace: it had not come to that
	}
	there, err := netns.GetFromPath(n.Pin)
	if err != nil {
		return fmt.Errorf("opening %s: %w", n.Pin, err)
	}
	defer there.Close()
	here, err := netns.Get()
	if err != nil {
		return fmt.Errorf("finding this network namespace: %w", err)
	}
	defer here.Close()
	h, err := netlink.NewHandleAt(there, unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("looking into the network namespace at %s: %w", n.Pin, err)
	}
	defer h.Close()
	link, err := h.LinkByName(n.Device)
	if missing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := h.LinkSetNoMaster(link); err != nil {
		return fmt.Errorf("taking it from its bridge: %w", err)
	}
	if err := h.LinkSetNsFd(link, int(here)); err != nil {
		return fmt.Errorf("moving it back to the host's network namespace: %w", err)
	}
	return nil
}

// adopt configures the ends of a found wire that are this node's.
func (c *cell) adopt(l testbed.Link) error {
	for _, end := range l.Ends {
		if c.stacks[end.Place] == nil || isInPlace(c.graph, end.Place) {
			continue
		}
		if _, taken := c.host.nic(end.Device); !taken {
			return fmt.Errorf("node %s has not taken the interface %s", c.node, end.Device)
		}
		if err := c.numberQueues(end); err != nil {
			return err
		}
		if err := c.configure(end); err != nil {
			return err
		}
		if err := c.sendBy(end); err != nil {
			return err
		}
	}
	return nil
}

// release leaves such an end as the cell found it, for the next cell.
func (c *cell) release(l testbed.Link) error {
	for _, end := range l.Ends {
		stack := c.stacks[end.Place]
		nic, taken := c.host.nic(end.Device)
		if stack == nil || !taken {
			continue
		}
		err := stack.Do(func() error {
			return withLinks(func(h *handle) error {
				link, err := h.LinkByName(end.Device)
				if err != nil {
					return err
				}
				// Up, as it is not when it leaves a bond (__bond_release_one in drivers/net/bonding/bond_main.c): a virtual
				// pair takes no word of its NAPI threads while it has no NAPI.
				return errors.Join(bare(h, link), h.up(end.Device), nic.reset(stack.sysfs))
			})
		})
		if err != nil {
			return fmt.Errorf("releasing %s/%s: %w", end.Place, end.Device, err)
		}
	}
	return nil
}

// sweep removes every interface but those taken from the stack that they are in: what cells had is gone with them, so these are what their
// programs left. Open vSwitch's taps outlast it unless it is told to remove them (netdev_linux_construct_tap in
// lib/netdev-linux.c), which nobody can tell one that was killed.
func (h *host) sweep() error {
	return h.stack.Do(func() error {
		return withLinks(func(l *handle) error {
			links, err := l.LinkList()
			for _, link := range links {
				name := link.Attrs().Name
				if _, taken := h.nic(name); !taken && link.Attrs().Flags&net.FlagLoopback == 0 {
					err = errors.Join(err, l.delete(name)) // of those that the kernel has in every stack (tunl0, say) it keeps them, and says nothing
				}
			}
			return err
		})
	})
}

// bare takes from an interface what a cell, or a program of its that was killed, may have left on it.
func bare(h *handle, link netlink.Link) error {
	err := h.LinkSetNoMaster(link)
	err = errors.Join(err, setAddresses(h, link, testbed.Interface{}))
	if xdp := link.Attrs().Xdp; xdp != nil && xdp.Attached {
		err = errors.Join(err, netlink.LinkSetXdpFd(link, -1))
	}
	qdisc := &netlink.GenericQdisc{QdiscType: "clsact", QdiscAttrs: netlink.QdiscAttrs{
		LinkIndex: link.Attrs().Index, Handle: netlink.MakeHandle(0xffff, 0), Parent: netlink.HANDLE_CLSACT}}
	if gone := h.QdiscDel(qdisc); gone != nil && gone != unix.EINVAL && gone != unix.ENOENT {
		err = errors.Join(err, fmt.Errorf("removing its clsact qdisc: %w", gone))
	}
	return err
}

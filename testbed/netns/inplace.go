package netns

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"slices"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"windtunnel/testbed"
)

// isInPlace tells whether a place of a graph is a real host's own stack, in which nothing is made or set.
func isInPlace(g testbed.Graph, place string) bool {
	node, _ := g.Node(place)
	return node.InPlace
}

// addHost makes the stack of the calling thread, which is the host's own, the node's.
func (c *cell) addHost(place string) error {
	if c.host != nil {
		return fmt.Errorf("the interface %s is in a stack of its own, and the cell needs it in the host's: give it back first", c.host.nics[0].Device)
	}
	here, err := netns.Get()
	if err != nil {
		return fmt.Errorf("finding the host's network namespace: %w", err)
	}
	defer here.Close()
	stack, err := JoinStack(place, filepath.Dir(c.dir), fmt.Sprintf("/proc/self/fd/%d", here))
	if err != nil {
		return err
	}
	c.stacks[place] = stack
	return stack.pin(c.cpus)
}

// differsInPlace says why a host's interface will not do for a cell as it is. It is called on a thread of the host's own
// stack.
func differsInPlace(part testbed.Graph, p testbed.Interface) error {
	return withLinks(func(h *handle) error {
		device, err := h.LinkByName(p.Device)
		if err != nil {
			return fmt.Errorf("the host's interface %s: %w", p.Device, err)
		}
		attrs := device.Attrs()
		if attrs.RawFlags&unix.IFF_UP == 0 || attrs.RawFlags&unix.IFF_LOWER_UP == 0 {
			return fmt.Errorf("%s/%s: %w", p.Place, p.Device, errNoCarrier)
		}
		if attrs.MTU < p.MTU {
			return fmt.Errorf("the host's interface %s has the MTU %d by now, and the cell was laid for %d", p.Device, attrs.MTU, p.MTU)
		}
		for _, far := range farAddresses(part, p) {
			if err := leavesBy(h, device, p, far); err != nil {
				return err
			}
		}
		return nil
	})
}

// farAddresses are those of the wire's other end.
func farAddresses(part testbed.Graph, p testbed.Interface) (all []netip.Addr) {
	for _, l := range part.Links {
		for i, end := range l.Ends {
			if end.Place != p.Place || end.Device != p.Device {
				continue
			}
			for _, text := range l.Ends[1-i].Addresses {
				if prefix, err := netip.ParsePrefix(text); err == nil {
					all = append(all, prefix.Addr())
				}
			}
		}
	}
	return all
}

// leavesBy refuses an interface that has lost its address, or by which the other node is not reached any more: data
// would go another way, which may be the one of the control connection.
func leavesBy(h *handle, device netlink.Link, p testbed.Interface, far netip.Addr) error {
	have, err := addresses(h, device)
	if err != nil {
		return err
	}
	var names []string
	for _, a := range have {
		names = append(names, a.IPNet.String())
	}
	for _, want := range p.Addresses {
		if !slices.Contains(names, want) {
			return fmt.Errorf("the host's interface %s has the addresses %v by now, and not %s", p.Device, names, want)
		}
	}
	found, err := h.RouteGet(net.IP(far.AsSlice()))
	if err == nil && len(found) == 0 {
		err = errors.New("none")
	}
	if err != nil {
		return fmt.Errorf("finding the host's route to %s: %w", far, err)
	}
	if found[0].LinkIndex != device.Attrs().Index {
		return fmt.Errorf("data to %s would leave by the interface %d, and not by %s", far, found[0].LinkIndex, p.Device)
	}
	return nil
}

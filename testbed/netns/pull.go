package netns

import (
	"fmt"
	"slices"

	"github.com/vishvananda/netlink"

	"windtunnel/testbed"
)

// Pull takes a link's end of this node down, by which the other end loses its carrier, as it does when a cable is
// pulled, or brings it up again. A virtual pair that comes up has new receive threads, so they are set up anew.
func (b *Backend) Pull(cell, place, device string, down bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.cells[cell]
	if c == nil || c.stacks[place] == nil {
		return fmt.Errorf("%s of cell %q does not stand on node %s", place, cell, b.node)
	}
	all := c.graph.Interfaces()
	i := slices.IndexFunc(all, func(p testbed.Interface) bool { return p.Place == place && p.Device == device })
	if i < 0 {
		return fmt.Errorf("%s/%s is no end of a link", place, device)
	}
	if !down {
		if err := c.setPort(up, all[i]); err != nil {
			return fmt.Errorf("plugging %s/%s in again: %w", place, device, err)
		}
		return c.steerEnd(all[i])
	}
	return c.onDevice(all[i], func(h *handle, d netlink.Link, _ testbed.Interface) error {
		if err := h.LinkSetDown(d); err != nil {
			return fmt.Errorf("pulling the cable of %s/%s: %w", place, device, err)
		}
		return nil
	})
}

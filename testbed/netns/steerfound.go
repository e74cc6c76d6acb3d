package netns

import (
	"fmt"
	"slices"

	"windtunnel/testbed"
)

// SteerFound brings the receive work of virtual pairs in a cell's node, which something else than its
// graph has made there, to the node's CPUs, for the reason that datapath.Layout.Container gives.
func (b *Backend) SteerFound(cell string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.cells[cell]
	if c == nil || c.stacks[b.node] == nil {
		return fmt.Errorf("cell %q does not stand on node %s", cell, b.node)
	}
	stack, ours := c.stacks[b.node], ports(c.graph)
	return stack.Do(func() error {
		return withLinks(func(h *handle) error {
			links, err := h.LinkList()
			if err != nil {
				return fmt.Errorf("listing the devices of %s: %w", b.node, err)
			}
			for _, link := range links {
				name := link.Attrs().Name
				known := slices.ContainsFunc(ours, func(p testbed.Interface) bool { return p.Place == b.node && p.Device == name })
				if link.Type() != "veth" || known {
					continue
				}
				if err := steerRPS(stack.device(name), true, c.cpus); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
			return nil
		})
	})
}

package netns

import (
	"context"
	"fmt"
	"slices"

	"windtunnel/testbed"
)

// remove takes away one object of the graph that stood. What is gone, or was
// never made, is removed already.
func (c *cell) remove(change testbed.Change, have testbed.Graph) error {
	switch change.Kind {
	case testbed.KindDaemon:
		return c.removeDaemon(change.Name)
	case testbed.KindVXLAN:
		v := byName(have.VXLANs, change.Name, func(v testbed.VXLAN) string { return v.Name })
		return c.removeDevice(v.Node, v.Device)
	case testbed.KindLink:
		l := byName(have.Links, change.Name, func(l testbed.Link) string { return l.Name })
		if l.Kind == testbed.WireNetwork {
			return c.release(l)
		}
		// Either end takes the other along. A wire belongs to its first
		// end's node, which may have made it anew by now: the other node
		// leaves it alone.
		if _, _, ok := have.InVM(l.Ends[0].Place); ok {
			return c.removeDevice(l.Ends[1].Place, l.Ends[1].Device)
		}
		return c.removeDevice(l.Ends[0].Place, l.Ends[0].Device)
	case testbed.KindBridge:
		b := byName(have.Bridges, change.Name, func(b testbed.Bridge) string { return b.Name })
		return c.removeDevice(b.Node, b.Device)
	case testbed.KindBond:
		b := byName(have.Bonds, change.Name, func(b testbed.Bond) string { return b.Name })
		return c.removeDevice(b.Node, b.Device)
	case testbed.KindRoute:
		return c.removeRoute(byName(have.Routes, change.Name, func(m testbed.Multipath) string { return m.Name }))
	case testbed.KindContainer:
		return c.removeStack(change.Name)
	}
	return nil // a node's stack goes with the cell
}

func (c *cell) removeDevice(place, device string) error {
	stack := c.stacks[place]
	if stack == nil {
		return nil
	}
	return stack.Do(func() error {
		return withLinks(func(h *handle) error { return h.delete(device) })
	})
}

func (c *cell) removeStack(place string) error {
	stack := c.stacks[place]
	if stack == nil {
		return nil
	}
	delete(c.stacks, place)
	return stack.Close()
}

// make makes one object with all its attributes.
func (c *cell) make(ctx context.Context, change testbed.Change, want testbed.Graph) error {
	switch change.Kind {
	case testbed.KindContainer:
		// Its stack may be one that an earlier removal in this very diff
		// has closed.
		return c.place(want)
	case testbed.KindBridge:
		b := byName(want.Bridges, change.Name, func(b testbed.Bridge) string { return b.Name })
		return c.here(b.Node, func() error { return c.makeBridge(b) })
	case testbed.KindBond:
		b := byName(want.Bonds, change.Name, func(b testbed.Bond) string { return b.Name })
		return c.here(b.Node, func() error { return c.makeBond(b) })
	case testbed.KindLink:
		return c.makeLink(ctx, byName(want.Links, change.Name, func(l testbed.Link) string { return l.Name }))
	case testbed.KindVXLAN:
		v := byName(want.VXLANs, change.Name, func(v testbed.VXLAN) string { return v.Name })
		return c.here(v.Node, func() error { return c.makeVXLAN(v) })
	case testbed.KindRoute:
		m := byName(want.Routes, change.Name, func(m testbed.Multipath) string { return m.Name })
		return c.here(m.Node, func() error { return c.makeRoute(m) })
	case testbed.KindDaemon:
		d := byName(want.Daemons, change.Name, func(d testbed.Daemon) string { return d.Name })
		return c.here(d.Node, func() error { return c.makeDaemon(ctx, d) })
	}
	return nil // a node's stack stands since place
}

// here does what is this node's to do.
func (c *cell) here(node string, do func() error) error {
	if c.stacks[node] == nil {
		return nil
	}
	return do()
}

// set changes one attribute of a living object.
func (c *cell) set(ctx context.Context, change testbed.Change, want testbed.Graph) error {
	if change.Kind == testbed.KindNode {
		return c.here(change.Name, func() error { return c.repin(want) })
	}
	if c.stacks[change.Place] == nil {
		return nil // another node's
	}
	for _, p := range ports(want) {
		if p.Place == change.Place && p.Device == change.Device {
			return c.setPort(change.Attribute, p)
		}
	}
	return fmt.Errorf("no device %s/%s in the graph", change.Place, change.Device)
}

// repin brings stacks, receive work and daemons to the node's CPUs of now.
func (c *cell) repin(want testbed.Graph) error {
	for _, stack := range c.stacks {
		if err := stack.pin(c.cpus); err != nil {
			return err
		}
	}
	for _, d := range c.daemons {
		if err := d.pin(c.cpus); err != nil {
			return err
		}
	}
	for _, end := range want.Interfaces() {
		if err := c.steerEnd(end); err != nil {
			return err
		}
	}
	return nil
}

func byName[T any](all []T, name string, of func(T) string) T {
	i := slices.IndexFunc(all, func(one T) bool { return of(one) == name })
	return all[i]
}

// ports lists every device of a graph as an interface: ends of links, bridges, bonds and
// VXLAN devices.
func ports(g testbed.Graph) []testbed.Interface {
	all := g.Interfaces()
	for _, b := range g.Bridges {
		all = append(all, testbed.Interface{Place: b.Node, Device: b.Device, MTU: b.MTU, Offloads: b.Offloads, Addresses: b.Addresses})
	}
	for _, b := range g.Bonds {
		all = append(all, bondPort(b))
	}
	for _, v := range g.VXLANs {
		all = append(all, testbed.Interface{
			Place: v.Node, Device: v.Device, MTU: v.MTU, Bridge: v.Bridge, Offloads: v.Offloads,
		})
	}
	return all
}

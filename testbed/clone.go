package testbed

import (
	"maps"
	"slices"
)

// Clone returns a copy of g that shares nothing with it: a backend keeps what
// stands while its caller lays the next graph.
func (g Graph) Clone() Graph {
	g.Nodes = each(g.Nodes, func(n *Node) {
		n.CPUs, n.Exec, n.Devices = slices.Clone(n.CPUs), slices.Clone(n.Exec), slices.Clone(n.Devices)
		if n.NIC != nil {
			nic := *n.NIC
			n.NIC = &nic
		}
		n.Members = slices.Clone(n.Members)
		if n.Engine != nil {
			engine := *n.Engine
			n.Engine = &engine
		}
	})
	g.Containers = slices.Clone(g.Containers)
	g.Bridges = each(g.Bridges, func(b *Bridge) { b.Offloads, b.Addresses = maps.Clone(b.Offloads), slices.Clone(b.Addresses) })
	g.Bonds = each(g.Bonds, func(b *Bond) { b.Offloads = maps.Clone(b.Offloads) })
	g.Routes = each(g.Routes, func(m *Multipath) { m.Hops = slices.Clone(m.Hops) })
	g.Links = each(g.Links, func(l *Link) {
		if l.Pull != nil {
			pull := *l.Pull
			l.Pull = &pull
		}
		for i := range l.Ends {
			l.Ends[i] = l.Ends[i].clone()
		}
	})
	g.VXLANs = each(g.VXLANs, func(v *VXLAN) { v.Offloads = maps.Clone(v.Offloads) })
	g.Daemons = each(g.Daemons, func(d *Daemon) { *d = d.clone() })
	g.Ports = each(g.Ports, func(p *Port) { p.CPUs = slices.Clone(p.CPUs) })
	g.VMs = each(g.VMs, func(v *VM) { *v = v.clone() })
	g.Engines = each(g.Engines, func(e *Engine) { *e = e.clone() })
	return g
}

func (i Interface) clone() Interface {
	i.Addresses, i.Routes = slices.Clone(i.Addresses), slices.Clone(i.Routes)
	i.Destinations = slices.Clone(i.Destinations)
	i.Offloads, i.CPUs = maps.Clone(i.Offloads), slices.Clone(i.CPUs)
	return i
}

func each[T any](all []T, deepen func(*T)) []T {
	all = slices.Clone(all)
	for i := range all {
		deepen(&all[i])
	}
	return all
}

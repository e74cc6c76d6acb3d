package testbed

// Part returns what of g one node has to make: its own stack and containers, and
// every link that has an end on it. The other end's place is then unknown to the
// part, which is how a backend tells a wire from a link of its own.
func (g Graph) Part(node string) Graph {
	return Graph{
		Cell:       g.Cell,
		Nodes:      keep(g.Nodes, func(n Node) bool { return n.Name == node }),
		Containers: keep(g.Containers, func(c Container) bool { return c.Node == node }),
		Bridges:    keep(g.Bridges, func(b Bridge) bool { return b.Node == node }),
		Bonds:      keep(g.Bonds, func(b Bond) bool { return b.Node == node }),
		Links: keep(g.Links, func(l Link) bool {
			return g.NodeOf(l.Ends[0].Place) == node || g.NodeOf(l.Ends[1].Place) == node
		}),
		VXLANs:  keep(g.VXLANs, func(v VXLAN) bool { return v.Node == node }),
		Daemons: keep(g.Daemons, func(d Daemon) bool { return d.Node == node }),
		Ports:   keep(g.Ports, func(p Port) bool { return g.NodeOf(p.Place) == node }),
		Routes:  keep(g.Routes, func(m Multipath) bool { return m.Node == node }),
		Engines: keep(g.Engines, func(e Engine) bool { return e.Node == node }),
		VMs:     keep(g.VMs, func(v VM) bool { return v.Node == node }),
	}
}

// Builds tells whether it has anything that would have to be made, beside its links, which may be there already.
func (g Graph) Builds() bool {
	return len(g.Containers)+len(g.Bridges)+len(g.Bonds)+len(g.VXLANs)+len(g.Daemons)+len(g.Ports)+len(g.Routes)+len(g.Engines)+len(g.VMs) > 0
}

func keep[T any](all []T, wanted func(T) bool) []T {
	var kept []T
	for _, one := range all {
		if wanted(one) {
			kept = append(kept, one)
		}
	}
	return kept
}

// Places lists the names of every place: nodes first, then containers, an engine's behind them, and
// VMs' interfaces last.
func (g Graph) Places() []string {
	places := g.Stacks()
	for _, e := range g.Engines {
		for _, c := range e.Containers {
			places = append(places, c.Name)
		}
	}
	for _, v := range g.VMs {
		for _, n := range v.NICs {
			places = append(places, n.Place)
		}
	}
	return places
}

// Stacks lists the places whose network stacks the testbed makes itself.
func (g Graph) Stacks() []string {
	var places []string
	for _, n := range g.Nodes {
		places = append(places, n.Name)
	}
	for _, c := range g.Containers {
		places = append(places, c.Name)
	}
	return places
}

// Interfaces are those of the link's ends that are interfaces.
func (l Link) Interfaces() []Interface {
	if l.Kind == LinkTap {
		return l.Ends[:1]
	}
	return l.Ends[:]
}

// Interfaces lists every end of every link.
func (g Graph) Interfaces() []Interface {
	var all []Interface
	for _, l := range g.Links {
		all = append(all, l.Interfaces()...)
	}
	return all
}

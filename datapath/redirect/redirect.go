// Package redirect is the floor of what the kernel's switches cost: filters at tc that
// take every packet from one interface to the other and look at none.
package redirect

import (
	"strings"

	"windtunnel/datapath"
	"windtunnel/result"
	"windtunnel/testbed"
)

// Path lays a redirection between two interfaces on each node.
type Path struct{}

var _ datapath.Path = Path{}

// OverHosts says that real hosts will do.
func (Path) OverHosts() {}

// Name is the suite's word.
func (Path) Name() string { return "redirect" }

// Says describes it.
func (Path) Says() string {
	return "one container a node (or two on one), its interface joined to the other by tc's redirection: the floor of the kernel's switches"
}

// Options are none.
func (Path) Options() []result.Option { return nil }

// Programs is tc, and what has a NIC take every frame.
func (Path) Programs() []datapath.Program {
	const install = "apt-get install iproute2"
	return []datapath.Program{{Name: "tc", Install: install}, {Name: "ip", Install: install}}
}

// Lay joins two interfaces on each node: a container's and the wire's, or two containers'.
func (p Path) Lay(r datapath.Request) (datapath.Laid, error) {
	l, err := datapath.Begin(p.Name(), r)
	if err != nil {
		return datapath.Laid{}, err
	}
	containers, err := l.Between("interfaces", nil)
	if err != nil {
		return datapath.Laid{}, err
	}
	for _, node := range l.Graph.Nodes {
		join(l, node.Name, containers)
	}
	return l.Finish(r.Wire.MTU)
}

// join redirects what each of a node's two interfaces receives to the other one. The
// filter is u32, of all packets, which older kernels have as well. A real host's NIC drops frames for others unless it is told to take
// them, which a bridge does by itself for its ports; how it was comes back when the cell leaves it.
func join(l *datapath.Layout, node string, containers []result.Place) {
	devices, _ := l.Sides(node, containers)
	var commands []testbed.Command
	run := func(program, words string) {
		commands = append(commands, testbed.Command{Program: program, Args: strings.Fields(words)})
	}
	for i, device := range devices {
		run("tc", "qdisc add dev "+device+" clsact")
		run("tc", "filter add dev "+device+" ingress protocol all u32 match u32 0 0 action mirred egress redirect dev "+devices[1-i])
	}
	if n, _ := l.Graph.Node(node); n.NIC != nil {
		run("ip", "link set dev "+n.NIC.Device+" promisc on")
	}
	l.Graph.Daemons = append(l.Graph.Daemons, testbed.Daemon{Name: "redirect-" + node, Node: node, Drawn: "TC", Before: commands})
}

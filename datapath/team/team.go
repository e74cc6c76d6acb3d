// Package team is the path over several links at once, as a converged host has it: containers on one bridge a node,
// and behind it a team of links, of which each flow takes one. The members are joined by a route over all of them
// (ECMP), which every kernel has, and nodes route between their bridges; or by a bonding device, a port of the bridge.
package team

import (
	"cmp"
	"fmt"
	"net/netip"
	"strconv"

	"windtunnel/datapath"
	"windtunnel/result"
	"windtunnel/testbed"
)

// Path lays containers behind teams.
type Path struct{}

var _ datapath.Path = Path{}

const (
	optionMembers = "members"
	optionPull    = "pull"
	optionBy      = "by"
	byRoute       = "route"
	byBond        = "bond"
	most          = 8 // members
	// pulledFrom and pulledTo are when a cable is pulled, as shares of the window.
	pulledFrom = 0.25
	pulledTo   = 0.75
)

// Name is the suite's word.
func (Path) Name() string { return "team" }

// Says describes it.
func (Path) Says() string {
	return "containers behind a Linux bridge on each node, and behind it a team of links: a route over all (ECMP), or a bond"
}

// Options are how many links there are, and whether one is pulled.
func (Path) Options() []result.Option {
	return []result.Option{{
		Name: optionMembers, Type: result.Count, Min: 2, Max: most, Default: int64(2),
		Says: "links between the nodes; each flow takes one, by its addresses and ports",
	}, {
		Name: optionPull, Type: result.Switch, Default: false,
		Says: "the first link's cable is pulled at the receiver's node in the middle half of every window: what that costs is the outage, for one flow of datagrams at a rate",
	}, {
		Name: optionBy, Type: result.Word, Words: []string{byRoute, byBond}, Default: byRoute,
		Says: "what joins the links: a route over them, which every kernel has, or a bonding device (balance-xor, layer3+4), at whose members' carriers the kernel looks every 100 ms",
	}}
}

// Lay routes between the two nodes' bridges.
func (p Path) Lay(r datapath.Request) (datapath.Laid, error) {
	l, err := datapath.Begin(p.Name(), r)
	if err != nil {
		return datapath.Laid{}, err
	}
	containers, err := l.Containers()
	if err != nil {
		return datapath.Laid{}, err
	}
	if !l.Joined() {
		return datapath.Laid{}, l.Errorf("both ends are on node %s, and a team joins two: use two nodes, or the path bridge", containers[0].Node)
	}
	members := int(r.Options.Int(optionMembers))
	if members == 0 {
		members = 2
	}
	pull := r.Options.Bool(optionPull)
	if pull && len(r.Pairs) != 1 {
		return datapath.Laid{}, l.Errorf("a link is pulled for one flow, and it has %d pairs: take one", len(r.Pairs))
	}
	by := cmp.Or(r.Options.Text(optionBy), byRoute)
	join := p.routed
	if by == byBond {
		join = p.bonded
	}
	if err := join(l, containers, members); err != nil {
		return datapath.Laid{}, err
	}
	if pull {
		first := &l.Graph.Links[0]
		first.Pull = &testbed.Pull{Node: r.Pairs[0].To.Node, From: pulledFrom, To: pulledTo}
	}
	l.Fact("members", strconv.Itoa(members))
	l.Fact("joined by", by)
	return l.Finish(r.Wire.MTU)
}

// routed joins the links by a route over all of them, and gives each node's containers a subnet of their own.
func (p Path) routed(l *datapath.Layout, containers []result.Place, members int) error {
	for i, node := range l.Graph.Nodes {
		l.Bridge(node.Name, l.Request.Wire.MTU, datapath.Within(behind(i), gateway(i)))
	}
	if err := l.Wires(members, func(end *testbed.Interface, member int) {
		end.Addresses = []string{datapath.Within(between(member), l.Member(between(member), end.Place))}
	}); err != nil {
		return err
	}
	for i, place := range containers {
		p.container(l, i, place)
	}
	p.route(l, members)
	return nil
}

// monitor is how often a bond looks at carriers, in milliseconds, which is what the kernel's documentation begins with
// (Documentation/networking/bonding.rst, miimon).
const monitor = 100

// bonded joins them by a bond on each node, a port of its bridge, so that all containers are in one subnet. Members have one MAC,
// as the bond gives it to them.
func (Path) bonded(l *datapath.Layout, containers []result.Place, members int) error {
	bond := func(node string) string { return "team-" + node }
	for _, node := range l.Graph.Nodes {
		l.Bridge(node.Name, l.Request.Wire.MTU)
		l.Graph.Bonds = append(l.Graph.Bonds, testbed.Bond{
			Name: bond(node.Name), Node: node.Name, Device: "bond0", MTU: l.Request.Wire.MTU,
			Bridge: datapath.BridgeName(node.Name), MonitorMilliseconds: monitor,
		})
	}
	if err := l.Wires(members, func(end *testbed.Interface, _ int) {
		end.Bridge, end.MAC = bond(end.Place), datapath.MAC(0, l.Node(end.Place))
	}); err != nil {
		return err
	}
	for i, place := range containers {
		l.OnSegment(place, i, l.Request.Wire.MTU).Bridge = datapath.BridgeName(place.Node)
	}
	return nil
}

// behind is the subnet of the i-th node's containers, and gateway the node in it.
func behind(i int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 1, byte(i + 1), 0}), 24)
}

func gateway(i int) netip.Addr { return datapath.Host(behind(i), 1) }

// between is the subnet of a member's two ends.
func between(member int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{172, 16, byte(100 + member), 0}), 24)
}

// container adds one at its node's bridge, with a route to the other node's.
func (Path) container(l *datapath.Layout, i int, place result.Place) {
	home := 0
	if l.Graph.Nodes[1].Name == place.Node {
		home = 1
	}
	address := datapath.Host(behind(home), datapath.Containers+i)
	l.Container(place, behind(home), address, l.Request.Wire.MTU).Bridge = datapath.BridgeName(place.Node)
	inside := &l.Graph.Links[len(l.Graph.Links)-1].Ends[0]
	inside.Routes = []testbed.Route{{Prefix: behind(1 - home).String(), Gateway: gateway(home).String()}}
}

// route leads from each node to the other's containers, over every member.
func (Path) route(l *datapath.Layout, members int) {
	for i, node := range l.Graph.Nodes {
		other := l.Graph.Nodes[1-i].Name
		m := testbed.Multipath{Name: "team-" + node.Name, Node: node.Name, Prefix: behind(1 - i).String()}
		for member := range members {
			m.Hops = append(m.Hops, testbed.Hop{
				Device: fmt.Sprintf("nic%d", member), Gateway: l.Member(between(member), other).String(),
			})
		}
		l.Graph.Routes = append(l.Graph.Routes, m)
	}
}

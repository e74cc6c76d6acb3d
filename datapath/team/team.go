// Package team is the path over several links at once, as a converged host has it: containers on one bridge a node,
// and behind it a team of links, of which each flow takes one. The members are joined by a route over all of them
// (ECMP), which every kernel has, and nodes route between their bridges; or by a bonding device, a port of the bridge,
// where the nodes' kernels have those.
package team

import (
	"cmp"
	"fmt"
	"maps"
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
	byItself      = "auto"
	byRoute       = "route"
	byBond        = "bond"

	defaultMembers = 2
	// pulledFrom and pulledTo are when a cable is pulled, as shares of the window.
	pulledFrom = 0.25
	pulledTo   = 0.75
)

// Name is the suite's word.
func (Path) Name() string { return "team" }

// OverHosts says that the links may be real hosts' interfaces.
func (Path) OverHosts() {}

// Links is how many there are.
func (Path) Links(o result.Options) int { return cmp.Or(int(o.Int(optionMembers)), defaultMembers) }

// Says describes it.
func (Path) Says() string {
	return "containers behind a Linux bridge on each node, and behind it a team of links: a route over all (ECMP), or a bond"
}

// Options are how many links there are, and whether one is pulled.
func (Path) Options() []result.Option {
	return []result.Option{{
		Name: optionMembers, Type: result.Count, Min: 2, Max: testbed.MostNICs, Default: int64(defaultMembers),
		Says: "links between the nodes; each flow takes one, by its addresses and ports",
	}, {
		Name: optionPull, Type: result.Switch, Default: false,
		Says: "the first link's cable is pulled at the receiver's node in the middle half of every window: what that costs is the outage, for one flow of datagrams at a rate",
	}, {
		Name: optionBy, Type: result.Word, Words: []string{byItself, byRoute, byBond}, Default: byItself,
		Says: "what joins the links: a bonding device (balance-xor, layer3+4), at whose members' carriers the kernel looks every 100 ms, or a route over them, which every kernel has; auto is a bond where the nodes' kernels have those, else a route",
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
	members := p.Links(r.Options)
	pull := r.Options.Bool(optionPull)
	if pull && len(r.Pairs) != 1 {
		return datapath.Laid{}, l.Errorf("a link is pulled for one flow, and it has %d pairs: take one", len(r.Pairs))
	}
	by := p.by(l)
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
	l.Fact(datapath.FactJoined, by)
	laid, err := l.Finish(r.Wire.MTU)
	// The record has what it came to, so that a run with a bond is not compared with one by a route as if they were of one cell.
	laid.Options = maps.Clone(r.Options)
	if laid.Options == nil {
		laid.Options = result.Options{}
	}
	laid.Options[optionBy] = by
	return laid, err
}

// by is what joins the links: what is asked for, else a bond where the kernels have those.
func (Path) by(l *datapath.Layout) string {
	asked := cmp.Or(l.Request.Options.Text(optionBy), byItself)
	if asked != byItself {
		return asked
	}
	why := l.Request.Missing[testbed.FeatureBonding]
	if why == "" {
		return byBond
	}
	l.Doubt("team", fmt.Sprintf("a route over its links joins them, and not a bond (%s): on kernels that have bonds this cell is another one, unless it says `%s: %s`", why, optionBy, byRoute))
	return byRoute
}

// routed joins the links by a route over all of them, and gives each node's containers a subnet of their own.
func (p Path) routed(l *datapath.Layout, containers []result.Place, members int) error {
	if err := l.Wires(members, func(end *testbed.Interface, member int) {
		end.Addresses = []string{memberAddress(l, end.Place, member).String()}
	}); err != nil {
		return err
	}
	network, err := l.Apart(behindNodes...)
	if err != nil {
		return err
	}
	for i, node := range l.Graph.Nodes {
		l.Bridge(node.Name, l.Request.Wire.MTU, datapath.Within(behind(network, i), gateway(network, i)))
	}
	for i, place := range containers {
		p.container(l, network, i, place)
	}
	p.route(l, network, members)
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
		end.Bridge = bond(end.Place)
		if _, real := l.HostNIC(end.Place, 0); !real { // which keeps its own, and the bond gives the first one's to all
			end.MAC = datapath.MAC(0, l.Node(end.Place))
		}
	}); err != nil {
		return err
	}
	for i, place := range containers {
		l.OnSegment(place, i, l.Request.Wire.MTU).Bridge = datapath.BridgeName(place.Node)
	}
	return nil
}

// behindNodes are the networks in which nodes' containers may be: the first one that has no address of real hosts' networks for data.
var behindNodes = []netip.Prefix{
	netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("10.201.0.0/16"), netip.MustParsePrefix("172.29.0.0/16"), netip.MustParsePrefix("192.168.0.0/16"),
}

// behind is the subnet of the i-th node's containers in such a network, and gateway the node in it.
func behind(network netip.Prefix, i int) netip.Prefix {
	bytes := network.Addr().As4()
	bytes[2] = byte(i + 1)
	return netip.PrefixFrom(netip.AddrFrom4(bytes), 24)
}

func gateway(network netip.Prefix, i int) netip.Addr { return datapath.Host(behind(network, i), 1) }

// between is the subnet of a member's two ends.
func between(member int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{172, 16, byte(100 + member), 0}), 24)
}

// memberAddress is a node's on a member's link, with the length of its subnet: a real host's own there.
func memberAddress(l *datapath.Layout, node string, member int) netip.Prefix {
	if nic, real := l.HostNIC(node, member); real {
		return netip.MustParsePrefix(nic.Address) // Begin and Wires have read it
	}
	return netip.PrefixFrom(l.Member(between(member), node), between(member).Bits())
}

// container adds one at its node's bridge, with a route to the other node's.
func (Path) container(l *datapath.Layout, network netip.Prefix, i int, place result.Place) {
	home := 0
	if l.Graph.Nodes[1].Name == place.Node {
		home = 1
	}
	address := datapath.Host(behind(network, home), datapath.Containers+i)
	l.Container(place, behind(network, home), address, l.Request.Wire.MTU).Bridge = datapath.BridgeName(place.Node)
	inside := &l.Graph.Links[len(l.Graph.Links)-1].Ends[0]
	inside.Routes = []testbed.Route{{Prefix: behind(network, 1-home).String(), Gateway: gateway(network, home).String()}}
}

// route leads from each node to the other's containers, over every member.
func (Path) route(l *datapath.Layout, network netip.Prefix, members int) {
	for i, node := range l.Graph.Nodes {
		other := l.Graph.Nodes[1-i].Name
		m := testbed.Multipath{Name: "team-" + node.Name, Node: node.Name, Prefix: behind(network, 1-i).String()}
		for member := range members {
			m.Hops = append(m.Hops, testbed.Hop{
				Device: l.MemberNIC(node.Name, member), Gateway: memberAddress(l, other, member).Addr().String(),
			})
		}
		l.Graph.Routes = append(l.Graph.Routes, m)
	}
}

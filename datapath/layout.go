package datapath

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"windtunnel/result"
	"windtunnel/testbed"
)

// Layout builds a graph out of the pieces that paths share. A path begins one,
// adds its pieces and finishes it.
type Layout struct {
	Graph   testbed.Graph
	Request Request

	path      string
	addresses map[string]string
	facts     map[string]string
	doubts    []result.Doubt
	programs  []Program
	published []Published
	queueing  *result.Queueing
	wired     *result.WireSettings
	inPlace   bool // on real hosts, nodes are their own stacks
	notHere   string
}

// The source document's addresses (001, "Test scenarios"): its nodes are .11 and
// .12, its containers .21 and .22.
var (
	Underlay   = netip.MustParsePrefix("172.16.0.0/24")
	nodeHost   = 11
	Containers = 21 // the first container's host number in Underlay
)

// Underlay6 is the same for a path whose nodes reach each other over IPv6.
var Underlay6 = netip.MustParsePrefix("fd00:f::/64")

// maxContainers leaves the end of a /24 alone.
const maxContainers = 200

// maxNodes is how many nodes a path joins by one wire, MostNodes how many by one between every two.
const (
	maxNodes  = 2
	MostNodes = 8
)

// Begin starts the layout of a cell: the nodes that its pairs use, in the suite's
// order. It refuses what no path can lay.
func Begin(path string, r Request) (*Layout, error) { return begin(&Layout{path: path}, r, maxNodes) }

// BeginInPlace does the same for a path of containers that engines run: real hosts' nodes are the hosts' own stacks
// then, with the MTU that their interfaces have.
func BeginInPlace(path string, r Request) (*Layout, error) {
	l, err := begin(&Layout{path: path, inPlace: r.Wire.Kind == testbed.WireNetwork}, r, maxNodes)
	if err == nil && l.inPlace {
		l.asFound()
	}
	return l, err
}

// BeginMesh does the same for a path that takes a wire between every two of its nodes. Real hosts' nodes are the hosts'
// own stacks if the request says so.
func BeginMesh(path string, r Request) (*Layout, error) {
	l, err := begin(&Layout{path: path, inPlace: r.InPlace}, r, MostNodes)
	if err == nil && l.inPlace {
		l.asFound()
	}
	return l, err
}

func begin(l *Layout, r Request, most int) (*Layout, error) {
	l.Request, l.addresses = r, map[string]string{}
	l.facts = map[string]string{FactEncapsulation: "none", FactOverhead: "0"}
	l.Graph.Cell = r.Cell
	if len(r.Pairs) == 0 {
		return nil, l.Errorf("no pairs: name at least one sender and receiver")
	}
	for _, n := range r.Nodes {
		if slices.ContainsFunc(l.places(), func(p result.Place) bool { return p.Node == n.Name }) {
			l.Graph.Nodes = append(l.Graph.Nodes, n)
		}
	}
	if err := l.checkPlaces(); err != nil {
		return nil, err
	}
	if err := l.checkExisting(); err != nil || l.path == Existing {
		return l, err
	}
	if n := len(l.Graph.Nodes); n > most {
		if most == maxNodes {
			return nil, l.Errorf("its pairs use %d nodes, and this path joins two: split the cell, or take wire or bridge, which join up to %d", n, MostNodes)
		}
		return nil, l.Errorf("its pairs use %d nodes, and at most %d are joined: split the cell", n, most)
	}
	if err := l.checkHosts(); err != nil {
		return nil, err
	}
	if r.Wire.MTU > 65535 || r.Wire.MTU < MinimumMTU {
		return nil, l.Errorf("a wire of MTU %d is not possible: choose %d to 65535", r.Wire.MTU, MinimumMTU)
	}
	return l, nil
}

// checkHosts refuses data addresses that no path can lay. Real hosts' nodes have a wire of the kind
// network, simulated ones another.
func (l *Layout) checkHosts() error {
	for i, n := range l.Graph.Nodes {
		l.Graph.Nodes[i].InPlace, l.Graph.Nodes[i].Members = l.inPlace, nil // Wires takes those that it needs
		if !l.Joined() && !l.inPlace {
			l.Graph.Nodes[i].NIC = nil // nothing of the cell leaves the node
			continue
		}
		if n.NIC == nil {
			if l.Request.Wire.Kind == testbed.WireNetwork {
				return l.Errorf("node %s is simulated, and a wire of the kind %s has real hosts at both ends", n.Name, testbed.WireNetwork)
			}
			continue
		}
		if address, err := netip.ParsePrefix(n.NIC.Address); err != nil || !address.Addr().Is4() {
			return l.Errorf("node %s: its data address %q is no IPv4 address with its prefix length, like 10.0.0.1/24", n.Name, n.NIC.Address)
		}
	}
	return nil
}

// checkExisting keeps places that run already and nodes that are made apart.
func (l *Layout) checkExisting() error {
	for _, n := range l.Graph.Nodes {
		switch existing := len(n.Exec) > 0; {
		case existing && l.path != Existing:
			return l.Errorf("the node %s runs already, and nothing is built there: take the path %s, or leave `exec` out", n.Name, Existing)
		case !existing && l.path == Existing:
			return l.Errorf("the node %s does not run yet: say how it is entered, `%s: {exec: [docker, exec, -i, web]}`", n.Name, n.Name)
		}
	}
	return nil
}

// places lists the endpoints in the order of the pairs, each once.
func (l *Layout) places() []result.Place {
	var all []result.Place
	for _, pair := range l.Request.Pairs {
		for _, place := range []result.Place{pair.From, pair.To} {
			if !slices.Contains(all, place) {
				all = append(all, place)
			}
		}
	}
	return all
}

func (l *Layout) checkPlaces() error {
	names := map[string]result.Place{}
	for _, place := range l.places() {
		if !slices.ContainsFunc(l.Request.Nodes, func(n testbed.Node) bool { return n.Name == place.Node }) {
			return l.Errorf("%s is on node %q, which the suite does not have", place.Name(), place.Node)
		}
		if place.Container == "" {
			continue
		}
		if other, taken := names[place.Container]; taken {
			return l.Errorf("the container %s is on both %s and %s: give each its own name", place.Container, other.Node, place.Node)
		}
		if _, isNode := l.Graph.Node(place.Container); isNode {
			return l.Errorf("a container is called %s like a node: give it its own name", place.Container)
		}
		names[place.Container] = place
	}
	return nil
}

// Containers returns the endpoints in order, and refuses those in a node's own
// stack and in virtual machines, for paths whose switch serves containers.
func (l *Layout) Containers() ([]result.Place, error) {
	if err := l.noVMs(); err != nil {
		return nil, err
	}
	return l.Endpoints()
}

// noVMs refuses virtual machines.
func (l *Layout) noVMs() error {
	for _, place := range l.places() {
		if place.VM != "" {
			return l.Errorf("it joins no virtual machines, as %s is one: take a container, or one of the paths bridge, vxlan and vrouter", place.VM)
		}
	}
	return nil
}

// Endpoints returns the endpoints in order, containers and virtual machines' interfaces, and refuses those in a
// node's own stack.
func (l *Layout) Endpoints() ([]result.Place, error) {
	for _, pair := range l.Request.Pairs {
		if pair.From.NIC > 0 {
			return nil, l.Errorf("%s is interface %d of the virtual machine %s, which sends by its first one: let that send, and others receive",
				pair.From.Name(), pair.From.NIC, pair.From.VM)
		}
	}
	all := l.places()
	if len(all) > maxContainers {
		return nil, l.Errorf("%d containers are more than the %d that its subnet has room for", len(all), maxContainers)
	}
	for _, place := range all {
		if place.Container == "" {
			return nil, l.Errorf("the path %s joins containers and cannot reach the process on node %s: put it in a container, or take the path wire",
				l.path, place.Node)
		}
	}
	return all, nil
}

// Processes returns the endpoints in order, and refuses containers.
func (l *Layout) Processes() ([]result.Place, error) {
	all := l.places()
	for _, place := range all {
		if place.Container != "" {
			return nil, l.Errorf("the path %s joins the nodes' own stacks and cannot reach the container %s: take the path bridge, vxlan or vrouter",
				l.path, place.Container)
		}
	}
	return all, nil
}

// Errorf is an error that names the path and the cell.
func (l *Layout) Errorf(format string, args ...any) error {
	return fmt.Errorf("path %s of cell %s: "+format, append([]any{l.path, l.Request.Cell}, args...)...)
}

// Reach notes the address at which traffic reaches a place.
func (l *Layout) Reach(place string, address netip.Addr) { l.addresses[place] = address.String() }

// The facts that every layout states, for the report.
const (
	FactEncapsulation = "encapsulation"
	FactOverhead      = "overhead_bytes" // a packet, on the wire
	FactInnerMTU      = "inner_mtu"
	FactJoined        = "joined by" // what makes one of several links
	FactCounters      = "counters"  // which switch of the path names its own drops
)

// Need names programs that this cell needs beside those of every cell of the path.
func (l *Layout) Need(programs ...Program) {
	for _, p := range programs {
		if !slices.Contains(l.programs, p) {
			l.programs = append(l.programs, p)
		}
	}
}

// NeedAt does the same of programs that one node runs.
func (l *Layout) NeedAt(node string, programs ...Program) {
	for _, p := range programs {
		p.Node = node
		l.Need(p)
	}
}

// Fact states a fact for the report.
func (l *Layout) Fact(name, value string) { l.facts[name] = value }

// Finish returns the laid path: every device has the offloads that the cell asks
// for, and the endpoints the MTU given.
func (l *Layout) Finish(endpointMTU int) (Laid, error) {
	if err := l.segmentation(); err != nil {
		return Laid{}, err
	}
	if err := l.checksum(); err != nil {
		return Laid{}, err
	}
	if err := l.queueAsAsked(); err != nil {
		return Laid{}, err
	}
	if err := l.wireAsAsked(); err != nil {
		return Laid{}, err
	}
	l.Fact(FactInnerMTU, strconv.Itoa(endpointMTU))
	if err := testbed.Validate(l.Graph); err != nil {
		return Laid{}, err
	}
	return Laid{
		Graph: l.Graph, Addresses: l.addresses, Facts: l.facts, Programs: l.programs, Doubts: l.doubts,
		Published: l.published, Queueing: l.queueing, Wired: l.wired, NotHere: l.notHere,
		MTU: result.MTU{Wire: l.Request.Wire.MTU, Endpoint: endpointMTU},
	}, nil
}

// Node returns the underlay address of the i-th node of the suite: .11, .12; a real host has its own.
func (l *Layout) Node(name string) netip.Addr {
	if n, _ := l.Graph.Node(name); n.NIC != nil {
		return netip.MustParsePrefix(n.NIC.Address).Addr() // Begin has read it
	}
	return Host(Underlay, l.nodeHost(name))
}

// Member returns a node's address in a /24 that is a link's own, with the same host number.
func (l *Layout) Member(subnet netip.Prefix, name string) netip.Addr {
	return Host(subnet, l.nodeHost(name))
}

// Node6 returns its address where the underlay is IPv6: ::b, ::c, which are the same numbers.
func (l *Layout) Node6(name string) netip.Addr { return host6(l.nodeHost(name)) }

func host6(n int) netip.Addr {
	bytes := Underlay6.Addr().As16()
	bytes[15] = byte(n)
	return netip.AddrFrom16(bytes)
}

// Beyond and Beyond6 are addresses of the underlay that no node of the suite has, for what is no node
// and yet at the far end of a wire.
func (l *Layout) Beyond() netip.Addr  { return Host(Underlay, nodeHost+len(l.Request.Nodes)) }
func (l *Layout) Beyond6() netip.Addr { return host6(nodeHost + len(l.Request.Nodes)) }

func (l *Layout) nodeHost(name string) int {
	return nodeHost + slices.IndexFunc(l.Request.Nodes, func(n testbed.Node) bool { return n.Name == name })
}

// Host returns the address of a /24 with the host number n.
func Host(subnet netip.Prefix, n int) netip.Addr {
	bytes := subnet.Masked().Addr().As4()
	bytes[3] = byte(n)
	return netip.AddrFrom4(bytes)
}

// Within writes an address with its subnet's length, as interfaces take it.
func Within(subnet netip.Prefix, address netip.Addr) string {
	return netip.PrefixFrom(address, subnet.Bits()).String()
}

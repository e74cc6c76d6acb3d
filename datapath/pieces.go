package datapath

import (
	"fmt"
	"hash/fnv"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"windtunnel/result"
	"windtunnel/testbed"
)

// The devices of the shared pieces.
const (
	NIC      = "nic0" // a node's end of the wire
	Endpoint = "eth0" // a container's interface
)

// The kinds of wire.
const (
	WireNIC    = "nic"    // packets at MTU size, aggregated by the receiver
	WireMemory = "memory" // super-packets cross whole
)

// MinimumMTU is the smallest that endpoints get: every IPv4 host takes datagrams
// of 576 bytes (RFC 791). MinimumMTU6 is the smallest of a link that carries IPv6 (RFC
// 8200, section 5): Linux takes the addresses off one with less.
const (
	MinimumMTU  = 576
	MinimumMTU6 = 1280
)

// Joined tells whether the layout has two nodes or more, and so a wire.
func (l *Layout) Joined() bool { return len(l.Graph.Nodes) >= maxNodes }

// Mesh tells whether it has more than two, and so a wire between every two of them.
func (l *Layout) Mesh() bool { return len(l.Graph.Nodes) > maxNodes }

// Wire adds the link between the two nodes, or one between every two. Shape, which may be nil, adds what
// the path wants of each end: an address, a bridge. In a mesh each wire has a subnet of its own, in which nodes
// keep their host numbers.
func (l *Layout) Wire(shape func(*testbed.Interface)) error {
	return l.Wires(1, func(end *testbed.Interface, _ int) {
		if shape != nil {
			shape(end)
		}
	})
}

// Wires adds several links between the nodes that Wire would join by one, members of a team. Shape is told which.
func (l *Layout) Wires(members int, shape func(end *testbed.Interface, member int)) error {
	kind := l.Request.Wire.Kind
	if kind != WireNIC && kind != WireMemory && kind != testbed.WireNetwork {
		return l.Errorf("a wire of kind %q is unknown: choose %s or %s", kind, WireNIC, WireMemory)
	}
	if kind == testbed.WireNetwork && l.Mesh() && !l.inPlace {
		return l.Errorf("real hosts have one interface for data each, and a mesh takes a wire between every two: take the path wire, whose nodes may have one for all")
	}
	if kind == testbed.WireNetwork && members > 1 {
		if err := l.takeMembers(members); err != nil {
			return err
		}
	}
	for first := range l.Graph.Nodes {
		for second := first + 1; second < len(l.Graph.Nodes); second++ {
			for member := range members {
				l.wire(first, second, member, shape)
			}
		}
	}
	return nil
}

// wire joins the nodes of these numbers.
func (l *Layout) wire(first, second, member int, shape func(end *testbed.Interface, member int)) {
	link := testbed.Link{Name: l.wireName(first, second, member), Role: result.RoleWire, Kind: l.Request.Wire.Kind}
	for i, node := range []testbed.Node{l.Graph.Nodes[first], l.Graph.Nodes[second]} {
		number := second - 1 // of the node's interface: its others are in the order of the nodes
		if i == 1 {
			number = first
		}
		if link.Kind == testbed.WireNetwork {
			link.Ends[i] = l.found(node, member)
		} else {
			link.Ends[i] = l.madeEnd(node.Name, number, member)
			asWire(&link.Ends[i], link.Kind)
		}
		shape(&link.Ends[i], member)
		if l.Mesh() && link.Kind != testbed.WireNetwork {
			move(&link.Ends[i], l.between(first, second))
		}
	}
	l.Graph.Links = append(l.Graph.Links, link)
}

func (l *Layout) wireName(first, second, member int) string {
	name := "wire"
	if l.Mesh() {
		name += "-" + l.Graph.Nodes[first].Name + "-" + l.Graph.Nodes[second].Name
	}
	if member > 0 {
		name += fmt.Sprintf("-%d", member+1)
	}
	return name
}

// memberSide tells the MACs of a team's further members from others of their node's (see MAC).
const memberSide = 0x10

// madeEnd is a node's end of a link that the testbed makes.
func (l *Layout) madeEnd(node string, number, member int) testbed.Interface {
	side := byte(number)
	if member > 0 {
		side = memberSide + byte(member)
	}
	return testbed.Interface{
		Place: node, Device: nic(number + member), MAC: MAC(side, l.Node(node)),
		MTU: l.Request.Wire.MTU, Queues: l.queues(),
	}
}

// nic is a node's interface by its number.
func nic(number int) string { return strings.TrimSuffix(NIC, "0") + strconv.Itoa(number) }

// between is the subnet of the wire between two nodes of a mesh: Underlay, with the wire's number as its third byte.
func (l *Layout) between(first, second int) netip.Prefix {
	number := 0
	for i := range first {
		number += len(l.Graph.Nodes) - 1 - i
	}
	bytes := Underlay.Addr().As4()
	bytes[2] = byte(number + second - first - 1)
	return netip.PrefixFrom(netip.AddrFrom4(bytes), Underlay.Bits())
}

// Facing is the address of a node on its wire to a peer. Real hosts have one for all.
func (l *Layout) Facing(node, peer string) netip.Addr {
	if !l.Mesh() || l.inPlace {
		return l.Node(node)
	}
	at := func(name string) int {
		return slices.IndexFunc(l.Graph.Nodes, func(n testbed.Node) bool { return n.Name == name })
	}
	first, second := min(at(node), at(peer)), max(at(node), at(peer))
	return Host(l.between(first, second), l.nodeHost(node))
}

// asWire gives an end the offloads of its kind of wire. Left alone, a virtual
// pair hands 64 KiB super-packets over whole and receives on the sender's CPU. As
// a NIC it segments before it sends, and its receiver aggregates on its own CPU; as
// memory it leaves packets whole, and only the CPU is the receiver's.
func asWire(end *testbed.Interface, kind string) {
	if kind == WireMemory {
		end.Offloads = map[string]bool{testbed.GRO: false}
		end.Steering = testbed.SteerRPS // without GRO a virtual pair has no NAPI
		return
	}
	end.Offloads = map[string]bool{
		testbed.TSO: false, testbed.GSO: false, testbed.UDPSeg: false, testbed.GRO: true,
	}
	end.Steering = testbed.SteerThreaded
}

// queues is the wire's queues: one for each CPU of the node with fewer.
func (l *Layout) queues() int {
	if l.Request.Wire.Queues > 0 {
		return l.Request.Wire.Queues
	}
	fewest := len(l.Graph.Nodes[0].CPUs)
	for _, n := range l.Graph.Nodes {
		fewest = min(fewest, len(n.CPUs))
	}
	return max(fewest, 1)
}

// Container adds a container on its node and the virtual pair that joins them, or
// an interface of a virtual machine and its tap,
// and notes the address as the one to reach it at. It returns the node's end,
// valid until the next piece is added.
func (l *Layout) Container(place result.Place, subnet netip.Prefix, address netip.Addr, mtu int) *testbed.Interface {
	if place.VM != "" {
		return l.tapped(place, subnet, address, mtu)
	}
	l.Graph.Containers = append(l.Graph.Containers, testbed.Container{Name: place.Container, Node: place.Node})
	inside := testbed.Interface{
		Place: place.Container, Device: Endpoint, MAC: MAC(0, address),
		Addresses: []string{Within(subnet, address)}, MTU: mtu,
	}
	// Steered, because the container's TCP also sends from the CPU that frees its
	// packets (tcp_wfree in net/ipv4/tcp_output.c), which on a virtual wire is the
	// other node's: those packets would be switched there, and overtake others.
	outside := testbed.Interface{Place: place.Node, Device: HostDevice(place.Container), MAC: MAC(1, address), MTU: mtu,
		Steering: testbed.SteerRPS}
	if l.Request.Frames {
		// A virtual pair takes frames that XDP sends only where the peer has NAPI,
		// which is where it has XDP or GRO (veth_xdp_xmit in drivers/net/veth.c).
		outside.Offloads = map[string]bool{testbed.GRO: true}
	}
	l.Graph.Links = append(l.Graph.Links, testbed.Link{
		Name: "endpoint-" + place.Container, Role: result.RoleEndpoint,
		Ends: [2]testbed.Interface{inside, outside},
	})
	l.Reach(place.Container, address)
	return &l.Graph.Links[len(l.Graph.Links)-1].Ends[1]
}

// TapContainer adds a container whose interface is a tap, which a daemon of its node opens in the container's
// network namespace, and notes the address as the one to reach it at.
func (l *Layout) TapContainer(place result.Place, subnet netip.Prefix, address netip.Addr, mtu int) {
	l.Graph.Containers = append(l.Graph.Containers, testbed.Container{Name: place.Container, Node: place.Node})
	l.Graph.Links = append(l.Graph.Links, testbed.Link{
		Name: "endpoint-" + place.Container, Role: result.RoleEndpoint, Kind: testbed.LinkTap,
		Ends: [2]testbed.Interface{
			{Place: place.Container, Device: Endpoint, MAC: MAC(0, address), Addresses: []string{Within(subnet, address)}, MTU: mtu},
			{Place: place.Node},
		},
	})
	l.Reach(place.Container, address)
}

// OnSegment adds the i-th container with an address of the nodes' own subnet, as paths without a
// network of their own have it.
func (l *Layout) OnSegment(place result.Place, i, mtu int) *testbed.Interface {
	return l.Container(place, Underlay, containerHost(i), mtu)
}

// containerHost is the i-th container's address in Underlay.
func containerHost(i int) netip.Addr { return Host(Underlay, Containers+i) }

// SegmentMAC is its MAC.
func SegmentMAC(i int) string { return MAC(0, containerHost(i)) }

// OnUnderlay shapes an end of the wire: it has its node's address.
func (l *Layout) OnUnderlay(end *testbed.Interface) {
	end.Addresses = []string{l.OnSubnet(end.Place)}
}

// OnSubnet is a node's address with the length of its subnet's prefix.
func (l *Layout) OnSubnet(node string) string { return Within(l.subnet(node), l.Node(node)) }

// subnet is the network of a node's address.
func (l *Layout) subnet(node string) netip.Prefix {
	n, _ := l.Graph.Node(node)
	return subnetOf(n)
}

func subnetOf(n testbed.Node) netip.Prefix {
	if n.NIC == nil {
		return Underlay
	}
	return netip.MustParsePrefix(n.NIC.Address).Masked() // Begin has read it
}

// Apart is the first of some networks that has no address of those of the nodes, which whoever is in it would take for neighbours.
func (l *Layout) Apart(networks ...netip.Prefix) (netip.Prefix, error) {
	for _, network := range networks {
		if !slices.ContainsFunc(l.Graph.Nodes, func(n testbed.Node) bool { return slices.ContainsFunc(networksOf(n), network.Overlaps) }) {
			return network, nil
		}
	}
	return netip.Prefix{}, l.Errorf("the nodes' network %s has the addresses of each network that it may have behind them (%v): take a network for data with a longer prefix",
		l.subnet(l.Graph.Nodes[0].Name), networks)
}

// NIC is a node's end of the wire.
func (l *Layout) NIC(node string) string { return l.MemberNIC(node, 0) }

// OnUnderlay6 shapes an end of a wire whose nodes reach each other over IPv6.
func (l *Layout) OnUnderlay6(end *testbed.Interface) {
	end.Addresses = []string{Within(Underlay6, l.Node6(end.Place))}
}

// Move gives the nodes' interfaces addresses of another /24 than Underlay, with the same host numbers.
func (l *Layout) Move(subnet netip.Prefix) {
	for i := range l.Graph.Links {
		for side := range l.Graph.Links[i].Ends {
			move(&l.Graph.Links[i].Ends[side], subnet)
		}
	}
}

func move(end *testbed.Interface, subnet netip.Prefix) {
	for n, address := range end.Addresses {
		old := netip.MustParsePrefix(address) // OnUnderlay wrote it
		end.Addresses[n] = Within(subnet, Host(subnet, int(old.Addr().As4()[3])))
	}
}

// Bridge adds a bridge to a node, at which the node may have addresses, as prefixes.
func (l *Layout) Bridge(node string, mtu int, addresses ...string) {
	l.Graph.Bridges = append(l.Graph.Bridges, testbed.Bridge{Name: BridgeName(node), Node: node, Device: "br0", MTU: mtu, Addresses: addresses})
}

// BridgeName is the name of a node's bridge.
func BridgeName(node string) string { return "bridge-" + node }

// InnerMTU is what an encapsulation of so many bytes leaves of the wire's MTU, so
// that no outer packet is larger than the wire takes.
func (l *Layout) InnerMTU(overhead int) (int, error) {
	wire := l.Request.Wire.MTU
	inner := wire - overhead
	if inner < MinimumMTU {
		return 0, l.Errorf("a wire of MTU %d leaves %d bytes inside %d bytes of encapsulation, and endpoints need %d: give the wire an MTU of at least %d",
			wire, inner, overhead, MinimumMTU, MinimumMTU+overhead)
	}
	return inner, nil
}

// unthread steers without NAPI threads: without GRO a virtual pair has no NAPI.
func unthread(end *testbed.Interface) {
	if end.Threaded() {
		end.Steering = testbed.SteerRPS
	}
}

// MAC derives an interface's address from its IPv4 address: locally administered
// (IEEE 802), the same in every run, and told apart by side.
func MAC(side byte, address netip.Addr) string {
	ip := address.As4()
	return fmt.Sprintf("02:%02x:%02x:%02x:%02x:%02x", side, ip[0], ip[1], ip[2], ip[3])
}

// HostDevice names a container's interface on its node. Long names are cut and
// told apart by a hash: Linux takes 15 bytes.
func HostDevice(container string) string {
	const prefix, limit = "v-", 15
	if len(prefix+container) <= limit {
		return prefix + container
	}
	hash := fnv.New32a()
	hash.Write([]byte(container))
	return fmt.Sprintf("%s%s-%04x", prefix, container[:limit-len(prefix)-5], hash.Sum32()&0xffff)
}

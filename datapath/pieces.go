package datapath

import (
	"fmt"
	"hash/fnv"
	"net/netip"

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

// Joined tells whether the layout has two nodes, and so a wire.
func (l *Layout) Joined() bool { return len(l.Graph.Nodes) == maxNodes }

// Wire adds the link between the two nodes. Shape, which may be nil, adds what
// the path wants of each end: an address, a bridge.
func (l *Layout) Wire(shape func(*testbed.Interface)) error {
	return l.Wires(1, func(end *testbed.Interface, _ int) {
		if shape != nil {
			shape(end)
		}
	})
}

// Wires adds several links between the two nodes, members of a team. Shape is told which.
func (l *Layout) Wires(members int, shape func(end *testbed.Interface, member int)) error {
	kind := l.Request.Wire.Kind
	if kind != WireNIC && kind != WireMemory && kind != testbed.WireNetwork {
		return l.Errorf("a wire of kind %q is unknown: choose %s or %s", kind, WireNIC, WireMemory)
	}
	for member := range members {
		link := testbed.Link{Name: "wire", Role: result.RoleWire, Kind: kind}
		if member > 0 {
			link.Name += fmt.Sprintf("-%d", member+1)
		}
		for i, node := range l.Graph.Nodes {
			if kind == testbed.WireNetwork {
				link.Ends[i] = found(node, l.Request.Wire.MTU)
			} else {
				link.Ends[i] = l.madeEnd(node.Name, member)
				asWire(&link.Ends[i], kind)
			}
			shape(&link.Ends[i], member)
		}
		l.Graph.Links = append(l.Graph.Links, link)
	}
	return nil
}

// found is a real host's end of the wire, as it is but for the MTU. One end of a virtual pair is made to
// be as a NIC.
func found(node testbed.Node, mtu int) testbed.Interface {
	end := testbed.Interface{Place: node.Name, Device: node.NIC.Device, MTU: mtu, Offloads: map[string]bool{}}
	if node.NIC.Virtual {
		asWire(&end, WireNIC)
	}
	return end
}

// memberSide tells the MACs of a team's further members from others of their node's (see MAC).
const memberSide = 0x10

// madeEnd is a node's end of a link that the testbed makes.
func (l *Layout) madeEnd(node string, member int) testbed.Interface {
	side := byte(0)
	if member > 0 {
		side = memberSide + byte(member)
	}
	return testbed.Interface{
		Place: node, Device: fmt.Sprintf("nic%d", member), MAC: MAC(side, l.Node(node)),
		MTU: l.Request.Wire.MTU, Queues: l.queues(),
	}
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
	subnet := Underlay
	if node, _ := l.Graph.Node(end.Place); node.NIC != nil {
		subnet = netip.MustParsePrefix(node.NIC.Address) // Begin has read it
	}
	end.Addresses = []string{Within(subnet, l.Node(end.Place))}
}

// NIC is a node's end of the wire.
func (l *Layout) NIC(node string) string {
	if n, _ := l.Graph.Node(node); n.NIC != nil {
		return n.NIC.Device
	}
	return NIC
}

// OnUnderlay6 shapes an end of a wire whose nodes reach each other over IPv6.
func (l *Layout) OnUnderlay6(end *testbed.Interface) {
	end.Addresses = []string{Within(Underlay6, l.Node6(end.Place))}
}

// Move gives the nodes' interfaces addresses of another /24 than Underlay, with the same host numbers.
func (l *Layout) Move(subnet netip.Prefix) {
	for i := range l.Graph.Links {
		for side := range l.Graph.Links[i].Ends {
			end := &l.Graph.Links[i].Ends[side]
			for n, address := range end.Addresses {
				old := netip.MustParsePrefix(address) // OnUnderlay wrote it
				end.Addresses[n] = Within(subnet, Host(subnet, int(old.Addr().As4()[3])))
			}
		}
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

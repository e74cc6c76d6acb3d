// Package testbed holds the graph of a cell's testbed as data: nodes, endpoints,
// links, switches and their attributes. A backend (netns) makes a graph live, by
// diff; teardown is the empty graph, and there is no other way down.
package testbed

import (
	"slices"

	"windtunnel/result"
)

// Graph is what one cell needs to stand. Names are unique within it; the zero
// Graph is the torn-down testbed.
type Graph struct {
	Cell       string      `json:"cell"`
	Nodes      []Node      `json:"nodes,omitempty"`
	Containers []Container `json:"containers,omitempty"`
	Bridges    []Bridge    `json:"bridges,omitempty"`
	Bonds      []Bond      `json:"bonds,omitempty"`
	Links      []Link      `json:"links,omitempty"`
	VXLANs     []VXLAN     `json:"vxlans,omitempty"`
	Daemons    []Daemon    `json:"daemons,omitempty"`
	Ports      []Port      `json:"ports,omitempty"`
	Engines    []Engine    `json:"engines,omitempty"`
	Routes     []Multipath `json:"routes,omitempty"`
	VMs        []VM        `json:"vms,omitempty"`
}

// Node is a compute node's own network stack and the CPUs that do its work.
type Node struct {
	Name string `json:"name"`
	CPUs []int  `json:"cpus"`
	// NIC is a real host's end of the wire, which is there already; nil: the node is simulated, and
	// its end is made.
	NIC *NIC `json:"nic,omitempty"`
	// Members are such ends, too, where several links join it to the other node: of the second link and so on.
	Members []NIC `json:"members,omitempty"`
	// InPlace says that a real host's node is the host's own stack, with the NIC where and how it was found:
	// nothing there is made, moved or set. What a container engine of the host's publishes is there.
	InPlace bool `json:"in_place,omitempty"`
	// Engine is a real host's container engine; nil: none was looked for, or there is none.
	Engine *HostEngine `json:"engine,omitempty"`
	// Exec is how a place that runs already is entered: nothing of such a node is built or changed.
	// Devices are those of its interfaces that carry the cell's traffic, as far as they are known.
	Exec    []string `json:"exec,omitempty"`
	Devices []string `json:"devices,omitempty"`
	// Architecture is a real host's, by Go's name for it: arm64; empty: this machine's.
	Architecture string `json:"architecture,omitempty"`
}

// NIC is an interface of a real host.
type NIC struct {
	Device  string `json:"device"`
	Address string `json:"address"`            // with its prefix's length: 10.0.0.2/24
	MTU     int    `json:"mtu,omitempty"`      // as it was found
	MostMTU int    `json:"most_mtu,omitempty"` // that its driver lets be set; 0: it does not say
	// Queues is how many receive queues it has, as it was found; 0: it does not say.
	Queues int `json:"queues,omitempty"`
	// SendQueues is how many it had to send by.
	SendQueues int `json:"send_queues,omitempty"`
	// Steered says that the host has others of its CPUs work on what a queue received (RPS).
	Steered bool `json:"steered,omitempty"`
	// Channels are how many queues it had then, and may be given.
	Channels Channels `json:"channels,omitzero"`
	// Table is how many places the table has by which its driver spreads received flows over queues (RSS); 0: there is none.
	Table int `json:"table,omitempty"`
	// Steers says that its driver takes rules by which a packet has a queue, and Rules how many its owner has given it.
	Steers bool `json:"steers,omitempty"`
	Rules  int  `json:"rules,omitempty"`
	// Virtual says that it is one end of a virtual Ethernet pair, which is like a NIC only with the
	// settings of a wire that is made.
	Virtual bool `json:"virtual,omitempty"`
	// Fixed is why it cannot be taken from where it is; "": it can.
	Fixed string `json:"fixed,omitempty"`
}

// MostNICs is how many interfaces for data a host may have: as many as a team has members.
const MostNICs = 8

// NICs are a real host's ends of the node's wires, in their order; none of a simulated node.
func (n Node) NICs() []NIC {
	if n.NIC == nil {
		return nil
	}
	return append([]NIC{*n.NIC}, n.Members...)
}

// NICOf is the one of them that is called so.
func (n Node) NICOf(device string) (NIC, bool) {
	all := n.NICs()
	i := slices.IndexFunc(all, func(nic NIC) bool { return nic.Device == device })
	if i < 0 {
		return NIC{}, false
	}
	return all[i], true
}

// WireNetwork is the kind of a wire whose ends are NICs of real hosts: it is found, not made.
const WireNetwork = "network"

// Container is a network stack of its own on a node.
type Container struct {
	Name string `json:"name"`
	Node string `json:"node"`
}

// Link is a virtual Ethernet pair. A link of role wire joins two nodes; every
// other link stays within one. One of kind tap has an interface at its first end alone: its second
// end names the node whose daemon is to open it (tuntap.rst), and nothing else.
type Link struct {
	Name string       `json:"name"`
	Role string       `json:"role"`           // result.RoleWire, RoleEndpoint or RoleInner
	Kind string       `json:"kind,omitempty"` // of a wire: nic, memory or WireNetwork; LinkTap
	Ends [2]Interface `json:"ends"`
	Pull *Pull        `json:"pull,omitempty"` // nil: it stays up
}

// LinkTap is the kind of a link whose other side is a program.
const LinkTap = "tap"

// Interface is one end of a link.
type Interface struct {
	Place     string          `json:"place"`  // a node's or container's name
	Device    string          `json:"device"` // at most 15 bytes
	MAC       string          `json:"mac,omitempty"`
	Addresses []string        `json:"addresses,omitempty"` // prefixes: 10.0.0.1/24
	Routes    []Route         `json:"routes,omitempty"`
	MTU       int             `json:"mtu"`
	Queues    int             `json:"queues,omitempty"`      // 0: one
	Bridge    string          `json:"bridge,omitempty"`      // the switch it is a port of, or the bond that it is a member of
	Isolated  bool            `json:"isolated,omitempty"`    // as such a port, it has no part in what others like it send
	Offloads  map[string]bool `json:"offloads,omitempty"`    // by the names of Offloads; what is not named stays as found
	Steering  string          `json:"steering,omitempty"`    // where receive work runs: Steer*
	CPUs      []int           `json:"cpus,omitempty"`        // of its node, that steering brings it to; empty: all of them
	CPUAQueue bool            `json:"cpu_a_queue,omitempty"` // each queue's receive thread has one of the CPUs, in turn
	// QueueBy is what chooses the transmit queue, which is the other end's receive queue: QueueBy*.
	QueueBy string `json:"queue_by,omitempty"`
	// Destinations are MACs that have a queue each, from the second one on, in turn; what is for others has the first.
	Destinations []string `json:"destinations,omitempty"`
	// Found is how a real host's interface, which is not made, uses its queues.
	Found Found `json:"found,omitzero"`
	// Behind are the adapters that have a queue of such an interface each, from the second one on, in turn.
	Behind []Adapter `json:"behind,omitempty"`
	// BitsPerSecond is the rate of a token bucket by which it sends, of Ethernet frames without FCS; 0: none.
	BitsPerSecond float64 `json:"bits_per_second,omitempty"`
	// Loss is the share of what arrives that a rule drops before the stack sees it.
	Loss float64 `json:"loss,omitempty"`
}

// What chooses the queue by which an interface sends.
const (
	QueueByKernel      = ""            // the kernel, also by the queue in which a packet came
	QueueByFlow        = "flow"        // addresses and ports alone, by the kernel's hash
	QueueByDestination = "destination" // the MAC
)

// How an interface's receive work is brought to its own node's CPUs.
const (
	SteerNone     = ""         // wherever the sender's CPU leaves it
	SteerThreaded = "threaded" // threaded NAPI, its kernel thread pinned
	SteerFirst    = "first"    // the same, before whatever else its CPU has to do
	SteerRPS      = "rps"      // receive packet steering on every queue
)

// Threaded tells whether kernel threads receive for the interface.
func (i Interface) Threaded() bool { return i.Steering == SteerThreaded || i.Steering == SteerFirst }

// Offload names, as ethtool(8) abbreviates them.
const (
	TSO    = "tso"
	GSO    = "gso"
	GRO    = "gro"
	UDPSeg = "tx-udp-segmentation"
	// GROJoins is no feature of ethtool's: off, GRO joins no packets, and a virtual pair still
	// receives by NAPI, which it does where GRO is on.
	GROJoins = "gro-joins"
	// TxChecksum is a checksum that the device is left to finish. Off, every packet
	// has its own, which a switch without virtio-net headers needs.
	TxChecksum = "tx-checksumming"
)

// Route is a destination prefix through a gateway (empty: directly connected).
type Route struct {
	Prefix  string `json:"prefix"`
	Gateway string `json:"gateway,omitempty"`
}

// Bridge is a Linux bridge in a node's stack: no spanning tree, no delay, no
// multicast snooping.
type Bridge struct {
	Name   string `json:"name"`
	Node   string `json:"node"`
	Device string `json:"device"`
	MTU    int    `json:"mtu"`
	// Addresses are the node's at the bridge, as prefixes.
	Addresses []string        `json:"addresses,omitempty"`
	Offloads  map[string]bool `json:"offloads,omitempty"`
}

// VXLAN is a kernel VXLAN device (RFC 7348) with one remote, a port of a bridge.
type VXLAN struct {
	Name     string          `json:"name"`
	Node     string          `json:"node"`
	Device   string          `json:"device"`
	VNI      int             `json:"vni"`
	Local    string          `json:"local"`
	Remote   string          `json:"remote"`
	Port     int             `json:"port"`     // UDP; the kernel's own default is not the standard's 4789
	Underlay string          `json:"underlay"` // the device that carries it
	Bridge   string          `json:"bridge"`
	MTU      int             `json:"mtu"`
	Offloads map[string]bool `json:"offloads,omitempty"`
}

// NodeOf returns the node that a place (a node, a container or a VM's interface) belongs to, "" if
// there is no such place.
func (g Graph) NodeOf(place string) string {
	for _, n := range g.Nodes {
		if n.Name == place {
			return place
		}
	}
	for _, c := range g.Containers {
		if c.Name == place {
			return c.Node
		}
	}
	if vm, _, ok := g.InVM(place); ok {
		return vm.Node
	}
	_, engine, _ := g.Contained(place)
	return engine.Node
}

// Node returns the node of that name.
func (g Graph) Node(name string) (Node, bool) {
	i := slices.IndexFunc(g.Nodes, func(n Node) bool { return n.Name == name })
	if i < 0 {
		return Node{}, false
	}
	return g.Nodes[i], true
}

// ByBacklog tells whether a wire hands its packets over by RPS, so that the receiving CPU's backlog is its ring.
func (g Graph) ByBacklog() bool {
	return slices.ContainsFunc(g.Links, func(l Link) bool {
		return l.Role == result.RoleWire && (l.Ends[0].Steering == SteerRPS || l.Ends[1].Steering == SteerRPS)
	})
}

// Owner is the node that creates a link: the one of its first end. Wires have
// both ends' nodes in the graph's order.
func (g Graph) Owner(l Link) string { return g.NodeOf(l.Ends[0].Place) }

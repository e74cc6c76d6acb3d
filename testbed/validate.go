package testbed

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"windtunnel/result"
)

// Bounds of what a Linux device takes.
const (
	maxDeviceName = 15 // IFNAMSIZ less the final NUL, linux/if.h
	minMTU        = 68 // RFC 791: every module forwards 68 octets
	maxMTU        = 65535
	maxQueues     = 4096 // MAX_Q in net/core/rtnetlink.c
	maxVNI        = 1<<24 - 1
)

// Validate tells everything that makes g impossible to build, each fault with
// the object's name.
func Validate(g Graph) error {
	c := checker{graph: g, devices: map[string]string{}, names: map[string]bool{}, found: map[string]bool{}}
	c.places()
	for _, b := range g.Bridges {
		c.bridge(b)
	}
	for _, b := range g.Bonds {
		c.bond(b)
	}
	for _, l := range g.Links {
		c.link(l)
	}
	for _, v := range g.VXLANs {
		c.vxlan(v)
	}
	for _, m := range g.Routes {
		c.multipath(m)
	}
	for _, d := range g.Daemons {
		c.daemon(d)
	}
	for _, p := range g.Ports {
		c.pollPort(p)
	}
	for _, e := range g.Engines {
		c.engine(e)
	}
	for _, v := range g.VMs {
		c.vm(v)
	}
	if len(c.faults) == 0 {
		return nil
	}
	return fmt.Errorf("the testbed of cell %q cannot be built: %w", g.Cell, errors.Join(c.faults...))
}

type checker struct {
	graph   Graph
	names   map[string]bool   // kind and name
	devices map[string]string // place/device -> who has it
	found   map[string]bool   // place/device of hosts' own stacks, which wires may share
	faults  []error
}

func (c *checker) fault(format string, args ...any) {
	c.faults = append(c.faults, fmt.Errorf(format, args...))
}

// once notes an object's name: it is a path's element in a daemon's folder, so
// it holds no slash, and Diff goes by it, so it is there once.
func (c *checker) once(kind Kind, name string) {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
		c.fault("a %s has the name %q: names are not empty and hold no slash", kind, name)
	}
	key := string(kind) + " " + name
	if c.names[key] {
		c.fault("two of the kind %s are called %q: every name once", kind, name)
	}
	c.names[key] = true
}

func (c *checker) places() {
	places := map[string]bool{}
	for _, name := range c.graph.Places() {
		if places[name] {
			c.fault("two places are called %q: every node and container has a name of its own", name)
		}
		places[name] = true
	}
	for _, n := range c.graph.Nodes {
		c.once(KindNode, n.Name)
		if n.NIC != nil {
			c.hostNIC(n)
		}
		if n.InPlace {
			c.inPlace(n)
		}
		if slices.ContainsFunc(n.CPUs, func(cpu int) bool { return cpu < 0 }) {
			c.fault("node %s has the CPUs %v: CPUs count from 0", n.Name, n.CPUs)
		}
	}
	for _, k := range c.graph.Containers {
		c.once(KindContainer, k.Name)
		c.onNode(KindContainer, k.Name, k.Node)
	}
}

func (c *checker) onNode(kind Kind, name, node string) {
	if _, ok := c.graph.Node(node); !ok {
		c.fault("%s %s stands on %q, which is no node", kind, name, node)
	}
}

func (c *checker) device(owner, place, device string) {
	switch {
	case device == "" || len(device) > maxDeviceName:
		c.fault("%s: the device name %q has %d bytes, 1 to %d are possible", owner, device, len(device), maxDeviceName)
	case device == "." || device == ".." || device == "lo" || strings.ContainsAny(device, "/: \t\n%"):
		c.fault("%s: %q is not a possible device name", owner, device)
	}
	key := place + "/" + device
	if other, taken := c.devices[key]; taken && !c.found[key] {
		c.fault("%s and %s both have the device %s", other, owner, key)
	}
	c.devices[key] = owner
}

func (c *checker) mtu(owner string, mtu int) {
	if mtu < minMTU || mtu > maxMTU {
		c.fault("%s: an MTU of %d is not possible (%d to %d)", owner, mtu, minMTU, maxMTU)
	}
}

func (c *checker) bridge(b Bridge) {
	owner := "bridge " + b.Name
	c.once(KindBridge, b.Name)
	c.onNode(KindBridge, b.Name, b.Node)
	c.device(owner, b.Node, b.Device)
	c.mtu(owner, b.MTU)
	c.offloads(owner, b.Offloads)
	c.addresses(owner, Interface{Addresses: b.Addresses})
}

func (c *checker) port(owner, node, bridge string) {
	if bridge != "" && bridgeKey(c.graph, node, bridge) == "" {
		c.fault("%s is a port of %q, but there is no such bridge on node %s", owner, bridge, node)
	}
}

func (c *checker) offloads(owner string, offloads map[string]bool) {
	for name := range offloads {
		if known := []string{TSO, GSO, GRO, GROJoins, UDPSeg, TxChecksum}; !slices.Contains(known, name) {
			c.fault("%s: %q is not an offload; use one of %s", owner, name, strings.Join(known, ", "))
		}
	}
}

func (c *checker) link(l Link) {
	owner := "link " + l.Name
	c.once(KindLink, l.Name)
	if !slices.Contains([]string{result.RoleWire, result.RoleEndpoint, result.RoleInner}, l.Role) {
		c.fault("%s has the role %q; use %s, %s or %s", owner, l.Role, result.RoleWire, result.RoleEndpoint, result.RoleInner)
	}
	across := c.graph.NodeOf(l.Ends[0].Place) != c.graph.NodeOf(l.Ends[1].Place)
	if across != (l.Role == result.RoleWire) {
		c.fault("%s has the role %s and joins %s and %s: a wire joins two nodes, and nothing else does",
			owner, l.Role, l.Ends[0].Place, l.Ends[1].Place)
	}
	if _, isNode := c.graph.Node(l.Ends[1].Place); l.Kind == LinkTap && (!isNode || l.Ends[1].Device != "") {
		c.fault("%s is a tap, and has %s/%s at its other end: name the node alone whose daemon opens it", owner, l.Ends[1].Place, l.Ends[1].Device)
	}
	if l.Kind != LinkTap && l.Ends[0].MTU != l.Ends[1].MTU {
		c.fault("%s has ends of MTU %d and %d: make them the same", owner, l.Ends[0].MTU, l.Ends[1].MTU)
	}
	for _, end := range l.Interfaces() {
		node, _ := c.graph.Node(end.Place)
		if l.Kind == WireNetwork && node.InPlace {
			c.found[end.Place+"/"+end.Device] = true
		}
		c.end(owner, end)
		c.foundQueues(owner+" at "+end.Place+"/"+end.Device, l, end)
		if _, takes := node.NICOf(end.Device); l.Kind == WireNetwork && !takes {
			c.fault("%s is found, not made, and %s/%s is not the interface of a real host's wire", owner, end.Place, end.Device)
		}
	}
	c.pull(l)
}

// hostNIC is checked by what paths derive from it: IPv4 addresses and MACs.
func (c *checker) hostNIC(n Node) {
	for _, nic := range n.NICs() {
		address, err := netip.ParsePrefix(nic.Address)
		if err != nil || !address.Addr().Is4() {
			c.fault("node %s: its data address %q is no IPv4 address with its prefix length, like 10.0.0.1/24", n.Name, nic.Address)
		}
	}
}

// inPlace refuses to build anything in a host's own stack: engines make there what they run, and the wire is found.
func (c *checker) inPlace(n Node) {
	part := c.graph.Part(n.Name)
	made := len(part.Containers) + len(part.Bridges) + len(part.Bonds) + len(part.VXLANs) + len(part.Daemons) + len(part.Ports) + len(part.Routes) + len(part.VMs)
	for _, l := range part.Links {
		if l.Kind != WireNetwork {
			made++
		}
	}
	if n.NIC == nil || made > 0 {
		c.fault("node %s is a host's own stack, where nothing but an engine's containers is made, and has no interface or %d other parts", n.Name, made)
	}
}

func (c *checker) end(owner string, i Interface) {
	owner += " at " + i.Place + "/" + i.Device
	if c.graph.NodeOf(i.Place) == "" {
		c.fault("%s: there is no place %q", owner, i.Place)
	}
	c.device(owner, i.Place, i.Device)
	c.mtu(owner, i.MTU)
	c.port(owner, i.Place, i.Bridge)
	c.offloads(owner, i.Offloads)
	if i.Queues < 0 || i.Queues > maxQueues {
		c.fault("%s: %d queues are not possible", owner, i.Queues)
	}
	if !slices.Contains([]string{SteerNone, SteerThreaded, SteerFirst, SteerRPS}, i.Steering) {
		c.fault("%s: steering %q is unknown; use %s, %s or %s", owner, i.Steering, SteerThreaded, SteerFirst, SteerRPS)
	}
	if gro, named := i.Offloads[GRO]; i.Threaded() && (!named || !gro) {
		// drivers/net/veth.c: the device has NAPI only with GRO or XDP.
		c.fault("%s: threaded NAPI needs GRO on a virtual pair; switch gro on or steer by rps", owner)
	}
	if known := c.cpus(); slices.ContainsFunc(i.CPUs, func(cpu int) bool { return !slices.Contains(known, cpu) }) {
		c.fault("%s: it is steered to the CPUs %v, and the nodes have %v", owner, i.CPUs, known)
	}
	if rate := i.BitsPerSecond; rate != 0 && !(rate >= 1e3 && rate <= 1e13) || !(i.Loss >= 0 && i.Loss < 1) {
		c.fault("%s: a rate of %g bit/s or a loss of %g is not possible", owner, rate, i.Loss)
	}
	c.queueBy(owner, i)
	c.addresses(owner, i)
}

// cpus are those of all nodes: what arrives may be received on the CPUs of the one that sent it.
func (c *checker) cpus() (all []int) {
	for _, n := range c.graph.Nodes {
		all = append(all, n.CPUs...)
	}
	return all
}

// maxDestinations bounds the program that looks for them one after the other.
const maxDestinations = 256

func (c *checker) queueBy(owner string, i Interface) {
	if !slices.Contains([]string{QueueByKernel, QueueByFlow, QueueByDestination}, i.QueueBy) {
		c.fault("%s: queues are not chosen by %q; use %s or %s", owner, i.QueueBy, QueueByFlow, QueueByDestination)
	}
	if i.QueueBy != QueueByKernel && i.Queues < 2 {
		c.fault("%s: it chooses by %s among %d queues: take at least 2", owner, i.QueueBy, max(1, i.Queues))
	}
	if len(i.Destinations) > maxDestinations || len(i.Destinations) > 0 && i.QueueBy != QueueByDestination {
		c.fault("%s: it has %d destinations and chooses queues by %q: at most %d, by %s",
			owner, len(i.Destinations), i.QueueBy, maxDestinations, QueueByDestination)
	}
	for _, mac := range i.Destinations {
		if parsed, err := net.ParseMAC(mac); err != nil || len(parsed) != 6 {
			c.fault("%s: the destination %q is no Ethernet address", owner, mac)
		}
	}
	if i.CPUAQueue && !i.Threaded() {
		c.fault("%s: a CPU for each queue needs receive threads: steer it by %s", owner, SteerThreaded)
	}
}

func (c *checker) addresses(owner string, i Interface) {
	if i.MAC != "" {
		if mac, err := net.ParseMAC(i.MAC); err != nil || len(mac) != 6 || mac[0]&1 != 0 {
			c.fault("%s: %q is not the address of one Ethernet interface", owner, i.MAC)
		}
	}
	for _, address := range i.Addresses {
		if _, err := netip.ParsePrefix(address); err != nil {
			c.fault("%s: %q is not an address with its prefix length, like 10.0.0.1/24", owner, address)
		}
	}
	for _, r := range i.Routes {
		if _, err := netip.ParsePrefix(r.Prefix); err != nil {
			c.fault("%s: the route's destination %q is not a prefix, like 10.0.0.0/24", owner, r.Prefix)
		}
		if _, err := netip.ParseAddr(r.Gateway); r.Gateway != "" && err != nil {
			c.fault("%s: the gateway %q is not an address", owner, r.Gateway)
		}
	}
}

func (c *checker) vxlan(v VXLAN) {
	owner := "vxlan " + v.Name
	c.once(KindVXLAN, v.Name)
	c.onNode(KindVXLAN, v.Name, v.Node)
	c.device(owner, v.Node, v.Device)
	c.mtu(owner, v.MTU)
	c.port(owner, v.Node, v.Bridge)
	c.offloads(owner, v.Offloads)
	if v.VNI < 1 || v.VNI > maxVNI {
		c.fault("%s: the VNI %d is not possible (1 to %d)", owner, v.VNI, maxVNI)
	}
	if v.Port < 1 || v.Port > 65535 {
		c.fault("%s: the UDP port %d is not possible", owner, v.Port)
	}
	for _, address := range []string{v.Local, v.Remote} {
		if _, err := netip.ParseAddr(address); err != nil {
			c.fault("%s: the tunnel end %q is not an address", owner, address)
		}
	}
	if c.devices[v.Node+"/"+v.Underlay] == "" {
		c.fault("%s: its underlay %s/%s is not in the graph", owner, v.Node, v.Underlay)
	}
}

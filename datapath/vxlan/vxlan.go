// Package vxlan is the overlay of the kernel's own VXLAN device: containers on a
// bridge, and the tunnel as one of its ports.
package vxlan

import (
	"fmt"

	"windtunnel/datapath"
	"windtunnel/result"
	"windtunnel/testbed"
)

// Overhead is what VXLAN adds to an IP packet: the inner Ethernet header, VXLAN,
// UDP and the outer IPv4 header (RFC 7348 section 5).
const Overhead = 14 + 8 + 8 + 20

// port is VXLAN's own (RFC 7348); the kernel's default is an older one.
const port = 4789

const optionVNI = "vni"

// Path lays containers behind kernel VXLAN devices.
type Path struct{}

var _ datapath.Path = Path{}

// OverHosts says that real hosts will do.
func (Path) OverHosts() {}

// Bare is the same without the tunnel.
func (Path) Bare() string { return "bridge" }

// Name is the suite's word.
func (Path) Name() string { return "vxlan" }

// Says describes it.
func (Path) Says() string {
	return "containers behind a bridge and the kernel's VXLAN device on each node"
}

// Options is the network's number.
func (Path) Options() []result.Option {
	return []result.Option{{
		Name: optionVNI, Type: result.Count, Min: 1, Max: 1<<24 - 1, Default: int64(100),
		Says: "the VXLAN network identifier",
	}}
}

// Lay makes one overlay segment of all containers. On one node nothing leaves its
// bridge, and the MTU is an overlay's all the same, as it would be there.
func (p Path) Lay(r datapath.Request) (datapath.Laid, error) {
	l, err := datapath.Begin(p.Name(), r)
	if err != nil {
		return datapath.Laid{}, err
	}
	containers, err := l.Endpoints()
	if err != nil {
		return datapath.Laid{}, err
	}
	mtu, err := l.InnerMTU(Overhead)
	if err != nil {
		return datapath.Laid{}, err
	}
	for _, node := range l.Graph.Nodes {
		l.Bridge(node.Name, mtu)
	}
	if l.Joined() {
		if err := tunnel(l, mtu); err != nil {
			return datapath.Laid{}, err
		}
	}
	for i, place := range containers {
		l.OnSegment(place, i, mtu).Bridge = datapath.BridgeName(place.Node)
	}
	l.Fact(datapath.FactEncapsulation, "vxlan")
	l.Fact(datapath.FactOverhead, fmt.Sprint(Overhead))
	return l.Finish(mtu)
}

// tunnel adds the wire with the underlay's addresses, and a VXLAN device to each
// node's bridge that sends everything to the other node.
func tunnel(l *datapath.Layout, mtu int) error {
	vni := int(l.Request.Options.Int(optionVNI))
	if vni == 0 {
		vni = 100
	}
	if err := l.Wire(l.OnUnderlay); err != nil {
		return err
	}
	nodes := l.Graph.Nodes
	for i, node := range nodes {
		l.Graph.VXLANs = append(l.Graph.VXLANs, testbed.VXLAN{
			Name: "vxlan-" + node.Name, Node: node.Name, Device: "vxlan0", VNI: vni, Port: port,
			Local: l.Node(node.Name).String(), Remote: l.Node(nodes[1-i].Name).String(),
			Underlay: l.NIC(node.Name), Bridge: datapath.BridgeName(node.Name), MTU: mtu,
		})
	}
	return nil
}

// Package ovs is the path through Open vSwitch with its userspace datapath
// (datapath_type=netdev), as distributions ship it, with a database and a daemon of
// its own on each node.
package ovs

import (
	"cmp"
	"fmt"
	"strings"

	"windtunnel/datapath"
	"windtunnel/result"
	"windtunnel/testbed"
)

// Path lays containers behind Open vSwitch.
type Path struct{}

var _ datapath.Path = Path{}

// Name is the suite's word.
func (Path) Name() string { return "ovs" }

// OverHosts says that real hosts will do.
func (Path) OverHosts() {}

// Says describes it.
func (Path) Says() string {
	return "containers behind Open vSwitch's userspace datapath on each node, plain or with its VXLAN"
}

const (
	optionEncapsulation = "encapsulation"
	optionVNI           = "vni"
	optionTSO           = "tso"
)

// The encapsulations.
const (
	plain = "none"
	vxlan = "vxlan"
)

// vxlanOverhead is what VXLAN adds to an IP packet: the inner Ethernet header, VXLAN,
// UDP and the outer IPv4 header (RFC 7348 section 5).
const vxlanOverhead = 14 + 8 + 8 + 20

// Options are the encapsulation, and Open vSwitch's own switch for segmentation.
func (Path) Options() []result.Option {
	return append(encapsulation(), result.Option{
		Name: optionTSO, Type: result.Switch, Default: false,
		Says: "userspace-tso-enable: packets of TCP stay whole through the switch; off, as Open vSwitch has it by itself, containers cut them",
	})
}

func encapsulation() []result.Option {
	return []result.Option{{
		Name: optionEncapsulation, Type: result.Word, Default: plain, Words: []string{plain, vxlan},
		Says: "how packets are wrapped between nodes; none switches them as they are",
	}, {
		Name: optionVNI, Type: result.Count, Min: 1, Max: 1<<24 - 1, Default: int64(100),
		Says: "the VXLAN network identifier",
	}}
}

// Programs are those of Open vSwitch, and what gives a bridge its address.
func (Path) Programs() []datapath.Program {
	const install = "apt-get install openvswitch-switch"
	return []datapath.Program{
		{Name: vswitchd, Install: install},
		{Name: "ovsdb-server", Install: install}, {Name: "ovsdb-tool", Install: install}, {Name: "ovs-vsctl", Install: install},
		{Name: "ip", Install: "apt-get install iproute2"},
	}
}

const vswitchd = "ovs-vswitchd"

// Lay makes one layer 2 segment of all containers.
func (p Path) Lay(r datapath.Request) (datapath.Laid, error) {
	l, err := datapath.Begin(p.Name(), r)
	if err != nil {
		return datapath.Laid{}, err
	}
	way, err := wrapping(l)
	if err != nil {
		return datapath.Laid{}, err
	}
	tso := r.Options.Bool(optionTSO) && r.Segmentation != datapath.SegmentationOff
	if tso && way.name == vxlan {
		return datapath.Laid{}, l.Errorf("Open vSwitch before 3.3 drops whole packets of TCP at a tunnel: leave %s off, or take the encapsulation %s", optionTSO, plain)
	}
	return lay(l, way, tso, func(_ *datapath.Layout, s *aSwitch) {
		if tso {
			s.settings = append(s.settings, "userspace-tso-enable=true")
		}
	})
}

// lay adds the wire, the containers and a switch a node, which shape makes one of its kind.
func lay(l *datapath.Layout, way wrap, tso bool, shape func(*datapath.Layout, *aSwitch)) (datapath.Laid, error) {
	containers, err := l.Containers()
	if err != nil {
		return datapath.Laid{}, err
	}
	mtu, err := l.InnerMTU(way.overhead)
	if err != nil {
		return datapath.Laid{}, err
	}
	if l.Joined() {
		if err := l.Wire(func(end *testbed.Interface) { onWire(l, end, way, tso) }); err != nil {
			return datapath.Laid{}, err
		}
	}
	for _, node := range l.Graph.Nodes {
		s := newSwitch(node.Name)
		shape(l, s)
		for i, place := range containers {
			if place.Node == node.Name {
				s.addEndpoint(l, place, i, mtu, tso)
			}
		}
		if l.Joined() {
			s.toWire(l, way)
		}
		s.add(l)
		if err := s.ports(l, node, containers, way, mtu); err != nil {
			return datapath.Laid{}, err
		}
	}
	l.Fact(datapath.FactEncapsulation, way.name)
	l.Fact(datapath.FactCounters, "Open vSwitch")
	l.Fact(datapath.FactOverhead, fmt.Sprint(way.overhead))
	return l.Finish(mtu)
}

// wrap is how packets go between nodes.
type wrap struct {
	name     string
	overhead int // bytes a packet
	vni      int64
}

func wrapping(l *datapath.Layout) (wrap, error) {
	w := wrap{
		name: cmp.Or(l.Request.Options.Text(optionEncapsulation), plain),
		vni:  cmp.Or(l.Request.Options.Int(optionVNI), 100),
	}
	switch w.name {
	case plain:
		return w, nil
	case vxlan:
		w.overhead = vxlanOverhead
		return w, nil
	}
	return w, l.Errorf("the encapsulation %q is unknown: choose one of %s", w.name, strings.Join([]string{plain, vxlan}, ", "))
}

// onWire shapes the wire's end. Without tso Open vSwitch reads it in buffers of one
// packet (netdev_linux_batch_rxq_recv_sock in lib/netdev-linux.c).
func onWire(l *datapath.Layout, end *testbed.Interface, way wrap, tso bool) {
	if node, _ := l.Graph.Node(end.Place); way.name == vxlan && node.NIC == nil {
		// The bridge has the node's address. Were its MAC the device's, as a
		// real host's is not, the kernel would take the tunnel's packets too, and
		// answer that nobody listens there.
		end.MAC = datapath.MAC(2, l.Node(end.Place))
	}
	if !tso {
		datapath.ReadByPacketSocket(end)
	}
}

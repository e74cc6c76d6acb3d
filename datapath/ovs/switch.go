package ovs

import (
	"fmt"
	"strings"

	"windtunnel/datapath"
	"windtunnel/result"
	"windtunnel/testbed"
)

// The bridges of a node: the endpoints' and, under a tunnel, the wire's. Without a
// tunnel the wire is a port of the first.
const (
	inside = "br0"
	below  = "br-phy"
	tunnel = "vxlan0"
)

// aSwitch is one node's Open vSwitch: what its database holds and which daemons serve it.
type aSwitch struct {
	node     string
	program  string
	drawn    string
	polls    bool
	settings []string                              // other_config of the whole switch, set before it starts
	vhost    bool                                  // endpoints of raw frames alone are at vhost-user sockets
	words    []string                              // words of ovs-vsctl that make the bridges and ports
	after    []testbed.Command                     // once those are there
	portType func(device string, mtu int) []string // the settings of a device of the kernel as a port
}

func newSwitch(node string) *aSwitch {
	s := &aSwitch{node: node, program: vswitchd, drawn: "OVS", portType: func(string, int) []string { return nil }}
	s.addBridge(inside)
	return s
}

func (s *aSwitch) addBridge(name string, settings ...string) {
	s.words = append(s.words, "--", "add-br", name, "--", "set", "bridge", name, "datapath_type=netdev")
	s.words = append(s.words, settings...)
}

// addPort adds a port with the settings of its interface, if any.
func (s *aSwitch) addPort(bridge, name string, settings ...string) {
	s.words = append(s.words, "--", "add-port", bridge, name)
	if len(settings) > 0 {
		s.words = append(append(s.words, "--", "set", "interface", name), settings...)
	}
}

// addDevice adds a device of the kernel as a port.
func (s *aSwitch) addDevice(bridge, device string, mtu int) {
	s.addPort(bridge, device, s.portType(device, mtu)...)
}

// addEndpoint adds a container and its port.
func (s *aSwitch) addEndpoint(l *datapath.Layout, place result.Place, i, mtu int, tso bool) {
	if s.vhost {
		s.addVhost(i, mtu)
		return
	}
	l.OnSegment(place, i, mtu)
	if !tso {
		l.FinishPackets(place) // as its guide to userspace datapaths says
	}
	s.addDevice(inside, datapath.HostDevice(place.Container), mtu)
}

// toWire joins the switch to the other node: by the wire's end, or by a tunnel whose
// packets leave through a bridge with the node's own address, which is how Open vSwitch
// finds the other end and resolves its MAC in the userspace datapath.
func (s *aSwitch) toWire(l *datapath.Layout, way wrap) {
	if way.name == plain {
		s.addDevice(inside, l.NIC(s.node), l.Request.Wire.MTU)
		return
	}
	own, other := l.Node(s.node), l.Node(otherNode(l, s.node))
	s.addPort(inside, tunnel, "type=vxlan", "options:local_ip="+own.String(), "options:remote_ip="+other.String(),
		fmt.Sprintf("options:key=%d", way.vni))
	s.addBridge(below, "other_config:hwaddr="+datapath.MAC(0, own))
	s.addDevice(below, l.NIC(s.node), l.Request.Wire.MTU)
	ip := func(words string) {
		s.after = append(s.after, testbed.Command{Program: "ip", Args: strings.Fields(words)})
	}
	ip("address add " + l.OnSubnet(s.node) + " dev " + below)
	ip("link set " + below + " up")
}

func otherNode(l *datapath.Layout, node string) string {
	if name := l.Graph.Nodes[0].Name; name != node {
		return name
	}
	return l.Graph.Nodes[1].Name
}

func (s *aSwitch) daemon() string { return "ovs-" + s.node }

func (s *aSwitch) database() string { return "ovsdb-" + s.node }

// remote is where the database listens.
func (s *aSwitch) remote() string { return "unix:{dir:" + s.database() + "}/db.sock" }

func (s *aSwitch) vsctl(args ...string) testbed.Command {
	return testbed.Command{Program: "ovs-vsctl", Args: append([]string{"--db=" + s.remote(), "--timeout=8"}, args...)}
}

// add adds the switch's two daemons: the database and the switch itself. Logs go
// nowhere but to the testbed, and nothing to the system's own Open vSwitch.
func (s *aSwitch) add(l *datapath.Layout) {
	log := []string{"-vconsole:warn", "-vsyslog:off", "-vfile:off"}
	first := []string{"--no-wait", "init"}
	for _, value := range s.settings {
		first = append(first, "--", "set", "Open_vSwitch", ".", "other_config:"+value)
	}
	l.Graph.Daemons = append(l.Graph.Daemons, testbed.Daemon{
		Name: s.database(), Node: s.node, Program: "ovsdb-server",
		Args:        append([]string{"{dir}/conf.db", "--remote=punix:{dir}/db.sock", "--unixctl={dir}/ctl"}, log...),
		Environment: []string{"OVS_RUNDIR={dir}"},
		Before:      []testbed.Command{{Program: "ovsdb-tool", Args: []string{"create", "{dir}/conf.db"}}},
		Up:          testbed.Up{Socket: "{dir}/db.sock"}, Ends: testbed.EndsBySignal,
	}, testbed.Daemon{
		Name: s.daemon(), Node: s.node, Drawn: s.drawn, Polls: s.polls, Program: s.program,
		Args: append([]string{s.remote(), "--unixctl={dir}/ctl"}, log...),
		// Where Open vSwitch and DPDK make their files, instead of in the system's folders.
		Environment: []string{"OVS_RUNDIR={dir}", "RUNTIME_DIRECTORY={dir}"},
		Before:      []testbed.Command{s.vsctl(first...)},
		Up:          testbed.Up{Socket: "{dir}/ctl"}, Ends: testbed.EndsBySignal,
		Probe: "openvswitch", Socket: "{dir}/ctl",
		After: append([]testbed.Command{s.vsctl(s.words[1:]...)}, s.after...),
	})
}

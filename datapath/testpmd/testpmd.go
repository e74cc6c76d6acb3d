// Package testpmd is the floor of poll-mode data planes: DPDK's own test program, which
// takes packets from one port to the other and looks at none of them.
package testpmd

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"windtunnel/datapath"
	"windtunnel/result"
	"windtunnel/testbed"
)

// Path lays a forwarder between two ports on each node.
type Path struct{}

var _ datapath.Path = Path{}

// OverHosts says that real hosts will do.
func (Path) OverHosts() {}

// Name is the suite's word.
func (Path) Name() string { return "testpmd" }

// Says describes it.
func (Path) Says() string {
	return "one container a node (or two on one) behind DPDK's testpmd, which forwards from port to port: the floor of poll mode; endpoints of raw frames alone are at vhost-user sockets"
}

const optionForward = "forward"

// What testpmd does with a packet.
const (
	asItIs  = "io"  // nothing
	newMACs = "mac" // its Ethernet addresses are written anew
)

var ways = []string{asItIs, newMACs}

// Options are what it does with packets.
func (Path) Options() []result.Option {
	return []result.Option{{
		Name: optionForward, Type: result.Word, Default: asItIs, Words: ways,
		Says: "testpmd's forwarding mode: io looks at no packet, mac writes every one's Ethernet addresses",
	}}
}

// Programs is testpmd.
func (Path) Programs() []datapath.Program {
	return []datapath.Program{{Name: program, Install: "apt-get install dpdk-dev"}}
}

const program = "dpdk-testpmd"

// Lay joins two ports on each node: a container's and the wire's, or two containers'.
func (p Path) Lay(r datapath.Request) (datapath.Laid, error) {
	l, err := datapath.Begin(p.Name(), r)
	if err != nil {
		return datapath.Laid{}, err
	}
	if err := l.FitsPacketBuffer(); err != nil {
		return datapath.Laid{}, err
	}
	way := cmp.Or(r.Options.Text(optionForward), asItIs)
	if !slices.Contains(ways, way) {
		return datapath.Laid{}, l.Errorf("the forwarding mode %q is unknown: choose one of %s", way, strings.Join(ways, ", "))
	}
	lay := l.Between
	if r.OnlyFrames {
		lay = l.Two
	}
	containers, err := lay("ports", datapath.ReadByPacketSocket)
	if err != nil {
		return datapath.Laid{}, err
	}
	for _, place := range containers {
		l.FinishPackets(place)
	}
	for _, node := range l.Graph.Nodes {
		forwarder(l, node, containers, way)
	}
	if cpus := alone(l); r.OnlyFrames && len(cpus) == len(l.Graph.Nodes) {
		l.Fact(result.LayoutDevice, strings.Join(cpus, " "))
	}
	return l.Finish(r.Wire.MTU)
}

// alone are the CPUs that only forward, one of each node that has another one for what sends and
// counts at ports.
func alone(l *datapath.Layout) (cpus []string) {
	for _, node := range l.Graph.Nodes {
		if most := len(node.CPUs) - 1; most > 0 {
			cpus = append(cpus, strconv.Itoa(node.CPUs[most]))
		}
	}
	return cpus
}

// forwarder adds a node's testpmd. One thread of it forwards without a pause, on the
// last of the node's CPUs; the other waits for its input to end.
func forwarder(l *datapath.Layout, node testbed.Node, containers []result.Place, way string) {
	name := "testpmd-" + node.Name
	// Line by line, or what it says would stay in its buffer.
	args := []string{"-oL", program, "--no-huge", "-m", "128", "--no-shconf", "--no-pci", "--no-telemetry"}
	if len(node.CPUs) > 0 {
		last := node.CPUs[len(node.CPUs)-1]
		args = append(args, fmt.Sprintf("--lcores=0@%d,1@%d", node.CPUs[0], last))
		l.Polls(node, last, program)
	}
	var ports []datapath.PollPort
	devices, peers := l.Sides(node.Name, containers)
	for i, device := range devices {
		if device == l.NIC(node.Name) || !l.Request.OnlyFrames {
			args = append(args, fmt.Sprintf("--vdev=net_af_packet%d,iface=%s", i, device))
			continue
		}
		socket := fmt.Sprintf("port-%d.sock", i)
		args = append(args, fmt.Sprintf("--vdev=net_vhost%d,iface={dir}/%s", i, socket))
		ports = append(ports, datapath.SegmentPort(containers[i], i, 1-i, l.Request.Wire.MTU, "{dir:"+name+"}/"+socket))
	}
	args = append(args, "--", "--forward-mode="+way, "--nb-cores=1", "--total-num-mbufs=16384")
	if way == newMACs {
		for i, peer := range peers {
			args = append(args, fmt.Sprintf("--eth-peer=%d,%s", i, peer))
		}
	}
	l.Graph.Daemons = append(l.Graph.Daemons, testbed.Daemon{
		Name: name, Node: node.Name, Drawn: "TESTPMD", Polls: true, Program: "stdbuf", Args: args,
		// Where DPDK makes its folder, instead of in the system's.
		Environment: []string{"RUNTIME_DIRECTORY={dir}"},
		Up:          testbed.Up{Says: "Press enter to exit"},
	})
	l.AtPorts(node, ports)
}

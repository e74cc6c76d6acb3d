package vrouter

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"windtunnel/datapath"
	"windtunnel/result"
	"windtunnel/testbed"
	"windtunnel/vrouter/config"
)

// Who is at the far end of the fabric. With the tester there, one vRouter is measured alone: no
// other one takes CPU time or is in a figure.
const (
	optionFar  = "far"
	farVRouter = "vrouter"
	farTester  = "tester"
)

// alone is a cell with the tester at the far end of its one vRouter's fabric. The zero value is none.
type alone struct {
	endpoint result.Place // which stands there: the first pair's receiver
	way      wrap
}

func (a alone) is() bool { return a.endpoint.Container != "" }

// at tells whether a container is the far end.
func (a alone) at(place result.Place) bool { return a.is() && place == a.endpoint }

func aloneOf(l *datapath.Layout, containers []result.Place, way wrap) (alone, error) {
	far := cmp.Or(l.Request.Options.Text(optionFar), farVRouter)
	switch {
	case far == farVRouter:
		return alone{}, nil
	case far != farTester:
		return alone{}, l.Errorf("%s: %q is unknown: choose %s or %s", optionFar, far, farVRouter, farTester)
	case !l.Request.OnlyFrames:
		return alone{}, l.Errorf("%s: %s is for raw frames alone, because only they can wear a tunnel's headers: take the traffic frame, with nothing or frame beside it, or leave %s out",
			optionFar, farTester, optionFar)
	case slices.ContainsFunc(containers, inVM):
		return alone{}, l.Errorf("%s: %s sends from this machine's own CPUs, which a VM's are not: take containers", optionFar, farTester)
	case l.Request.Segmentation == datapath.SegmentationOff:
		return alone{}, l.Errorf("%s: %s wants receive work on CPUs of its own, which takes GRO: leave segmentation %s, since frames have nothing to segment",
			optionFar, farTester, datapath.SegmentationFound)
	case len(containers) != 2 || l.Joined():
		return alone{}, l.Errorf("%s: %s takes two containers on one node, and the pairs have %d on %d: let one send to the other, or each to the other",
			optionFar, farTester, len(containers), len(l.Graph.Nodes))
	}
	return alone{endpoint: l.Request.Pairs[0].To, way: way}, nil
}

// tunnel is what the far end's frames wear. Labels are by the containers' places in the list.
func (a alone) tunnel(l *datapath.Layout, containers []result.Place) *result.Tunnel {
	t := &result.Tunnel{
		Encapsulation: string(a.way.encapsulation), Inner: config.GatewayMAC.String(),
		From: a.way.beyond(l).String(), To: a.way.address(l, a.endpoint.Node).String(),
		Sends: vni, Receives: vni,
	}
	if a.way.encapsulation != config.VXLAN {
		i := slices.Index(containers, a.endpoint)
		t.Sends, t.Receives = a.way.label(1-i), a.way.label(i)
	}
	return t
}

// MAC addresses of the fabric's two ends.
func nearMAC(l *datapath.Layout) string { return datapath.MAC(0, l.Node(l.Graph.Nodes[0].Name)) }
func farMAC(l *datapath.Layout) string  { return datapath.MAC(0, l.Beyond()) }

// fabricSocket is where poll mode's vRouter has its fabric, and the tester stands at the far end.
const fabricSocket = "fabric.sock"

// hostPart adds what the node's own stack has of a fabric that is a socket: a tap (vrouter/README.md,
// "Poll mode"), by which the vRouter learns its address and the far end's. Nobody answers for that,
// so it is told.
func (a alone) hostPart(l *datapath.Layout) {
	node := l.Graph.Nodes[0]
	address := datapath.Within(datapath.Underlay, a.way.address(l, node.Name))
	lines := []string{"ip tuntap add dev " + datapath.NIC + " mode tap"}
	if a.way.over6() {
		// A stack of ours has no IPv6 of its own accord; nobody else could have the address.
		lines = append(lines, "sysctl -q net.ipv6.conf."+datapath.NIC+".disable_ipv6=0")
		address = datapath.Within(datapath.Underlay6, a.way.address(l, node.Name)) + " nodad"
	}
	var commands []testbed.Command
	for _, line := range append(lines,
		fmt.Sprintf("ip link set dev %s address %s mtu %d up", datapath.NIC, nearMAC(l), l.Request.Wire.MTU),
		"ip address add dev "+datapath.NIC+" "+address,
		fmt.Sprintf("ip neighbour add %s lladdr %s dev %s nud permanent", a.way.beyond(l), farMAC(l), datapath.NIC),
	) {
		words := strings.Fields(line)
		commands = append(commands, testbed.Command{Program: words[0], Args: words[1:]})
	}
	l.Graph.Daemons = append(l.Graph.Daemons, testbed.Daemon{Name: "fabric-" + node.Name, Node: node.Name, Before: commands})
	l.Need(datapath.Program{Name: "ip", Install: "apt-get install iproute2"}, datapath.Program{Name: "sysctl", Install: "apt-get install procps"})
}

// Receive work: the device's shares its CPU among its interfaces; the tester's comes before what sends.
const (
	ofDevice = testbed.SteerThreaded
	ofTester = testbed.SteerFirst
)

// alongside keeps the kernel mode's work and the tester's apart: what an interface receives is the work
// of one CPU, whoever sent it. A virtual pair hands packets to its other end's NAPI only where its own
// segmentation is off (veth_skb_is_eligible_for_gro in drivers/net/veth.c).
func alongside(end *testbed.Interface, steering string, cpus []int) {
	end.Offloads = map[string]bool{testbed.TSO: false, testbed.GSO: false, testbed.UDPSeg: false, testbed.GRO: true}
	end.Steering, end.CPUs = steering, cpus
}

// shares are which of a node's CPUs forwards, the last, and which sends and counts, the first.
func shares(node testbed.Node) (forwards, tests []int) {
	if len(node.CPUs) == 0 {
		return nil, nil
	}
	return node.CPUs[len(node.CPUs)-1:], node.CPUs[:1]
}

// link makes the far end of a fabric in the kernel an interface of the endpoint's container.
func (a alone) link(l *datapath.Layout, near testbed.Interface) testbed.Link {
	forwards, tests := shares(l.Graph.Nodes[0])
	address := datapath.Within(datapath.Underlay, a.way.beyond(l))
	if a.way.over6() {
		address = datapath.Within(datapath.Underlay6, a.way.beyond(l))
	}
	far := testbed.Interface{Place: a.endpoint.Container, Device: datapath.Endpoint, MAC: farMAC(l), Addresses: []string{address}, MTU: near.MTU}
	alongside(&near, ofDevice, forwards)
	alongside(&far, ofTester, tests)
	l.Graph.Containers = append(l.Graph.Containers, testbed.Container{Name: a.endpoint.Container, Node: a.endpoint.Node})
	if len(l.Graph.Nodes[0].CPUs) > 1 {
		l.Fact(result.LayoutDevice, fmt.Sprint(forwards[0]))
	}
	return testbed.Link{Name: "fabric", Role: result.RoleEndpoint, Ends: [2]testbed.Interface{far, near}}
}

// container adds the i-th container, if it is not the one that stands at the far end already, and its
// port.
func (a alone) container(l *datapath.Layout, containers []result.Place, i, mtu int) {
	if !a.at(containers[i]) {
		forwards, tests := shares(l.Graph.Nodes[0])
		alongside(l.Container(containers[i], subnet, host(i), mtu), ofDevice, forwards)
		alongside(&l.Graph.Links[len(l.Graph.Links)-1].Ends[0], ofTester, tests)
	}
	a.kernelPort(l, containers, i, mtu)
}

// kernelPort adds the i-th container's port, which is its interface.
func (a alone) kernelPort(l *datapath.Layout, containers []result.Place, i, mtu int) {
	place := containers[i]
	_, tests := shares(l.Graph.Nodes[0])
	port := testbed.Port{
		Name: "endpoint-" + place.Container, Place: place.Container, Device: datapath.Endpoint, CPUs: tests,
		MAC: datapath.MAC(0, host(i)), NextHop: config.GatewayMAC.String(), Address: datapath.Within(subnet, host(i)), MTU: mtu,
	}
	if a.at(place) {
		port.MAC, port.NextHop, port.Tunnel = farMAC(l), nearMAC(l), a.tunnel(l, containers)
		l.Reach(place.Container, host(i))
	}
	l.Graph.Ports = append(l.Graph.Ports, port)
}

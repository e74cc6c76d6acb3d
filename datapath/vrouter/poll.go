package vrouter

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"windtunnel/datapath"
	"windtunnel/result"
	"windtunnel/testbed"
	"windtunnel/vrouter/config"
)

// The modes: what forwards.
const (
	modeKernel = "kernel"
	modePoll   = "poll"
)

// mode is how a cell's vRouters forward.
type mode struct {
	poll bool
	// ports: the endpoints are at vhost-user sockets, and have no interfaces.
	ports bool
	// taps: containers have taps, which poll mode reads and writes itself.
	taps bool
	// sockets: endpoints that are virtual machines are at such sockets.
	sockets bool
	alone   alone
}

// How poll mode reaches a container.
const (
	optionAttach = "attach"
	attachTap    = "tap"
	attachVeth   = "veth"
)

// How long a CPU that polls sleeps at a time while there is nothing to do: cells stand idle while
// others are measured. Where it is the vRouter's alone it is patient before, so that no frame of a
// measured window finds it asleep. Where others need it, because endpoints wait for an answer or have
// the same CPU, it is not, and sleeps shortly: a report of latency says so.
const (
	pauseAlone    = "500us"
	patienceAlone = "100ms"
	pauseOthers   = "50us"
)

// pollProgram is the process of poll mode.
var pollProgram = datapath.Program{Name: "vrouter-poll", Install: "build it with `make poll`"}

func modeOf(l *datapath.Layout, containers []result.Place, way wrap) (mode, error) {
	r := l.Request
	alone, err := aloneOf(l, containers, way)
	if err != nil || cmp.Or(r.Options.Text(optionMode), modeKernel) == modeKernel {
		return mode{alone: alone}, err
	}
	switch {
	case r.Options.Text(optionMode) != modePoll:
		return mode{}, l.Errorf("the mode %q is unknown: choose %s or %s", r.Options.Text(optionMode), modeKernel, modePoll)
	case cmp.Or(r.Options.Text(optionReceive), string(config.ReceiveAuto)) != string(config.ReceiveAuto):
		return mode{}, l.Errorf("%s is of the mode %s: poll mode receives everything by itself", optionReceive, modeKernel)
	case r.Options.Text(optionFast) == string(config.FastOn):
		return mode{}, l.Errorf("%s is of the mode %s: poll mode has one path only", optionFast, modeKernel)
	}
	vms := slices.ContainsFunc(containers, inVM)
	if vms && r.VM.Queues > 1 {
		return mode{}, l.Errorf("a VM's interface of %d queues is more than the one of poll mode's ports: take `vm: {queues: 1}`", r.VM.Queues)
	}
	m := mode{poll: true, ports: r.OnlyFrames && !vms, sockets: vms, alone: alone}
	switch attach := cmp.Or(r.Options.Text(optionAttach), attachTap); attach {
	case attachTap:
		m.taps = !m.ports && !vms && m.canTap(r)
	case attachVeth:
	default:
		return mode{}, l.Errorf("%s: %q is unknown: choose %s or %s", optionAttach, attach, attachTap, attachVeth)
	}
	return m, nil
}

// canTap tells whether a tap does what the cell asks for. What it leaves to a device is agreed on between its
// stack and who opens it, so it cannot be told to leave nothing; and frames of XDP's need a pair.
func (m mode) canTap(r datapath.Request) bool {
	return r.Segmentation != datapath.SegmentationOff && !r.Frames && r.Wire.MTU <= largestPort
}

// attach is what there is.
func (m mode) attach() string {
	if m.taps {
		return attachTap
	}
	return attachVeth
}

// largestPort is the MTU of a port that poll mode has at most (vrouter/README.md, "Poll mode").
const largestPort = 3822

func (m mode) check(l *datapath.Layout, mtu int) error {
	if (m.ports || m.sockets) && mtu > largestPort {
		return l.Errorf("endpoints of MTU %d are more than the %d of poll mode's ports: give the wire a smaller MTU", mtu, largestPort)
	}
	return nil
}

// cpu is which of a node's CPUs forwards, the last, and whether others need it: what sends and counts
// at ports has the first.
func (m mode) cpu(node testbed.Node) (forwards int, shared bool) {
	if len(node.CPUs) == 0 {
		return 0, true
	}
	return node.CPUs[len(node.CPUs)-1], len(node.CPUs) == 1
}

// probe reads the vRouter's counters, and of poll mode what its cores spent.
func (m mode) probe() string {
	if m.poll {
		return "vrouter-poll"
	}
	return "vrouter"
}

// arguments are the vRouter's, beside those of both modes.
func (m mode) arguments(node testbed.Node) []string {
	if !m.poll {
		return nil
	}
	forwards, _ := m.cpu(node)
	args := []string{"--mode", modePoll, "--poll-cpu", strconv.Itoa(forwards), "--poll-pause"}
	if m.sleeps(node) {
		return append(args, pauseOthers)
	}
	return append(args, pauseAlone, "--poll-patience", patienceAlone)
}

// sleeps tells whether the CPU that polls may sleep between the packets of a measured window.
func (m mode) sleeps(node testbed.Node) bool {
	_, shared := m.cpu(node)
	return m.poll && (!m.ports || shared)
}

// endpoints adds a node's endpoints at vhost-user sockets, if it has any.
func (m mode) endpoints(l *datapath.Layout, node testbed.Node, containers []result.Place, mtu int) {
	var ports []datapath.PollPort
	for i, place := range containers {
		if m.ports && place.Node == node.Name {
			port := datapath.PollPort{
				Place: place, Address: netip.PrefixFrom(host(i), subnet.Bits()), NextHop: config.GatewayMAC.String(), MTU: mtu,
				Socket: "{dir:" + daemonOf(node.Name) + "}/" + portSocket(i),
			}
			if m.alone.at(place) {
				port.Socket = "{dir:" + daemonOf(node.Name) + "}/" + fabricSocket
				port.MAC, port.NextHop, port.Tunnel = farMAC(l), nearMAC(l), m.alone.tunnel(l, containers)
			}
			ports = append(ports, port)
		}
	}
	l.AtPorts(node, ports)
}

func inVM(place result.Place) bool { return place.VM != "" }

// portSocket is the file of a container's vhost-user socket, at which its vRouter listens.
func portSocket(i int) string { return fmt.Sprintf("port-%d.sock", i) }

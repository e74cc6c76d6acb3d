package vrouter

import (
	"cmp"
	"fmt"
	"net/netip"
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
	alone alone
}

// How long a CPU that polls sleeps at a time while there is nothing to do: cells stand idle while
// others are measured. It goes to sleep after 1000 rounds in vain, so not while frames come as
// fast as they go. Where others need it, because endpoints may wait for an answer, or have the
// same CPU, it is short.
const (
	pauseAlone  = "500us"
	pauseOthers = "50us"
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
	return mode{poll: true, ports: r.OnlyFrames, alone: alone}, nil
}

// largestPort is the MTU of a port that poll mode has at most (vrouter/README.md, "Poll mode").
const largestPort = 3822

func (m mode) check(l *datapath.Layout, mtu int) error {
	if m.ports && mtu > largestPort {
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
	forwards, shared := m.cpu(node)
	pause := pauseOthers
	if m.ports && !shared {
		pause = pauseAlone
	}
	return []string{"--mode", modePoll, "--poll-cpu", strconv.Itoa(forwards), "--poll-pause", pause}
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

// portSocket is the file of a container's vhost-user socket, at which its vRouter listens.
func portSocket(i int) string { return fmt.Sprintf("port-%d.sock", i) }

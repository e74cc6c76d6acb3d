// Package vrouter is the path through Windtunnel's own vRouter: an overlay router
// on each node, run as its own process and configured through its public file.
package vrouter

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"windtunnel/datapath"
	"windtunnel/result"
	"windtunnel/testbed"
	"windtunnel/vrouter/config"
)

const (
	optionMode          = "mode"
	optionEncapsulation = "encapsulation"
	optionUnderlay      = "underlay"
	optionReceive       = "receive"
	optionFast          = "fast"
)

// The source document's network: network1 with containers from .3 on.
var (
	network     = "network1"
	subnet      = netip.MustParsePrefix("10.0.1.0/24")
	gatewayHost = 1
	firstHost   = 3
	firstLabel  = uint32(16) // 0 to 15 are reserved, RFC 3032
	vni         = uint32(16)
)

var encapsulations = []string{string(config.MPLSoUDP), string(config.MPLSoGRE), string(config.VXLAN), string(config.NoEncapsulation)}

// The families of the nodes' addresses.
const (
	underlay4 = "ipv4"
	underlay6 = "ipv6"
)

var underlays = []string{underlay4, underlay6}

// moreOverIPv6 is what a tunnel's headers grow by: an IPv6 header has 40 bytes, an IPv4 one 20.
const moreOverIPv6 = 20

// Path lays containers behind vRouters.
type Path struct{}

var _ datapath.Path = Path{}

// OverHosts says that real hosts will do.
func (Path) OverHosts() {}

// Name is the suite's word.
func (Path) Name() string { return "vrouter" }

// Says describes it.
func (Path) Says() string {
	return "containers behind Windtunnel's vRouter on each node, with an overlay or flat"
}

// Options are the encapsulation, what it goes over and where it is taken off, and the fast path.
func (Path) Options() []result.Option {
	return []result.Option{{
		Name: optionMode, Type: result.Word, Default: modeKernel, Words: []string{modeKernel, modePoll},
		Says: "what forwards: eBPF in the kernel, or a process of DPDK that takes a CPU of each node for itself; with poll, endpoints of raw frames alone are at vhost-user sockets, others are containers as with kernel",
	}, {
		Name: optionAttach, Type: result.Word, Default: attachTap, Words: []string{attachTap, attachVeth},
		Says: "with mode: poll, how the process reaches a container: by a tap, whose packets it reads and writes itself, or by a virtual pair and a packet socket at its end; a pair also where segmentation is off, frames are among the loads, or the MTU is more than poll mode's ports have",
	}, {
		Name: optionEncapsulation, Type: result.Word, Default: string(config.MPLSoUDP),
		Words: encapsulations,
		Says:  "how packets are wrapped between nodes; none routes them as they are",
	}, {
		Name: optionUnderlay, Type: result.Word, Default: underlay4,
		Words: underlays,
		Says:  "the family of the nodes' own addresses, and so of the outer headers; over ipv6 those have 20 bytes more",
	}, {
		Name: optionReceive, Type: result.Word, Default: string(config.ReceiveAuto),
		Words: []string{string(config.ReceiveAuto), string(config.ReceiveTC), string(config.ReceiveSocket), string(config.ReceiveXDP)},
		Says:  "where tunnel packets lose their outer headers: at tc, at tc with a socket by which VXLAN is aggregated, or at XDP before aggregation",
	}, {
		Name: optionFast, Type: result.Word, Default: string(config.FastAuto),
		Words: []string{string(config.FastAuto), string(config.FastOff), string(config.FastOn)},
		Says:  "whether XDP forwards packets from device to device, past tc; for frames of finished checksums, as the load frame sends them",
	}, {
		Name: optionFar, Type: result.Word, Default: farVRouter, Words: []string{farVRouter, farTester},
		Says: "who is at the far end of the fabric: another node's vRouter; or the tester, for raw frames between two containers of one node, of which the first pair's receiver stands there and wears and checks the outer headers, so that one vRouter is measured alone",
	}}
}

// Lay makes one virtual network of all containers.
func (p Path) Lay(r datapath.Request) (datapath.Laid, error) {
	l, err := datapath.Begin(p.Name(), r)
	if err != nil {
		return datapath.Laid{}, err
	}
	containers, err := l.Endpoints()
	if err != nil {
		return datapath.Laid{}, err
	}
	way, err := wrapping(l)
	if err != nil {
		return datapath.Laid{}, err
	}
	mtu, err := l.InnerMTU(way.overhead)
	if err != nil {
		return datapath.Laid{}, err
	}
	m, err := modeOf(l, containers, way)
	if err == nil {
		err = m.check(l, mtu)
	}
	if err != nil {
		return datapath.Laid{}, err
	}
	if err := fabric(l, way, m); err != nil {
		return datapath.Laid{}, err
	}
	for i, place := range containers {
		switch {
		case m.ports:
		case m.alone.is():
			m.alone.container(l, containers, i, mtu)
		case m.poll && place.VM != "":
			l.AtSocket(place, subnet, host(i), mtu, "{dir:"+daemonOf(place.Node)+"}/"+portSocket(i))
		case m.taps:
			l.TapContainer(place, subnet, host(i), mtu)
		default:
			l.Container(place, subnet, host(i), mtu)
		}
	}
	if m.poll {
		l.Need(pollProgram)
		l.Fact(optionMode, modePoll)
		if !m.ports {
			l.Fact(optionAttach, m.attach())
		}
		if slices.ContainsFunc(l.Graph.Nodes, m.sleeps) {
			l.Fact(result.LayoutPause, pauseOthers)
		}
	}
	if err := daemons(l, containers, way, m, mtu); err != nil {
		return datapath.Laid{}, err
	}
	l.Fact(datapath.FactEncapsulation, string(way.encapsulation))
	l.Fact(factUnderlay, way.underlay)
	l.Fact(datapath.FactOverhead, fmt.Sprint(way.overhead))
	l.Fact(datapath.FactCounters, "vrouter")
	return l.Finish(mtu)
}

func host(i int) netip.Addr { return datapath.Host(subnet, firstHost+i) }

// wrap is how packets go between nodes.
type wrap struct {
	encapsulation config.Encapsulation
	underlay      string
	overhead      int // bytes a packet
}

// factUnderlay is the family of the outer headers, or of the neighbours where there are none.
const factUnderlay = "underlay"

func wrapping(l *datapath.Layout) (wrap, error) {
	word := cmp.Or(l.Request.Options.Text(optionEncapsulation), string(config.MPLSoUDP))
	overhead, known := config.Overhead[config.Encapsulation(word)]
	w := wrap{config.Encapsulation(word), cmp.Or(l.Request.Options.Text(optionUnderlay), underlay4), int(overhead)}
	switch {
	case !known:
		return w, l.Errorf("the encapsulation %q is unknown: choose one of %s", word, strings.Join(encapsulations, ", "))
	case !slices.Contains(underlays, w.underlay):
		return w, l.Errorf("the underlay %q is unknown: choose one of %s", w.underlay, strings.Join(underlays, ", "))
	case w.over6() && l.Request.Wire.MTU < datapath.MinimumMTU6:
		return w, l.Errorf("a wire of MTU %d carries no IPv6: give it an MTU of at least %d, or take the underlay %s",
			l.Request.Wire.MTU, datapath.MinimumMTU6, underlay4)
	case w.over6() && w.encapsulation != config.NoEncapsulation:
		w.overhead += moreOverIPv6
	}
	return w, nil
}

func (w wrap) over6() bool { return w.underlay == underlay6 }

// address is a node's, of the underlay's family.
func (w wrap) address(l *datapath.Layout, node string) netip.Addr {
	if w.over6() {
		return l.Node6(node)
	}
	return l.Node(node)
}

// beyond is an address of the underlay that no node has, of its family.
func (w wrap) beyond(l *datapath.Layout) netip.Addr {
	if w.over6() {
		return l.Beyond6()
	}
	return l.Beyond()
}

// label is that of the i-th container, 0 where nothing could carry it.
func (w wrap) label(i int) uint32 {
	if w.encapsulation == config.NoEncapsulation || w.encapsulation == config.VXLAN {
		return 0
	}
	return firstLabel + uint32(i)
}

// fabric adds the wire; on one node, since a vRouter has a fabric always, a pair
// that leads nowhere and carries nothing.
func fabric(l *datapath.Layout, way wrap, m mode) error {
	shape := l.OnUnderlay
	if way.over6() {
		shape = l.OnUnderlay6
	}
	if l.Joined() {
		return l.Wire(shape)
	}
	if m.alone.is() && m.ports {
		m.alone.hostPart(l)
		return nil
	}
	node, mtu := l.Graph.Nodes[0].Name, l.Request.Wire.MTU
	near := testbed.Interface{Place: node, Device: datapath.NIC, MAC: datapath.MAC(0, l.Node(node)), MTU: mtu}
	shape(&near)
	if m.alone.is() {
		l.Graph.Links = append(l.Graph.Links, m.alone.link(l, near))
		return nil
	}
	far := testbed.Interface{Place: node, Device: datapath.NIC + "-far", MTU: mtu}
	l.Graph.Links = append(l.Graph.Links, testbed.Link{
		Name: "fabric", Role: result.RoleInner, Ends: [2]testbed.Interface{near, far},
	})
	return nil
}

// daemons adds a vRouter to each node.
func daemons(l *datapath.Layout, containers []result.Place, way wrap, m mode, mtu int) error {
	for _, node := range l.Graph.Nodes {
		name := instance(l.Request.Cell, node.Name)
		text, err := json.MarshalIndent(configuration(l, node.Name, name, containers, way, m), "", "  ")
		if err != nil {
			return l.Errorf("writing the vRouter's configuration: %w", err)
		}
		l.Graph.Daemons = append(l.Graph.Daemons, testbed.Daemon{
			Name: daemonOf(node.Name), Node: node.Name, Drawn: "VROUTER", Needs: []string{testbed.FeatureBPF}, Program: "vrouter",
			Args: append([]string{
				"run", "--config", "{dir}/config.json", "--socket", "{dir}/vrouter.sock", "--lease", "--name", name,
			}, m.arguments(node)...),
			Files: map[string]string{"config.json": string(text) + "\n"},
			Probe: m.probe(), Socket: "{dir}/vrouter.sock",
		})
		m.endpoints(l, node, containers, mtu)
	}
	return nil
}

func daemonOf(node string) string { return "vrouter-" + node }

// instance names a vRouter by what its own rules allow. A name that cannot be kept as it is has a hash, so that no two
// cells have one vRouter.
func instance(cell, node string) string {
	const limit = 64
	whole := "wt-" + cell + "-" + node
	name := regexp.MustCompile(`[^A-Za-z0-9._-]+`).ReplaceAllString(whole, "-")
	if name == whole && len(name) <= limit {
		return name
	}
	hash := fnv.New32a()
	hash.Write([]byte(whole))
	suffix := fmt.Sprintf("-%08x", hash.Sum32())
	return name[:min(len(name), limit-len(suffix))] + suffix
}

// configuration is one node's: its own containers are ports, the others' are
// routes to their nodes by their labels.
func configuration(l *datapath.Layout, node, name string, containers []result.Place, way wrap, m mode) config.Config {
	mtu := l.Request.Wire.MTU - way.overhead // InnerMTU has checked it
	c := config.Config{
		Format: config.Format, Name: name,
		Fabric: config.Fabric{
			Interface: l.NIC(node), Receive: config.Receive(l.Request.Options.Text(optionReceive)),
			Fast: config.Fast(l.Request.Options.Text(optionFast)),
		},
		Networks: []config.Network{{Name: network, Subnet: subnet, Gateway: datapath.Host(subnet, gatewayHost)}},
	}
	if m.alone.is() && m.ports {
		c.Fabric.Device = &config.Device{Vhost: "{dir}/" + fabricSocket}
	}
	if own := way.address(l, node); own.Is4() {
		c.Fabric.Address = own
	} else {
		c.Fabric.Address6 = own
	}
	if way.encapsulation == config.VXLAN {
		c.Networks[0].VNI = vni
	}
	for i, place := range containers {
		label := way.label(i)
		if place.Node == node && !m.alone.at(place) {
			p := port(place.Container, host(i), label, c.Fabric.Fast)
			switch {
			case m.ports, m.poll && place.VM != "":
				p.Interface, p.Vhost, p.MTU = "", "{dir}/"+portSocket(i), uint32(mtu)
			case m.taps:
				p.Interface, p.Tap, p.Netns, p.MTU = "", datapath.Endpoint, "{netns:"+place.Container+"}", uint32(mtu)
			}
			c.Ports = append(c.Ports, p)
			continue
		}
		end := way.address(l, place.Node)
		if m.alone.at(place) {
			end = way.beyond(l)
		}
		c.Routes = append(c.Routes, config.Route{
			Network: network, Prefix: netip.PrefixFrom(host(i), 32),
			Via: config.Via{Tunnel: end, Encapsulation: way.encapsulation, Label: label},
		})
	}
	return c
}

func port(container string, address netip.Addr, label uint32, fast config.Fast) config.Port {
	mac, _ := config.ParseMAC(datapath.MAC(0, address)) // made of hexadecimal digits
	return config.Port{
		Name: container, Interface: datapath.HostDevice(container), Network: network,
		Address: address, MAC: mac, Label: label, Fast: fast,
	}
}

// Package vrouter is the path through Windtunnel's own vRouter: an overlay router
// on each node, run as its own process and configured through its public file.
package vrouter

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"regexp"
	"strings"

	"windtunnel/datapath"
	"windtunnel/result"
	"windtunnel/testbed"
	"windtunnel/vrouter/config"
)

const (
	optionEncapsulation = "encapsulation"
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

// Path lays containers behind vRouters.
type Path struct{}

var _ datapath.Path = Path{}

// Name is the suite's word.
func (Path) Name() string { return "vrouter" }

// Says describes it.
func (Path) Says() string {
	return "containers behind Windtunnel's vRouter on each node, with an overlay or flat"
}

// Options are the encapsulation, where it is taken off, and the fast path.
func (Path) Options() []result.Option {
	return []result.Option{{
		Name: optionEncapsulation, Type: result.Word, Default: string(config.MPLSoUDP),
		Words: encapsulations,
		Says:  "how packets are wrapped between nodes; none routes them as they are",
	}, {
		Name: optionReceive, Type: result.Word, Default: string(config.ReceiveAuto),
		Words: []string{string(config.ReceiveAuto), string(config.ReceiveTC), string(config.ReceiveSocket), string(config.ReceiveXDP)},
		Says:  "where tunnel packets lose their outer headers: at tc, at tc with a socket by which VXLAN is aggregated, or at XDP before aggregation",
	}, {
		Name: optionFast, Type: result.Word, Default: string(config.FastAuto),
		Words: []string{string(config.FastAuto), string(config.FastOff), string(config.FastOn)},
		Says:  "whether XDP forwards packets from device to device, past tc; for frames of finished checksums, as the load frame sends them",
	}}
}

// Lay makes one virtual network of all containers.
func (p Path) Lay(r datapath.Request) (datapath.Laid, error) {
	l, err := datapath.Begin(p.Name(), r)
	if err != nil {
		return datapath.Laid{}, err
	}
	containers, err := l.Containers()
	if err != nil {
		return datapath.Laid{}, err
	}
	encapsulation, overhead, err := wrapping(l)
	if err != nil {
		return datapath.Laid{}, err
	}
	mtu, err := l.InnerMTU(overhead)
	if err != nil {
		return datapath.Laid{}, err
	}
	if err := fabric(l); err != nil {
		return datapath.Laid{}, err
	}
	for i, place := range containers {
		l.Container(place, subnet, host(i), mtu)
	}
	if err := daemons(l, containers, encapsulation); err != nil {
		return datapath.Laid{}, err
	}
	l.Fact(datapath.FactEncapsulation, string(encapsulation))
	l.Fact(datapath.FactOverhead, fmt.Sprint(overhead))
	l.Fact(datapath.FactCounters, "vrouter")
	return l.Finish(mtu)
}

func host(i int) netip.Addr { return datapath.Host(subnet, firstHost+i) }

func wrapping(l *datapath.Layout) (config.Encapsulation, int, error) {
	word := l.Request.Options.Text(optionEncapsulation)
	if word == "" {
		word = string(config.MPLSoUDP)
	}
	overhead, known := config.Overhead[config.Encapsulation(word)]
	if !known {
		return "", 0, l.Errorf("the encapsulation %q is unknown: choose one of %s", word, strings.Join(encapsulations, ", "))
	}
	return config.Encapsulation(word), int(overhead), nil
}

// fabric adds the wire; on one node, since a vRouter has a fabric always, a pair
// that leads nowhere and carries nothing.
func fabric(l *datapath.Layout) error {
	if l.Joined() {
		return l.Wire(l.OnUnderlay)
	}
	node, mtu := l.Graph.Nodes[0].Name, l.Request.Wire.MTU
	near := testbed.Interface{Place: node, Device: datapath.NIC, MAC: datapath.MAC(0, l.Node(node)), MTU: mtu}
	l.OnUnderlay(&near)
	far := testbed.Interface{Place: node, Device: datapath.NIC + "-far", MTU: mtu}
	l.Graph.Links = append(l.Graph.Links, testbed.Link{
		Name: "fabric", Role: result.RoleInner, Ends: [2]testbed.Interface{near, far},
	})
	return nil
}

// daemons adds a vRouter to each node.
func daemons(l *datapath.Layout, containers []result.Place, encapsulation config.Encapsulation) error {
	for _, node := range l.Graph.Nodes {
		name := instance(l.Request.Cell, node.Name)
		text, err := json.MarshalIndent(configuration(l, node.Name, name, containers, encapsulation), "", "  ")
		if err != nil {
			return l.Errorf("writing the vRouter's configuration: %w", err)
		}
		l.Graph.Daemons = append(l.Graph.Daemons, testbed.Daemon{
			Name: "vrouter-" + node.Name, Node: node.Name, Program: "vrouter",
			Args: []string{
				"run", "--config", "{dir}/config.json", "--socket", "{dir}/vrouter.sock", "--lease", "--name", name,
			},
			Files: map[string]string{"config.json": string(text) + "\n"},
			Probe: "vrouter", Socket: "{dir}/vrouter.sock",
		})
	}
	return nil
}

// instance names a vRouter by what its own rules allow.
func instance(cell, node string) string {
	name := "wt-" + regexp.MustCompile(`[^A-Za-z0-9._-]+`).ReplaceAllString(cell+"-"+node, "-")
	return name[:min(len(name), 64)]
}

// configuration is one node's: its own containers are ports, the others' are
// routes to their nodes by their labels.
func configuration(l *datapath.Layout, node, name string, containers []result.Place, encapsulation config.Encapsulation) config.Config {
	c := config.Config{
		Format: config.Format, Name: name,
		Fabric: config.Fabric{
			Interface: datapath.NIC, Address: l.Node(node), Receive: config.Receive(l.Request.Options.Text(optionReceive)),
			Fast: config.Fast(l.Request.Options.Text(optionFast)),
		},
		Networks: []config.Network{{Name: network, Subnet: subnet, Gateway: datapath.Host(subnet, gatewayHost)}},
	}
	if encapsulation == config.VXLAN {
		c.Networks[0].VNI = vni
	}
	for i, place := range containers {
		label := firstLabel + uint32(i)
		if encapsulation == config.NoEncapsulation || encapsulation == config.VXLAN {
			label = 0 // nothing could carry it
		}
		if place.Node == node {
			c.Ports = append(c.Ports, port(place.Container, host(i), label, c.Fabric.Fast))
			continue
		}
		c.Routes = append(c.Routes, config.Route{
			Network: network, Prefix: netip.PrefixFrom(host(i), 32),
			Via: config.Via{Tunnel: l.Node(place.Node), Encapsulation: encapsulation, Label: label},
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

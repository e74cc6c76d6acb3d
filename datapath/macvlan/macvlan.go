// Package macvlan is the path between containers that are on the nodes' own segment by macvlan devices, as
// `docker network create -d macvlan` makes them. It is what the sources call a transparent network.
package macvlan

import (
	"cmp"
	"net/netip"

	"windtunnel/datapath"
	"windtunnel/result"
	"windtunnel/testbed"
)

// Path lays containers on macvlan devices.
type Path struct{}

var _ datapath.Path = Path{}

// Name is the suite's word.
func (Path) Name() string { return "macvlan" }

// Says describes it.
func (Path) Says() string {
	return "Docker containers with macvlan devices on the wire, and addresses of its subnet (Docker's \"transparent\" on Windows)"
}

const (
	optionSubnet  = "subnet"
	optionGateway = "gateway"
	optionMode    = "mode"

	modeBridge   = "bridge"
	modePassthru = "passthru"

	// gateway is the source's (001, "Docker setup"). Nobody is there: all is on one segment.
	gateway = "172.16.0.254"
)

// Options are what the network is made with.
func (Path) Options() []result.Option {
	return append([]result.Option{{
		Name: optionSubnet, Type: result.Word, Default: datapath.Underlay.String(),
		Says: "the subnet of the containers, and of the nodes: an IPv4 prefix of 24 bits",
	}, {
		Name: optionGateway, Type: result.Word, Default: gateway,
		Says: "the containers' gateway, an address of the subnet that nobody else has",
	}, {
		Name: optionMode, Type: result.Word, Default: modeBridge, Words: []string{modeBridge, "private", "vepa", modePassthru},
		Says: "how devices on one wire reach each other; passthru: one container a node",
	}}, datapath.EngineOptions()...)
}

// Programs are the engine's.
func (Path) Programs() []datapath.Program { return datapath.EnginePrograms() }

// network is the name of the one that is made; the source's.
const network = "mynetwork"

// Lay joins the nodes by the wire, on which the containers are neighbours of both nodes.
func (p Path) Lay(r datapath.Request) (datapath.Laid, error) {
	l, err := datapath.Begin(p.Name(), r)
	if err != nil {
		return datapath.Laid{}, err
	}
	if err := check(l); err != nil {
		return datapath.Laid{}, err
	}
	subnet, way, err := segment(l)
	if err != nil {
		return datapath.Laid{}, err
	}
	if err := l.Joins(); err != nil {
		return datapath.Laid{}, err
	}
	l.Move(subnet)
	err = l.Engines(datapath.EngineSettings{Proxy: true, MTU: r.Wire.MTU}, func(e *testbed.Engine, c *testbed.EngineContainer, i int) {
		if len(e.Networks) == 0 {
			e.Networks = []testbed.EngineNetwork{{Name: network, Driver: "macvlan", Subnet: subnet.String(), Gateway: way.String(),
				Options: map[string]string{"parent": datapath.NIC, "macvlan_mode": cmp.Or(r.Options.Text(optionMode), modeBridge)}}}
		}
		address := datapath.Host(subnet, datapath.Containers+i)
		if c.Network, c.Address = network, address.String(); r.Options.Text(optionMode) != modePassthru { // which has the wire's
			c.MAC = datapath.MAC(0, address)
		}
		l.Reach(c.Name, address)
	})
	if err != nil {
		return datapath.Laid{}, err
	}
	for i := range l.Graph.Daemons {
		l.Graph.Daemons[i].Needs = []string{testbed.FeatureMacvlan}
	}
	for _, node := range l.Graph.Nodes {
		l.Reach(node.Name, datapath.Host(subnet, int(l.Node(node.Name).As4()[3])))
	}
	return l.Finish(r.Wire.MTU)
}

// check refuses pairs that macvlan cannot join.
func check(l *datapath.Layout) error {
	if l.Request.Segmentation == datapath.SegmentationOff {
		return l.Errorf("the devices are the engine's, which leaves their offloads as they are: take `segmentation: as-found`, or the path bridge")
	}
	mode := l.Request.Options.Text(optionMode)
	for _, pair := range l.Request.Pairs {
		if pair.From.Node != pair.To.Node {
			continue
		}
		if pair.From.Container == "" || pair.To.Container == "" {
			return l.Errorf("the stack of node %s and a macvlan device on its own interface do not reach each other: take two nodes, or two containers", pair.From.Node)
		}
		if mode != "" && mode != modeBridge {
			return l.Errorf("in the mode %s two containers of node %s do not reach each other without a switch that sends frames back: take the mode bridge, or two nodes",
				mode, pair.From.Node)
		}
	}
	if mode != modePassthru {
		return nil
	}
	held := map[string]string{}
	for _, pair := range l.Request.Pairs {
		for _, place := range []result.Place{pair.From, pair.To} {
			if other := cmp.Or(held[place.Node], place.Name()); other != place.Name() {
				return l.Errorf("in the mode passthru one container has all of an interface, and %s and %s are both on node %s: take another mode", other, place.Name(), place.Node)
			}
			held[place.Node] = place.Name()
		}
	}
	return nil
}

// segment reads the subnet and the gateway.
func segment(l *datapath.Layout) (netip.Prefix, netip.Addr, error) {
	text := cmp.Or(l.Request.Options.Text(optionSubnet), datapath.Underlay.String())
	subnet, err := netip.ParsePrefix(text)
	if err != nil || !subnet.Addr().Is4() || subnet.Bits() != 24 || subnet != subnet.Masked() {
		return subnet, netip.Addr{}, l.Errorf("the subnet %q is no IPv4 prefix of 24 bits, like %s", text, datapath.Underlay)
	}
	text = cmp.Or(l.Request.Options.Text(optionGateway), gateway)
	way, err := netip.ParseAddr(text)
	if err != nil || !subnet.Contains(way) {
		return subnet, way, l.Errorf("the gateway %q is no address of the subnet %s", text, subnet)
	}
	if n := way.As4()[3]; n == 0 || n == 255 || n < 224 && n >= 11 {
		return subnet, way, l.Errorf("the gateway %s may be an endpoint's address or nobody's: take the last byte from 1 to 10 or 224 to 254", way)
	}
	return subnet, way, nil
}

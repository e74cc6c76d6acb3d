// Package macvlan is the path between containers that are on the nodes' own segment by macvlan devices, as
// `docker network create -d macvlan` makes them. It is what the sources call a transparent network.
package macvlan

import (
	"cmp"
	"fmt"
	"net/netip"

	"windtunnel/datapath"
	"windtunnel/result"
	"windtunnel/testbed"
)

// Path lays containers on macvlan devices.
type Path struct{}

var _ datapath.Path = Path{}

// OverHosts says that real hosts will do.
func (Path) OverHosts() {}

// InPlace says that they do with their own stacks, beside the engine that runs there.
func (Path) InPlace() {}

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
		Name: optionSubnet, Type: result.Word,
		Says: "the subnet of the containers, and of the nodes: an IPv4 prefix of 24 bits, " + datapath.Underlay.String() + " if left out; on real hosts, a part of their network that is free",
	}, {
		Name: optionGateway, Type: result.Word,
		Says: "the containers' gateway, an address of the subnet that nobody else has, " + gateway + " if left out; on real hosts, one of their network",
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
	l, err := datapath.BeginInPlace(p.Name(), r)
	if err != nil {
		return datapath.Laid{}, err
	}
	if err := check(l); err != nil {
		return datapath.Laid{}, err
	}
	lan, err := segment(l)
	if err != nil {
		return datapath.Laid{}, err
	}
	if err := l.Joins(); err != nil {
		return datapath.Laid{}, err
	}
	if !l.OnHosts() {
		l.Move(lan.subnet)
	}
	err = l.Engines(datapath.EngineSettings{Proxy: true, MTU: l.Request.Wire.MTU}, func(e *testbed.Engine, c *testbed.EngineContainer, i int) {
		if len(e.Networks) == 0 {
			e.Networks = []testbed.EngineNetwork{{Name: network, Driver: testbed.DriverMacvlan, Subnet: lan.subnet.String(), Gateway: lan.gateway.String(),
				Options: map[string]string{"parent": l.NIC(e.Node), "macvlan_mode": cmp.Or(r.Options.Text(optionMode), modeBridge)}}}
		}
		address := lan.containers[i]
		if c.Network, c.Address = network, address.String(); r.Options.Text(optionMode) != modePassthru { // which has the wire's
			c.MAC = datapath.MAC(0, address)
		}
		l.Reach(c.Name, address)
	})
	if err != nil {
		return datapath.Laid{}, err
	}
	for _, node := range l.Graph.Nodes {
		address := l.Node(node.Name)
		if !l.OnHosts() {
			address = datapath.Host(lan.subnet, int(address.As4()[3]))
		}
		l.Reach(node.Name, address)
	}
	if l.OnHosts() {
		l.Fact("subnet", lan.subnet.String()) // whatever was asked for
		mayPassAll(l)
	}
	return l.Finish(l.Request.Wire.MTU)
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

// mayPassAll refuses the mode passthru where the host needs its interface, all of whose frames are the container's then
// (macvlan_handle_frame in drivers/net/macvlan.c).
func mayPassAll(l *datapath.Layout) {
	if l.Request.Options.Text(optionMode) != modePassthru {
		return
	}
	for _, node := range l.Graph.Nodes {
		if node.NIC.Fixed != "" {
			l.NotHere("the mode passthru takes all of node %s's interface: %s", node.Name, node.NIC.Fixed)
		}
	}
}

// lan is the segment's network, and who is who in it.
type lan struct {
	subnet     netip.Prefix
	gateway    netip.Addr
	containers []netip.Addr // as many as the pairs can have
}

// segment reads the subnet and the gateway.
func segment(l *datapath.Layout) (lan, error) {
	text := cmp.Or(l.Request.Options.Text(optionSubnet), datapath.Underlay.String())
	subnet, err := netip.ParsePrefix(text)
	if err != nil || !subnet.Addr().Is4() || subnet != subnet.Masked() || subnet.Bits() != 24 && !l.OnHosts() {
		return lan{}, l.Errorf("the subnet %q is no IPv4 prefix of 24 bits, like %s", text, datapath.Underlay)
	}
	text = cmp.Or(l.Request.Options.Text(optionGateway), gateway)
	way, err := netip.ParseAddr(text)
	if err != nil || !subnet.Contains(way) && !l.OnHosts() {
		return lan{}, l.Errorf("the gateway %q is no address of the subnet %s", text, subnet)
	}
	if l.OnHosts() {
		return found(l, subnet, way)
	}
	if n := way.As4()[3]; n == 0 || n == 255 || n < 224 && n >= 11 {
		return lan{}, l.Errorf("the gateway %s may be an endpoint's address or nobody's: take the last byte from 1 to 10 or 224 to 254", way)
	}
	made := lan{subnet: subnet, gateway: way}
	for n := datapath.Containers; n < 224; n++ {
		made.containers = append(made.containers, datapath.Host(subnet, n))
	}
	return made, nil
}

// found is the network of the hosts' data addresses, which nodes keep. Containers have spare ones of it, or of the part that
// somebody named as a subnet. Docker gives a network a gateway in any case, which the containers do not need.
func found(l *datapath.Layout, part netip.Prefix, way netip.Addr) (lan, error) {
	there := lan{subnet: l.DataSubnet(), gateway: way}
	if l.Request.Options.Text(optionGateway) == "" {
		there.gateway = netip.Addr{}
	}
	switch {
	case l.Request.Options.Text(optionSubnet) == "":
		part = there.subnet
	case part.Bits() < there.subnet.Bits() || !there.subnet.Contains(part.Addr()):
		l.Doubt("subnet", fmt.Sprintf("the containers have addresses of the hosts' network %s: the subnet %s that was asked for is no part of it", there.subnet, part))
		part = there.subnet
	}
	count := 2 * len(l.Request.Pairs)
	spare, err := l.Spare(part, count+1, there.gateway)
	if err != nil {
		return there, err
	}
	if there.containers = spare[1:]; !there.subnet.Contains(there.gateway) {
		there.gateway = spare[0]
	}
	return there, nil
}

package main

import (
	"fmt"
	"net/netip"

	"windtunnel/bench"
	"windtunnel/bench/wire"
	"windtunnel/vrouter/config"
)

// network is one of those that frames are sprayed at: all have the same addresses.
type network struct {
	name string
	spray
	clamp  bool
	way    config.Via
	routes int        // to the destinations of the spray
	flow   bool       // the port has a policy
	to     netip.Addr // the spray's one destination; without it, receiverIP
	behind bool       // the way is another network's, which this one's routes lead to
	bridge bool       // the frames go by MAC address
}

// sprayRatio is one of the rates of two networks.
type sprayRatio struct {
	what, over, under string
	goal              bench.Goal
	limit             string // bench.Comparison.Limit, of a ratio with a goal
	cost              bool
}

// everything is the policy of ports in flow mode.
const everything = "everything"

// silence is how long a flow may be silent: longer than the other networks' turns take.
const silence = 3600

const (
	receiverLabel = 16
	receiverVNI   = 5001
	bridgedVNI    = 5002
)

var (
	senderIP      = netip.MustParseAddr("10.0.1.3")
	receiverIP    = netip.MustParseAddr("10.0.1.4")
	behindIP      = netip.MustParseAddr("10.0.2.4")
	senderIP6     = netip.MustParseAddr("fd00:1::3")
	receiverIP6   = netip.MustParseAddr("fd00:1::4")
	subnet        = netip.MustParsePrefix("10.0.1.0/24")
	subnetGateway = netip.MustParseAddr("10.0.1.254")
	subnetBehind  = netip.MustParsePrefix("10.0.2.0/24")
	gatewayBehind = netip.MustParseAddr("10.0.2.254")
	subnet6       = netip.MustParsePrefix("fd00:1::/64")
	gateway6      = netip.MustParseAddr("fd00:1::fe")
)

func sprayRatios(routes, flows int) []sprayRatio {
	return []sprayRatio{
		{what: fmt.Sprintf("packets per second with %d routes / with %d, random destinations", routes, fewRoutes), over: "many", under: "few", goal: bench.Goal{Ratio: 0.8}, limit: limitOfRoutes},
		{what: fmt.Sprintf("packets per second with %d flows / with %d, random flows", flows, fewFlows), over: "many-flows", under: "few-flows", goal: bench.Goal{Ratio: 0.6}, limit: limitOfFlows},
		{what: "packets per second, SYNs, their segment size clamped / left alone", over: "clamped", under: "left", cost: true},
		{what: "packets per second, MPLSoGRE / MPLSoUDP", over: "gre", under: "plain", cost: true},
		{what: "packets per second, VXLAN / MPLSoUDP", over: "vxlan", under: "plain", cost: true},
		{what: fmt.Sprintf("packets per second, flow mode / packet mode, %d flows", fewFlows), over: "few-flows", under: "no-flows", cost: true},
		{what: fmt.Sprintf("packets per second, flow mode / packet mode, IPv6, %d flows", fewFlows), over: "six-flows", under: "six", cost: true},
		{what: fmt.Sprintf("packets per second, IPv6 in frames of %d bytes / IPv4 in 64", sprayFrame6+4), over: "six", under: "no-flows", cost: true},
		{what: fmt.Sprintf("packets per second, ECMP of 2 ways / one way, VXLAN, %d flows", fewFlows), over: "two-ways", under: "one-way", cost: true},
		{what: "packets per second, through another network's routes / directly", over: "behind", under: "direct", cost: true},
		{what: "packets per second, bridged frames / routed, VXLAN", over: "bridged", under: "vxlan", cost: true},
	}
}

// sprayNetworks are what the ratios name.
func sprayNetworks(routes, flows int) ([]network, error) {
	to := netip.MustParseAddr(wire.B.Address)
	mpls := config.Via{Tunnel: to, Encapsulation: config.MPLSoUDP, Label: receiverLabel}
	gre := config.Via{Tunnel: to, Encapsulation: config.MPLSoGRE, Label: receiverLabel}
	vxlan := config.Via{Tunnel: to, Encapsulation: config.VXLAN, VNI: receiverVNI}
	// The same node by another inner address, which it takes as well: the receiver does the same for both.
	own := vxlan
	own.MAC = receiverMAC
	var f templates
	udp, syn := f.udp(gatewayMAC, senderIP, receiverIP), f.syn(senderIP, receiverIP)
	udp6, behind, bridged := f.udp(gatewayMAC, senderIP6, receiverIP6), f.udp(gatewayMAC, senderIP, behindIP), f.udp(receiverMAC, senderIP, receiverIP)
	return []network{
		{name: "few", way: mpls, routes: fewRoutes, spray: spray{template: udp, destinations: fewRoutes}},
		{name: "many", way: mpls, routes: routes, spray: spray{template: udp, destinations: routes}},
		{name: "no-flows", way: mpls, spray: spray{template: udp, flows: fewFlows}},
		{name: "few-flows", way: mpls, flow: true, spray: spray{template: udp, flows: fewFlows}},
		{name: "many-flows", way: mpls, flow: true, spray: spray{template: udp, flows: flows}},
		{name: "clamped", way: mpls, clamp: true, spray: spray{template: syn}},
		{name: "left", way: mpls, spray: spray{template: syn}},
		{name: "plain", way: mpls, spray: spray{template: udp}},
		{name: "gre", way: gre, spray: spray{template: udp}},
		{name: "vxlan", way: vxlan, spray: spray{template: udp}},
		{name: "six", way: mpls, to: receiverIP6, spray: spray{template: udp6, flows: fewFlows}},
		{name: "six-flows", way: mpls, to: receiverIP6, flow: true, spray: spray{template: udp6, flows: fewFlows}},
		{name: "one-way", way: vxlan, spray: spray{template: udp, flows: fewFlows}},
		{name: "two-ways", way: config.Via{ECMP: config.MakeMembers(vxlan, own)}, spray: spray{template: udp, flows: fewFlows}},
		{name: "direct", way: mpls, to: behindIP, spray: spray{template: behind}},
		{name: "behind", way: mpls, to: behindIP, behind: true, spray: spray{template: behind}},
		{name: "bridged", way: config.Via{Tunnel: to, Encapsulation: config.VXLAN}, bridge: true, spray: spray{template: bridged}},
	}, f.err
}

// sending is node A's configuration, but for the many routes.
func (b *bed) sending() config.Config {
	c := base(wire.A)
	c.Limits = config.Limits{Routes: 1000, Flows: 1000}
	c.Policies = []config.Policy{{Name: everything, Default: config.Allow}}
	c.Idle = config.Idle{Opening: silence}
	for i, n := range b.networks {
		c.Limits.Routes += n.routes
		c.Networks = append(c.Networks, n.configured()...)
		port := config.Port{Name: n.name, Interface: hostEnd(i), Network: n.name, Address: senderIP, MAC: senderMAC, Fast: config.FastOff}
		if n.to.Is6() {
			port.Address6 = senderIP6
		}
		if n.flow {
			c.Limits.Flows += n.flows
			port.Flow.Policy = everything
		}
		c.Ports = append(c.Ports, port)
		c.Routes = append(c.Routes, n.leads()...)
	}
	return c
}

// configured is the network, and the one behind it.
func (n network) configured() []config.Network {
	near := config.Network{Name: n.name, Subnet: subnet, Gateway: subnetGateway, MSSClamp: &n.clamp}
	if n.to.Is6() {
		near.Subnet6, near.Gateway6 = subnet6, gateway6
	}
	if n.bridge {
		near.VNI, near.Bridge = bridgedVNI, &config.Bridge{Hosts: []config.Host{{MAC: receiverMAC, Via: n.way}}}
	}
	if !n.behind {
		return []config.Network{near}
	}
	return []config.Network{near, {Name: n.further(), Subnet: subnetBehind, Gateway: gatewayBehind, MSSClamp: &n.clamp}}
}

func (n network) further() string { return n.name + "-further" }

// leads are the network's routes to the one destination of its frames. Bridged frames need none.
func (n network) leads() []config.Route {
	to := n.to
	if !to.IsValid() {
		to = receiverIP
	}
	route := config.Route{Network: n.name, Prefix: netip.PrefixFrom(to, to.BitLen()), Via: n.way}
	switch {
	case n.bridge:
		return nil
	case !n.behind:
		return []config.Route{route}
	}
	route.Network = n.further()
	return []config.Route{route, {Network: n.name, Prefix: route.Prefix, Via: config.Via{Network: n.further()}}}
}

// receiving is node B's: one network that all tunnels lead to, and one for bridged frames.
func (b *bed) receiving() config.Config {
	c := base(wire.B)
	c.Networks = []config.Network{
		{Name: "all", Subnet: subnet, Gateway: subnetGateway, VNI: receiverVNI},
		{Name: "bridged", Subnet: subnet, Gateway: subnetGateway, VNI: bridgedVNI, Bridge: &config.Bridge{}},
	}
	c.Ports = []config.Port{
		{Name: "receiver", Interface: "v-receiver", Network: "all", Address: receiverIP, MAC: receiverMAC, Label: receiverLabel, Fast: config.FastOff},
		{Name: "bridged", Interface: "v-bridged", Network: "bridged", Address: receiverIP, MAC: receiverMAC, Fast: config.FastOff},
	}
	return c
}

func base(n wire.Node) config.Config {
	return config.Config{
		Format: config.Format, Name: "bench-" + n.Device,
		Fabric: config.Fabric{Interface: n.Device, Address: netip.MustParseAddr(n.Address), Receive: config.ReceiveTC, Fast: config.FastOff},
	}
}

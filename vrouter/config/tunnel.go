package config

import "windtunnel/vrouter/core"

// Overhead is what each encapsulation adds to an inner packet over IPv4, in bytes; over IPv6 all but
// the last add 20 more.
var Overhead = map[Encapsulation]uint32{MPLSoUDP: 32, MPLSoGRE: 28, VXLAN: 50, NoEncapsulation: 0}

// FrameOverhead is the same for the packets of a bridge, whose frames are carried whole. A control word
// is 4 more, but not in VXLAN.
var FrameOverhead = map[Encapsulation]uint32{MPLSoUDP: 46, MPLSoGRE: 42, VXLAN: 50}

// How whole frames are wrapped, behind a label, and behind a label and a control word. These are names
// for the tables: in a configuration they are MPLSoUDP and MPLSoGRE, of a bridge.
const (
	frameMPLSoUDP Encapsulation = "mplsoudp-l2"
	frameMPLSoGRE Encapsulation = "mplsogre-l2"
	wordMPLSoUDP  Encapsulation = "mplsoudp-l2-word"
	wordMPLSoGRE  Encapsulation = "mplsogre-l2-word"
)

var wraps = map[Encapsulation]uint8{
	MPLSoUDP: core.MPLSoUDP, MPLSoGRE: core.MPLSoGRE, VXLAN: core.VXLAN, frameMPLSoUDP: core.FrameMPLSoUDP,
	frameMPLSoGRE: core.FrameMPLSoGRE, wordMPLSoUDP: core.WordMPLSoUDP, wordMPLSoGRE: core.WordMPLSoGRE,
}

func (e Encapsulation) hasUDP() bool {
	return e != NoEncapsulation && e != MPLSoGRE && e != frameMPLSoGRE && e != wordMPLSoGRE
}

// EncapsulationOf tells what a nexthop of the fabric wraps packets in.
func EncapsulationOf(n core.Nexthop) Encapsulation {
	for name, number := range wraps {
		if n.Encapsulation == number {
			return name
		}
	}
	return NoEncapsulation
}

// remote is the nexthop of a way to another node. All routes that wrap packets alike share it: those
// of MPLS all that lead to the node, as the label is the route's own.
func (b *builder) remote(via Via) core.Nexthop {
	n := core.Nexthop{
		Type: core.NexthopEncap, Flags: core.NexthopFabric, Smac: core.MACWord(b.facts.FabricMAC), Ifindex: b.facts.FabricIfindex,
		MTU: b.facts.FabricMTU,
	}
	b.addPeer(via.Tunnel)
	if mac, ok := b.facts.Neighbours[via.Tunnel]; ok {
		n.Dmac = core.MACWord(mac)
	}
	if via.Encapsulation == NoEncapsulation {
		n.SetAddr(via.Tunnel)
		return n
	}
	t := core.Tunnel{Encapsulation: wraps[via.Encapsulation], Source: b.config.Fabric.toward(via.Tunnel), Destination: via.Tunnel}
	if via.Encapsulation == VXLAN {
		t.VNI, t.InnerDestination, t.InnerSource = via.VNI, via.MAC, GatewayMAC
	}
	t.Apply(&n)
	n.Flags |= flag(b.config.Fabric.UDPChecksum && via.Encapsulation.hasUDP(), core.NexthopSum)
	n.MTU -= min(uint32(n.Push), n.MTU)
	return n
}

// filled is the way with what may be left out: VXLAN packets carry the network's VNI, and are for
// the gateway that every node has, unless the far end is another implementation.
func (v Via) filled(n Network) Via {
	if v.Port != "" { // alone, it is one of one
		v = Via{ECMP: MakeMembers(v)}
	}
	if v.ECMP != "" {
		v.ECMP = v.ECMP.sorted(n)
		return v
	}
	if v.Encapsulation != VXLAN {
		return v
	}
	if v.VNI == 0 {
		v.VNI = n.VNI
	}
	if v.MAC == (MAC{}) {
		v.MAC = GatewayMAC
	}
	return v
}

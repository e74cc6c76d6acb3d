package offload

import (
	"fmt"
	"net/netip"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
)

// An outer is the tunnels that other nodes send by: an encapsulation, over one family, from one prefix.
type outer struct {
	kind uint8
	to   netip.Addr   // the node's own
	from netip.Prefix // of nodes that may leave the checksum out, over IPv6; else invalid
}

// outers are those that this node sends by: nodes have one configuration. What comes by another goes by
// software.
func outers(m config.Image) []outer {
	used := make(map[uint8]bool)
	for _, r := range m.Nexthops {
		if r.Type == core.NexthopTunnel {
			used[r.Encapsulation] = true
		}
	}
	var all []outer
	for _, kind := range []uint8{core.MPLSoUDP, core.MPLSoGRE, core.VXLAN} {
		if !used[kind] {
			continue
		}
		if m.Node.Address != 0 {
			all = append(all, outer{kind: kind, to: core.Addr{Hi: uint64(m.Node.Address) << 32}.IPv4()})
		}
		if m.Node.Address6 != (core.Addr{}) {
			all = append(all, outers6(m, kind)...)
		}
	}
	return all
}

// outers6: without a checksum a packet must be from a known node (vr_outer_checked), and patterns have no
// word for the checksum; GRE has none.
func outers6(m config.Image, kind uint8) []outer {
	to := m.Node.Address6.IPv6()
	if kind == core.MPLSoGRE {
		return []outer{{kind: kind, to: to}}
	}
	var all []outer
	for peer := range m.Routes(core.PeersVRF) {
		all = append(all, outer{kind, to, peer.Prefix})
	}
	return all
}

func (o outer) six() bool { return o.to.Is6() }

func (o outer) String() string {
	text := fmt.Sprintf("%s to %s", config.EncapsulationOf(core.Nexthop{Encapsulation: o.kind}), o.to)
	if o.from.IsValid() {
		text += fmt.Sprintf(" from %s", o.from)
	}
	return text
}

// length is what stands before the inner packet, behind the outer Ethernet header.
func (o outer) length() int {
	length := map[uint8]int{core.MPLSoUDP: 12, core.MPLSoGRE: 8, core.VXLAN: 30}[o.kind]
	if o.six() {
		return length + 40
	}
	return length + 20
}

/*
items are the outer headers. The lowest bit of the outer ECN field is 0, not ECT(1) and not CE: then the
inner field stays as it is, whatever it is (RFC 6040, figure 4).
*/
func (o outer) items(m config.Image, target Target, label Item) []Item {
	ip := inner{six: o.six(), from: o.from, to: host(o.to), ecn: &class{0, 1}, withoutHeader: target == Flower}
	ip.l4 = l4{protocol: core.ProtocolUDP, fields: []Field{number("dst", portMPLSoUDP, 16)}}
	switch o.kind {
	case core.VXLAN:
		ip.l4.fields = []Field{number("dst", portVXLAN, 16)}
	case core.MPLSoGRE:
		ip.l4 = l4{protocol: protocolGRE, fields: []Field{number("c_rsvd0_ver", 0, 16), number("protocol", etherMPLS, 16)}}
	}
	var items []Item
	if target == RTEFlow {
		items = append(items, integrity(integrityOuterLevel, o.six()))
	}
	items = append(items, eth(exact("dst", mac(m.Node.MAC)), number("type", ethType(o.six()), 16)))
	return append(append(items, ip.items()...), label)
}

// An arrival is what came out of a tunnel, or without one, for a port.
type arrival struct {
	target Target
	outer  *outer // nil: it came without one
	label  Item   // or the VNI's
	dmac   []byte // of the inner Ethernet header, with a VNI
	to     netip.Addr
	six    bool
	port   core.Nexthop
	name   string
}

// rules are those of a port's packets.
func (a arrival) rules(m config.Image) ([]Rule, *Refusal) {
	if bad := usable(a.port); bad != nil {
		return nil, bad
	}
	pop := 0
	if a.outer != nil {
		pop = a.outer.length()
	}
	switch longest := int(m.Node.MTU) - pop; {
	case longest > int(a.port.MTU):
		return nil, refuse(TooLong, "the fabric may bring %d bytes and %d fit; give the port's interface the MTU %d", longest, a.port.MTU, longest)
	case a.target == Flower && a.outer != nil && a.outer.kind != core.VXLAN:
		return nil, refuse(NoWords, "flower does not look behind a label: it cannot tell IPv4 from IPv6 there, nor a tunnel in the tunnel")
	}
	var rules []Rule
	for _, l := range a.l4s() {
		rules = append(rules, a.rule(m, l, pop))
	}
	return rules, nil
}

// l4s: without a tunnel nothing is looked for behind the addresses (vr_decide_flat), but it must be whole.
func (a arrival) l4s() []l4 {
	if a.outer != nil {
		return whole(a.six, false)
	}
	l4s := []l4{{protocol: core.ProtocolTCP, name: "tcp"}, {protocol: core.ProtocolUDP, name: "udp"}}
	if !a.six {
		l4s = append(l4s, l4{protocol: core.ProtocolICMP, name: "icmp"})
	}
	return l4s
}

func (a arrival) rule(m config.Image, l l4, pop int) Rule {
	r := Rule{Name: a.name + ", " + l.name, Ifindex: m.Node.Ifindex, Assumes: []Assumption{AssumePortMTU}}
	packet, level := inner{six: a.six, l4: l, withoutHeader: a.target == Flower}, uint64(integrityOuterLevel)
	if a.to.IsValid() {
		packet.to = host(a.to)
	}
	if a.outer == nil {
		r.Pattern = []Item{eth(exact("dst", mac(m.Node.MAC)), number("type", ethType(a.six), 16))}
	} else {
		r.Pattern, level = a.outer.items(m, a.target, a.label), integrityInnerLevel
		r.Tunnel = a.tunnel()
	}
	if a.dmac != nil {
		r.Pattern = append(r.Pattern, eth(exact("dst", a.dmac), number("type", ethType(a.six), 16)))
	}
	if a.target == RTEFlow {
		r.Pattern = append([]Item{integrity(level, a.six)}, r.Pattern...)
	}
	r.Pattern = append(r.Pattern, packet.items()...)
	r.Assumes = append(append(r.Assumes, checks(a.target, a.six)...), a.assumes()...)
	r.Actions = []Action{
		{Do: RawDecap, Bytes: ethLen + pop}, {Do: RawEncap, Header: ethernet(a.port, a.six)},
		{Do: CountIt, Counter: Forwarded}, {Do: ToPort, Vif: a.port.Vif, Ifindex: a.port.Ifindex},
	}
	return r
}

// assumes is what no pattern says of the label or the VNI.
func (a arrival) assumes() []Assumption {
	switch {
	case a.outer == nil:
		return nil
	case a.outer.kind == core.VXLAN:
		return []Assumption{AssumeSource, AssumeVXLANFlag}
	}
	return []Assumption{AssumeSource, AssumeLabelTTL}
}

func (a arrival) tunnel() *Tunnel {
	t := &Tunnel{Encapsulation: config.EncapsulationOf(core.Nexthop{Encapsulation: a.outer.kind}), Destination: a.outer.to.String()}
	if a.outer.from.IsValid() {
		t.Source = a.outer.from.String()
	}
	value := uint32(a.label.Fields[0].Spec.uint())
	if t.Label = value; a.outer.kind == core.VXLAN {
		t.Label, t.VNI = 0, value
	}
	return t
}

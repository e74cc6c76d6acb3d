package offload

import (
	"fmt"
	"net/netip"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
)

// An egress is packets from a port to a prefix, or of one flow.
type egress struct {
	target Target
	vif    core.Vif
	vrf    core.VRF
	to     netip.Prefix
	flow   *Flow // nil: all flows to the prefix
	name   string
	slot   uint32 // of vif
	way    way
}

func (e *egress) six() bool { return e.to.Addr().Is6() }

func (e *egress) clamps() bool { return e.vrf.Flags&core.VRFMSSClamp != 0 }

// source is the port's own address of the family. Others that routes lead to it by are left to software.
func (e *egress) source() netip.Addr {
	if e.six() {
		return e.vif.Address6.IPv6()
	}
	return core.Addr{Hi: uint64(e.vif.Address) << 32}.IPv4()
}

// hash is that of the flow, with the seed that vr_decide_route gives it.
func (e *egress) hash() *uint32 {
	if e.flow == nil {
		return nil
	}
	h := e.flow.hash(uint32(e.vrf.ID))
	return &h
}

// rules translates what a route says of the packets.
func (e *egress) rules(m config.Image, route core.Route) ([]Rule, *Refusal) {
	var bad *Refusal
	if e.way, bad = follow(m, route, e.to.Addr(), e.hash()); bad != nil {
		return nil, bad
	}
	l4s, bad := e.l4s()
	if bad == nil {
		bad = e.expressible()
	}
	if bad != nil {
		return nil, bad
	}
	if e.vif.Policy != 0 {
		return e.denied(m.Policies[e.vif.Policy])
	}
	var rules []Rule
	for _, l := range l4s {
		for i := range ttls {
			for _, ecn := range e.ecns() {
				rules = append(rules, e.rule(l, &ttls[i], ecn))
			}
		}
	}
	return rules, nil
}

func (e *egress) l4s() ([]l4, *Refusal) {
	if e.flow == nil {
		return whole(e.six(), e.clamps()), nil
	}
	l, bad := e.flow.l4(e.clamps())
	return []l4{l}, bad
}

// expressible refuses what the target has no words for.
func (e *egress) expressible() *Refusal {
	r := e.way.nexthop
	switch {
	case e.vif.MTU > r.MTU && e.target == RTEFlow:
		return refuse(TooLong, "the port may send %d bytes and %d fit; give its interface the MTU %d, or the fabric more", e.vif.MTU, r.MTU, r.MTU)
	case e.target == Flower && r.Type == core.NexthopTunnel && r.Encapsulation == core.MPLSoGRE:
		return refuse(NoWords, "tc has no device that puts a label into GRE and that drivers offload")
	case e.target == RTEFlow && e.flow == nil && needsEntropy(r):
		return refuse(NeedsFlow, "the outer header holds a number of the flow, which a device cannot compute; name the flow")
	}
	return nil
}

/*
ecns are the values of the inner packet's ECN field, one rule each, because the outer header has the same
(RFC 6040, section 4.1). The kernel's tunnels have it otherwise, so that rules of tc leave to software what
would differ: VXLAN writes ECT(0) for CE, which is that RFC's compatibility mode, and what carries a label
is no IP packet to it, so the outer field is 0 (INET_ECN_encapsulate, ip_tunnel_ecn_encap).
*/
func (e *egress) ecns() []*class {
	r, count := e.way.nexthop, uint64(4)
	switch {
	case r.Type != core.NexthopTunnel:
		return []*class{nil}
	case e.target == Flower && r.Encapsulation == core.VXLAN:
		count = 3
	case e.target == Flower:
		count = 1
	}
	var all []*class
	for value := range count {
		all = append(all, &class{value, 3})
	}
	return all
}

func (e *egress) pattern(l l4, ttl, ecn *class) []Item {
	i := inner{six: e.six(), from: host(e.source()), to: e.to, l4: l, ttl: ttl, ecn: ecn, withoutHeader: e.target == Flower}
	frame := eth(exact("dst", mac(e.vrf.GatewayMAC)), exact("src", mac(e.vif.MAC)), number("type", ethType(e.six()), 16))
	items := append([]Item{frame}, i.items()...)
	if e.target == RTEFlow {
		items = append([]Item{integrity(integrityOuterLevel, e.six())}, items...)
	}
	return items
}

func (e *egress) rule(l l4, ttl, ecn *class) Rule {
	r := Rule{Name: e.name + ", " + l.name, Vif: e.slot, Ifindex: e.vif.Ifindex, Pattern: e.pattern(l, ttl, ecn)}
	out := e.way.nexthop
	if e.vif.MTU > out.MTU {
		r.Actions = append(r.Actions, Action{Do: Fits, Bytes: int(out.MTU) + ethLen})
	}
	r.Actions = append(r.Actions, Action{Do: DecTTL}, Action{Do: RawDecap, Bytes: ethLen})
	encap := Action{Do: RawEncap, Header: ethernet(out, e.six())}
	if out.Type == core.NexthopTunnel {
		p := push{label: e.way.label, six: e.six(), tos: uint8(ecn.value)}
		if h := e.hash(); h != nil {
			p.sport = entropyPort(*h)
		}
		encap.Header, encap.Fill = tunnelHeader(out, p)
		r.Tunnel = described(out, p)
		r.Name += fmt.Sprintf(", ecn %d", ecn.value)
	}
	r.Actions = append(r.Actions, encap, Action{Do: CountIt, Counter: Forwarded}, Action{Do: ToPort, Vif: out.Vif, Ifindex: out.Ifindex})
	r.Assumes, r.Open = e.assumes(), e.open()
	return r
}

func (e *egress) assumes() []Assumption {
	var all []Assumption
	if e.vif.MTU <= e.way.nexthop.MTU {
		all = append(all, AssumePortMTU)
	}
	return append(all, checks(e.target, e.six())...)
}

// checks are what a target cannot match of IP headers.
func checks(target Target, six bool) []Assumption {
	switch {
	case target == RTEFlow:
		return []Assumption{AssumeTransport}
	case six:
		return []Assumption{AssumeHeaders, AssumeTransport, AssumeExtensions}
	}
	return []Assumption{AssumeHeaders, AssumeTransport}
}

// open are the fields that a kernel's tunnel device has its own idea of.
func (e *egress) open() []Open {
	r := e.way.nexthop
	switch {
	case e.target != Flower || r.Type != core.NexthopTunnel:
		return nil
	case r.Outer == 40:
		return []Open{OpenUDPSource, OpenIPv6Flow}
	}
	return []Open{OpenUDPSource, OpenIPv4ID, OpenIPv4DF}
}

package offload

import (
	"windtunnel/vrouter/core"
)

/*
denied are rules for a flow from a port in flow mode that can never be: its policy lets neither end begin
it, and there is no record of one that began under an earlier policy. All else of such a port goes by
software, which keeps the records and ages them. The patterns are those of packets that would be forwarded,
so that what is lost is lost for this reason and no other.
*/
func (e *egress) denied(p core.Policy) ([]Rule, *Refusal) {
	switch {
	case e.flow == nil:
		return nil, refuse(FlowMode, "the port's flows are kept in software; of flows that are named, those that its policy denies can be dropped")
	case !hasPorts(e.flow.Protocol):
		return nil, refuse(FlowMode, "what belongs to an ICMP flow hangs on what the packet quotes or asks")
	case e.flow.Known:
		return nil, refuse(FlowMode, "the flow is known, and kept in software")
	case allows(p, *e.flow, core.FlowOut) || allows(p, *e.flow, core.FlowIn):
		return nil, refuse(FlowMode, "the policy lets the flow begin, from one end or the other, and then it is kept in software")
	case e.target == Flower && e.vif.MTU > e.way.nexthop.MTU:
		return nil, refuse(TooLong, "software answers what is longer than %d bytes, and flower cannot tell", e.way.nexthop.MTU)
	}
	l, bad := e.flow.l4(false) // a SYN is lost before its segment size would be clamped
	var rules []Rule
	for i := range ttls {
		rules = append(rules, Rule{
			Name: e.name + ", " + l.name + ", denied", Vif: e.slot, Ifindex: e.vif.Ifindex, Pattern: e.pattern(l, &ttls[i], nil),
			Actions: []Action{{Do: CountIt, Counter: Denied}, {Do: DropIt}}, Assumes: append(e.assumes(), AssumeNoRecord),
		})
	}
	return rules, bad
}

// allows is vr_policy_allows of vr_flow.h, for a flow whose source is the container.
func allows(p core.Policy, f Flow, direction uint8) bool {
	family, port := uint8(core.FamilyIP6), f.To
	if f.Destination.Is4() {
		family = core.FamilyIP4
	}
	if direction == core.FlowIn {
		port = f.From
	}
	what, remote := core.RuleWhat(direction, family, f.Protocol), core.AddrOf(f.Destination)
	for _, r := range p.Rules[:min(p.Count, core.MaxRules)] {
		about := (remote.Hi^r.Remote.Hi)&r.Mask.Hi == 0 && (remote.Lo^r.Remote.Lo)&r.Mask.Lo == 0 &&
			(what^r.What)&r.WhatMask == 0 && port >= r.FirstPort && port <= r.LastPort
		if about {
			return r.Allow != 0
		}
	}
	return p.Otherwise != 0
}

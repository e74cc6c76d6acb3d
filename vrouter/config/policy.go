package config

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"windtunnel/vrouter/core"
)

// Policy says which flows may begin at the ports that name it. What belongs to a flow that has begun
// passes, in both directions.
type Policy struct {
	Name    string `json:"name"`
	Default Action `json:"default"` // of flows that no rule is about
	Rules   []Rule `json:"rules"`   // the first that is about a flow decides
}

// Action is what becomes of a flow.
type Action string

const (
	// Allow lets it begin.
	Allow Action = "allow"
	// Deny drops its first packet, and so all.
	Deny Action = "deny"
)

// Rule is about flows whose first packet is as it says.
type Rule struct {
	Direction string       `json:"direction"`          // "out" from the container, "in" to it
	Protocol  string       `json:"protocol,omitempty"` // "tcp", "udp", "icmp" (of IPv4), "icmp6" or "any", the default
	Remote    netip.Prefix `json:"remote,omitzero"`    // the other end, by which the rule is about one family; any if it is left out
	Ports     Ports        `json:"ports,omitzero"`     // what the first packet is sent to; any if they are left out
	Action    Action       `json:"action"`
}

// PortFlow puts a port into flow mode.
type PortFlow struct {
	Policy string `json:"policy"`
}

// Ports is a range of TCP or UDP ports, both ends included; its text is "80" or "8000-8100".
type Ports struct{ First, Last uint16 }

// UnmarshalText reads it from JSON.
func (p *Ports) UnmarshalText(text []byte) error {
	first, last, isRange := strings.Cut(string(text), "-")
	if !isRange {
		last = first
	}
	low, lowErr := strconv.ParseUint(first, 10, 16)
	high, highErr := strconv.ParseUint(last, 10, 16)
	if lowErr != nil || highErr != nil || low == 0 || low > high {
		return fmt.Errorf("%q are no ports such as 80 or 8000-8100", text)
	}
	p.First, p.Last = uint16(low), uint16(high)
	return nil
}

// MarshalText makes JSON of it.
func (p Ports) MarshalText() ([]byte, error) {
	if p.First == p.Last {
		return strconv.AppendUint(nil, uint64(p.First), 10), nil
	}
	return fmt.Appendf(nil, "%d-%d", p.First, p.Last), nil
}

// PolicyKey is a policy's name.
func PolicyKey(p Policy) string { return p.Name }

var (
	actions    = []string{string(Allow), string(Deny)}
	directions = map[string]uint8{"out": core.FlowOut, "in": core.FlowIn}
	protocols  = map[string]uint8{"any": 0, "": 0, "tcp": core.ProtocolTCP, "udp": core.ProtocolUDP, "icmp": core.ProtocolICMP, "icmp6": core.ProtocolICMP6}
	// protocolFamilies are the families of protocols that only one has.
	protocolFamilies = map[string]uint8{"icmp": core.FamilyIP4, "icmp6": core.FamilyIP6}
)

func (k *checker) policy(path string, p Policy) *Error {
	if err := k.name(path+".name", "policy", p.Name); err != nil {
		return err
	}
	if err := action(path+".default", p.Default); err != nil {
		return err
	}
	if len(p.Rules) > core.MaxRules {
		return bad(path+".rules", "%d are more than the %d that a packet is compared with at most", len(p.Rules), core.MaxRules)
	}
	for i, r := range p.Rules {
		if err := rule(fmt.Sprintf("%s.rules[%d]", path, i), r); err != nil {
			return err
		}
	}
	k.policies[p.Name] = true
	return nil
}

func action(path string, a Action) *Error {
	if !slices.Contains(actions, string(a)) {
		return bad(path, "there is no action %q%s", a, nearest(string(a), slices.Clone(actions)))
	}
	return nil
}

func rule(path string, r Rule) *Error {
	if _, ok := directions[r.Direction]; !ok {
		return bad(path+".direction", "there is no direction %q%s", r.Direction, nearest(r.Direction, sortedKeys(directions)))
	}
	if _, ok := protocols[r.Protocol]; !ok {
		words := slices.DeleteFunc(sortedKeys(protocols), func(word string) bool { return word == "" })
		return bad(path+".protocol", "there is no protocol %q%s", r.Protocol, nearest(r.Protocol, words))
	}
	switch {
	case r.Remote != netip.Prefix{} && (!r.Remote.IsValid() || r.Remote.Addr().Is4In6()):
		return bad(path+".remote", "%s is no IPv4 or IPv6 prefix", r.Remote)
	case r.Remote.IsValid() && protocolFamilies[r.Protocol] != 0 && protocolFamilies[r.Protocol] != family(r.Remote):
		return bad(path+".remote", "%s packets have no address of %s; icmp is IPv4's, icmp6 is IPv6's", r.Protocol, r.Remote)
	case r.Remote != r.Remote.Masked():
		return bad(path+".remote", "%s has bits behind its prefix; did you mean %s?", r.Remote, r.Remote.Masked())
	case r.Ports != Ports{} && r.Protocol != "tcp" && r.Protocol != "udp":
		return bad(path+".ports", "only tcp and udp have ports; name one of them as the protocol")
	}
	return action(path+".action", r.Action)
}

// portFlow checks that a port's policy is there.
func (k *checker) portFlow(path string, p Port) *Error {
	if name := p.Flow.Policy; name != "" && !k.policies[name] {
		return bad(path+".flow.policy", "there is no policy %q%s", name, nearest(name, sortedKeys(k.policies)))
	}
	return nil
}

// record is the policy as the data path has it.
func (p Policy) record() core.Policy {
	r := core.Policy{ID: ID(p.Name), Count: uint32(len(p.Rules)), Otherwise: flag(p.Default == Allow, 1)}
	for i, rule := range p.Rules {
		r.Rules[i] = rule.record()
	}
	return r
}

func (r Rule) record() core.Rule {
	protocol := protocols[r.Protocol]
	c := core.Rule{LastPort: 65535, Allow: flag(r.Action == Allow, 1)}
	c.What, c.WhatMask = core.RuleWhat(directions[r.Direction], 0, protocol), core.RuleWhat(0xff, 0, uint8(flag(protocol != 0, 0xff)))
	if r.Ports != (Ports{}) {
		c.FirstPort, c.LastPort = r.Ports.First, r.Ports.Last
	}
	if r.Remote.IsValid() {
		c.Remote, c.Mask = core.AddrOf(r.Remote.Addr()), mask6(r.Remote)
		c.What |= core.RuleWhat(0, family(r.Remote), 0)
		c.WhatMask |= core.RuleWhat(0, 0xff, 0)
	}
	return c
}

func family(p netip.Prefix) uint8 {
	if p.Addr().Is4() {
		return core.FamilyIP4
	}
	return core.FamilyIP6
}

// addPolicies makes the records of the policies that ports name. One that has changed gets a place of
// its own, and ports turn to it with one store: so no packet meets half a policy.
func (b *builder) addPolicies() error {
	b.policies = make(map[string]uint32)
	byName := make(map[string]Policy)
	for _, p := range b.config.Policies {
		byName[p.Name] = p
	}
	for _, port := range b.config.Ports {
		name := port.Flow.Policy
		if _, done := b.policies[name]; done || name == "" {
			continue
		}
		slot, err := b.place.policies.place(b.previous.Policies, b.next.Policies, byName[name].record())
		if err != nil {
			return err
		}
		b.policies[name] = slot
	}
	return nil
}

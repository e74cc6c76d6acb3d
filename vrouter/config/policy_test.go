package config

import (
	"fmt"
	"strings"
	"testing"

	"windtunnel/vrouter/core"
)

const policyNode = `{"format": 1, "name": "a", "fabric": {"interface": "wire0", "address": "10.0.0.1"},
 "networks": [{"name": "n", "subnet": "10.0.1.0/24", "gateway": "10.0.1.254", "flows": 1000}],
 "ports": [{"name": "p", "interface": "v0", "network": "n", "address": "10.0.1.3", "mac": "02:00:00:00:01:03", "flow": {"policy": "%s"}}],
 "policies": [{"name": "web", "default": "deny", "rules": [%s]}], "idle_seconds": {"opening": 5}, "limits": {"flows": 1000}}`

// TestPolicyErrors: what is wrong with a policy is said where it stands, with the word that was meant.
func TestPolicyErrors(t *testing.T) {
	rule := func(text string) string { return fmt.Sprintf(policyNode, "web", text) }
	for want, text := range map[string]string{
		`ports[0].flow.policy: there is no policy "wep"; did you mean "web"?`:                           fmt.Sprintf(policyNode, "wep", ""),
		`rules[0].direction: there is no direction "inn"; did you mean "in"?`:                           rule(`{"direction":"inn","action":"allow"}`),
		`rules[0].protocol: there is no protocol "tcq"; did you mean "tcp"?`:                            rule(`{"direction":"in","protocol":"tcq","action":"allow"}`),
		`rules[0].action: there is no action "alow"; did you mean "allow"?`:                             rule(`{"direction":"in","action":"alow"}`),
		`rules[0].remote: 10.0.0.1/8 has bits behind its prefix; did you mean 10.0.0.0/8?`:              rule(`{"direction":"in","remote":"10.0.0.1/8","action":"allow"}`),
		`rules[0].remote: ::ffff:10.0.0.0/104 is no IPv4 or IPv6 prefix`:                                rule(`{"direction":"in","remote":"::ffff:10.0.0.0/104","action":"allow"}`),
		`rules[0].remote: icmp packets have no address of fd00::/8; icmp is IPv4's, icmp6 is IPv6's`:    rule(`{"direction":"in","protocol":"icmp","remote":"fd00::/8","action":"allow"}`),
		`rules[0].remote: icmp6 packets have no address of 10.0.0.0/8; icmp is IPv4's, icmp6 is IPv6's`: rule(`{"direction":"in","protocol":"icmp6","remote":"10.0.0.0/8","action":"allow"}`),
		`rules[0].ports: only tcp and udp have ports; name one of them as the protocol`:                 rule(`{"direction":"in","ports":"80","action":"allow"}`),
		`rules[0].ports: "90-80" are no ports such as 80 or 8000-8100`:                                  rule(`{"direction":"in","protocol":"tcp","ports":"90-80","action":"allow"}`),
		`policies[0].rules: 65 are more than the 64 that a packet is compared with at most`:             rule(strings.TrimSuffix(strings.Repeat(`{"direction":"in","action":"deny"},`, 65), ",")),
		`limits.flows: 2000001 is not between 1 and 2000000`:                                            strings.Replace(rule(""), `{"flows": 1000}}`, `{"flows": 2000001}}`, 1),
		`policies[0]: unknown key "defualt"; did you mean "default"?`:                                   strings.Replace(rule(""), "default", "defualt", 1),
	} {
		if _, err := Parse([]byte(text), ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, not %s", err, want)
		}
	}
}

func policyImage(t *testing.T, text string, previous Image) Image {
	t.Helper()
	c, err := Parse([]byte(text), "")
	if err != nil {
		t.Fatal(err)
	}
	facts := Facts{FabricIfindex: 1, FabricMTU: 1500, Interfaces: map[string]Interface{"v0": {Ifindex: 2, MTU: 1500}}}
	image, err := c.Image(facts, previous)
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// TestPolicyChange: a changed policy is written where no packet looks, then the port turns to it with
// one store, and the old one is wiped last.
func TestPolicyChange(t *testing.T) {
	first := policyImage(t, fmt.Sprintf(policyNode, "web", `{"direction":"in","protocol":"tcp","ports":"80-90","remote":"10.0.0.0/8","action":"allow"}`), Image{})
	old := first.Vifs[1].Policy
	want := core.Rule{FirstPort: 80, LastPort: 90, What: core.RuleWhat(core.FlowIn, core.FamilyIP4, core.ProtocolTCP), WhatMask: 0xffffff, Allow: 1}
	want.Remote.Hi, want.Mask.Hi = 10<<56, 0xff<<56
	if old == 0 || first.Policies[old].Rules[0] != want || first.VRFs[1].Flows != 1000 {
		t.Errorf("policy %d: %+v; %+v", old, first.Policies[old].Rules[0], first.VRFs[1])
	}
	second := policyImage(t, fmt.Sprintf(policyNode, "web", ""), first)
	plan := Diff(first, second)
	if len(plan.Prepare) != 1 || plan.Prepare[0].Table != TablePolicies || plan.Prepare[0].Offset == old*core.SizePolicy {
		t.Errorf("before: %+v", plan.Prepare)
	}
	if len(plan.Switch) != 1 || plan.Switch[0].Table != TableVifs || len(plan.Retire) != 1 || plan.Retire[0].Offset != old*core.SizePolicy {
		t.Errorf("then: %+v; last: %d", plan.Switch, len(plan.Retire))
	}
	tables := second.Flat()
	if read := Read(tables); len(read.Policies) != 1 || read.Vifs[1] != second.Vifs[1] {
		t.Errorf("read back: %d policies", len(read.Policies))
	}
}

// TestPolicyBridged: in a network that is one link, a frame to a port's MAC address and a copy of what is
// for all come to a nexthop that says whether the port has a policy, also once that changes.
func TestPolicyBridged(t *testing.T) {
	with := strings.Replace(fmt.Sprintf(policyNode, "web", ""), `"flows": 1000}`, `"bridge": {}}`, 1)
	var image Image
	for _, k := range []struct {
		text string
		flow uint32
	}{{with, core.NexthopFlow}, {strings.Replace(with, `, "flow": {"policy": "web"}`, "", 1), 0}, {with, core.NexthopFlow}} {
		image = policyImage(t, k.text, image)
		routes := []core.Route{image.LookupMAC(1, MAC{2, 0, 0, 0, 1, 3}), core.Route(image.Floods[image.VRFs[1].Flood].Targets[0])}
		for _, r := range routes {
			if n := image.Nexthops[r.Ref()]; n.Type != core.NexthopEncap || n.Flags&core.NexthopFlow != k.flow {
				t.Errorf("nexthop %d: %+v", r.Ref(), n)
			}
		}
	}
}

// TestIdle: each kind of flow has its time, the configuration's or the default.
func TestIdle(t *testing.T) {
	idle := Idle{Opening: 5}
	for _, c := range []struct {
		protocol, family uint8
		state            core.FlowState
		seconds          float64
	}{
		{core.ProtocolUDP, 4, core.FlowOpening, 5}, {core.ProtocolUDP, 4, core.FlowEstablished, 180}, {core.ProtocolTCP, 4, core.FlowOpening, 60},
		{core.ProtocolTCP, 4, core.FlowEstablished, 7440}, {core.ProtocolTCP, 4, core.FlowClosing, 10}, {core.ProtocolUDP, 4 | core.FamilyFragment, core.FlowOpening, 30},
	} {
		if got := idle.Of(core.FlowKey{Protocol: c.protocol, Family: c.family}, c.state); got.Seconds() != c.seconds {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

package offload

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
)

// MaxRules is how many rules a plan has at most, if nobody says otherwise: a device has room for some
// thousand to some hundred thousand.
const MaxRules = 10_000

// fabricVif stands for the fabric among the vifs.
const fabricVif = 0

// A Port is what people and devices call an interface of the tables.
type Port struct {
	Name   string `json:"name"`   // the port's, or "fabric"
	Device string `json:"device"` // the kernel's
	Number int    `json:"number"` // DPDK's
}

// Options say what is to be translated.
type Options struct {
	Target Target
	Flows  []Flow            // of which there are to be rules of their own
	Ports  map[uint32]Port   // by vif; 0 is the fabric
	Only   string            // a port's name: only its packets; "" for all, and the fabric's
	From   func(uint32) bool // whether packets that come by a vif are to have rules; nil: all
	Limit  int               // of rules; MaxRules if it is 0
}

// A Plan is all that a device can be told.
type Plan struct {
	Target  Target          `json:"target"`
	Ports   map[uint32]Port `json:"ports"` // by vif; 0 is the fabric
	Rules   []Rule          `json:"rules"`
	Refused []Refusal       `json:"refused"`
	Cut     bool            `json:"cut"` // there would be more rules than the limit
}

type translator struct {
	Options
	image config.Image
	plan  Plan
}

// Translate makes the rules of an image. They are right until the image changes.
func Translate(m config.Image, o Options) Plan {
	if o.Limit == 0 {
		o.Limit = MaxRules
	}
	t := translator{Options: o, image: m, plan: Plan{Target: o.Target, Ports: o.Ports, Rules: []Rule{}, Refused: []Refusal{}}}
	for _, f := range o.Flows {
		if o.Only == "" || o.Only == f.Port {
			t.flow(f)
		}
	}
	for _, slot := range slices.Sorted(maps.Keys(m.Vifs)) {
		if t.wanted(slot) {
			t.vif(slot)
		}
	}
	if t.wanted(fabricVif) {
		t.fabric()
	}
	return t.plan
}

func (t *translator) nameOf(vif uint32) string {
	if p, there := t.Ports[vif]; there {
		return p.Name
	}
	return fmt.Sprintf("vif %d", vif)
}

func (t *translator) wanted(vif uint32) bool {
	return (t.Only == "" || t.Only == t.nameOf(vif)) && (t.From == nil || t.From(vif))
}

// add takes what one part gives.
func (t *translator) add(what string, rules []Rule, bad *Refusal) {
	switch {
	case bad != nil && len(t.plan.Refused) >= t.Limit, len(t.plan.Rules)+len(rules) > t.Limit:
		t.plan.Cut = true
	case bad != nil:
		t.plan.Refused = append(t.plan.Refused, Refusal{what, bad.Reason, bad.Says})
	default:
		t.plan.Rules = append(t.plan.Rules, rules...)
	}
}

// flow translates one flow.
func (t *translator) flow(f Flow) {
	what := fmt.Sprintf("%s, flow %s > %s", f.Port, end(f.Source, f.From), end(f.Destination, f.To))
	slot, there := t.vifOf(f.Port)
	if !there {
		t.add(what, nil, refuse(NotForwarded, "there is no port %q", f.Port))
		return
	}
	e := t.egress(slot, host(f.Destination))
	e.flow, e.name = &f, what
	if f.Source != e.source() || !f.Source.IsValid() || f.Source.IsUnspecified() {
		t.add(what, nil, refuse(Spoofed, "%s is not the port's own address", f.Source))
		return
	}
	if !unicast(e.to) {
		t.add(what, nil, refuse(NotForwarded, "what is for a group is lost"))
		return
	}
	route := t.image.Lookup(e.vif.VRF, f.Destination)
	if route == 0 {
		t.add(what, nil, refuse(NotForwarded, "there is no route to it"))
		return
	}
	rules, bad := e.rules(t.image, route)
	t.add(what, rules, bad)
}

func end(a netip.Addr, port uint16) string { return netip.AddrPortFrom(a, port).String() }

func (t *translator) vifOf(port string) (uint32, bool) {
	for slot, vif := range t.image.Vifs {
		if vif.ID == config.ID(port) {
			return slot, true
		}
	}
	return 0, false
}

func (t *translator) egress(slot uint32, to netip.Prefix) *egress {
	vif := t.image.Vifs[slot]
	return &egress{
		target: t.Target, slot: slot, vif: vif, vrf: t.image.VRFs[vif.VRF], to: to,
		name: fmt.Sprintf("%s > %s", t.nameOf(slot), to),
	}
}

// vif translates all routes of a port's network.
func (t *translator) vif(slot uint32) {
	vif := t.image.Vifs[slot]
	name := t.nameOf(slot)
	if vif.Policy != 0 {
		t.add(name, nil, refuse(FlowMode, "the port's flows are kept in software; of flows that are named, those that its policy denies can be dropped"))
		return
	}
	if t.image.VRFs[vif.VRF].Flags&core.VRFBridge != 0 {
		t.add(name, nil, refuse(Bridged, "frames that are not for the gateway's MAC address go by software"))
	}
	entries, leaf := leaves(t.image, vif.VRF)
	for i, entry := range entries {
		e := t.egress(slot, entry.Prefix)
		if e.six() && vif.Address6 == (core.Addr{}) || entry.Prefix == host(e.source()) {
			continue
		}
		if bad := t.whole(entry, leaf[i]); bad != nil {
			t.add(e.name, nil, bad)
			continue
		}
		rules, bad := e.rules(t.image, entry.Route)
		t.add(e.name, rules, bad)
	}
}

// whole tells whether a route is one for all of its prefix.
func (t *translator) whole(entry config.RouteEntry, leaf bool) *Refusal {
	switch {
	case !leaf:
		return refuse(Nested, "more specific routes lie inside, and rules have no order; name flows, or split the prefix")
	case !unicast(entry.Prefix):
		return refuse(NotForwarded, "some of its addresses are groups', and what is for those is lost")
	}
	return nil
}

// fabric translates what comes from other nodes.
func (t *translator) fabric() {
	for _, o := range outers(t.image) {
		if o.kind == core.VXLAN {
			t.vnis(o)
		} else {
			t.labels(o)
		}
	}
	for entry := range t.image.Routes(core.FabricVRF) {
		t.arrivals(arrival{target: t.Target, name: "fabric"}, entry)
	}
}

// arrivals are packets to an address of a network: of one port, if the route says so.
func (t *translator) arrivals(a arrival, entry config.RouteEntry) {
	record := t.image.Nexthops[entry.Route.Ref()]
	if record.Type == core.NexthopReceive || record.Type == core.NexthopTunnel || record.Flags&core.NexthopFabric != 0 {
		return // such packets are lost, or software's to answer
	}
	a.name = fmt.Sprintf("%s > %s", a.name, entry.Prefix)
	way, bad := follow(t.image, entry.Route, entry.Prefix.Addr(), nil)
	if bad == nil && !entry.Prefix.IsSingleIP() {
		bad = refuse(Nested, "a port has single addresses")
	}
	if bad != nil {
		t.add(a.name, nil, bad)
		return
	}
	a.to, a.six, a.port = entry.Prefix.Addr(), entry.Prefix.Addr().Is6(), way.nexthop
	rules, bad := a.rules(t.image)
	t.add(a.name, rules, bad)
}

func (t *translator) labels(o outer) {
	for _, label := range slices.Sorted(maps.Keys(t.image.Labels)) {
		a := arrival{target: t.Target, outer: &o, port: t.image.Nexthops[t.image.Labels[label]]}
		a.label = Item{MPLS, []Field{number("label", uint64(label), 20), number("s", 1, 1)}}
		a.name = fmt.Sprintf("fabric, %s, label %d", o, label)
		if a.port.Type == core.NexthopFrames {
			t.add(a.name, nil, refuse(Bridged, "whole frames behind a label go by software"))
			continue
		}
		if a.port.Type == core.NexthopTranslate {
			for entry := range t.image.Routes(a.port.Vif) {
				t.arrivals(a, entry)
			}
			continue
		}
		for _, six := range []bool{false, true} {
			a.six = six
			rules, bad := a.rules(t.image)
			t.add(a.name, rules, bad)
			if bad != nil {
				break
			}
		}
	}
}

func (t *translator) vnis(o outer) {
	byVNI := make(map[uint32]uint32)
	for _, word := range t.image.VNIs {
		vni, vrf := core.VNIOf(word)
		byVNI[vni] = vrf
	}
	for _, vni := range slices.Sorted(maps.Keys(byVNI)) {
		vrf := t.image.VRFs[byVNI[vni]]
		a := arrival{target: t.Target, outer: &o, dmac: mac(vrf.GatewayMAC)}
		a.label = Item{VXLAN, []Field{number("vni", uint64(vni), 24)}}
		a.name = fmt.Sprintf("fabric, %s, vni %d", o, vni)
		if vrf.Flags&core.VRFBridge != 0 {
			t.add(a.name, nil, refuse(Bridged, "frames that are not for the gateway's MAC address go by software"))
		}
		for entry := range t.image.Routes(byVNI[vni]) {
			t.arrivals(a, entry)
		}
	}
}

package testbed

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// object is any part of a graph, as Diff sees it.
type object struct {
	kind       Kind
	name       string
	detail     string
	fixed      string      // what cannot change while it lives
	attributes []attribute // what can
	needs      []string    // keys of the objects that it stands on
}

// attribute is a settable property of an object. asFound marks one whose absence
// means "as the kernel made it".
type attribute struct {
	place, device string
	name, value   string
	asFound       bool
}

func (a attribute) same(other attribute) bool {
	return a.place == other.place && a.device == other.device && a.name == other.name
}

func (o object) key() string { return string(o.kind) + " " + o.name }

func (o object) change(do Action) Change {
	return Change{Do: do, Kind: o.kind, Name: o.name, Detail: o.detail}
}

// objects lists a graph in the order in which it is made.
func objects(g Graph) []object {
	var all []object
	for _, n := range g.Nodes {
		all = append(all, nodeObject(n))
	}
	for _, c := range g.Containers {
		all = append(all, object{kind: KindContainer, name: c.Name, detail: "on " + c.Node, fixed: c.Node})
	}
	for _, b := range g.Bridges {
		all = append(all, bridgeObject(b))
	}
	for _, b := range g.Bonds {
		all = append(all, b.object(g))
	}
	for _, l := range g.Links {
		all = append(all, linkObject(g, l))
	}
	for _, v := range g.VXLANs {
		all = append(all, vxlanObject(g, v))
	}
	for _, m := range g.Routes {
		all = append(all, m.object(g))
	}
	for _, d := range g.Daemons {
		all = append(all, daemonObject(g, d))
	}
	for _, p := range g.Ports {
		all = append(all, p.object(g))
	}
	for _, e := range g.Engines {
		all = append(all, e.object(g))
	}
	for _, v := range g.VMs {
		all = append(all, v.object(g))
	}
	return all
}

func nodeObject(n Node) object {
	cpus := strings.Trim(fmt.Sprint(n.CPUs), "[]")
	detail := "CPUs " + cpus
	if n.InPlace {
		detail += ", the host's own stack"
	}
	return object{
		kind: KindNode, name: n.Name, detail: detail,
		attributes: []attribute{{place: n.Name, name: AttributeCPUs, value: cpus}},
	}
}

func bridgeObject(b Bridge) object {
	mtu := attribute{place: b.Node, device: b.Device, name: AttributeMTU, value: fmt.Sprint(b.MTU)}
	return object{
		kind: KindBridge, name: b.Name,
		detail: fmt.Sprintf("%s/%s, MTU %d", b.Node, b.Device, b.MTU),
		fixed:  b.Node + "/" + b.Device,
		attributes: append([]attribute{mtu,
			{place: b.Node, device: b.Device, name: AttributeAddresses, value: strings.Join(b.Addresses, ",")}}, offloadAttributes(b.Node, b.Device, b.Offloads)...),
	}
}

func linkObject(g Graph, l Link) object {
	o := object{kind: KindLink, name: l.Name, detail: l.Role + " "}
	if l.Kind != "" {
		o.detail = l.Kind + " " + o.detail
	}
	far := l.Ends[1].Place
	if l.Kind != LinkTap {
		far += "/" + l.Ends[1].Device
	}
	o.detail += fmt.Sprintf("%s/%s - %s, MTU %d", l.Ends[0].Place, l.Ends[0].Device, far, l.Ends[0].MTU)
	o.fixed = l.Role + " " + l.Kind
	if p := l.Pull; p != nil {
		o.detail += fmt.Sprintf(", pulled at %s from %g to %g of each window", p.Node, p.From, p.To)
		o.fixed += fmt.Sprint(" ", *p)
	}
	for _, end := range l.Interfaces() {
		o.fixed += fmt.Sprintf(" %s/%s/%d", end.Place, end.Device, end.Queues)
		if end.Found != (Found{}) {
			o.fixed += fmt.Sprintf(" %+v %v", end.Found, end.Behind)
		}
		o.attributes = append(o.attributes, end.attributes()...)
		o.needs = append(o.needs, g.placeKey(end.Place), bridgeKey(g, g.NodeOf(end.Place), end.Bridge))
	}
	return o
}

func (i Interface) attributes() []attribute {
	routes := make([]string, len(i.Routes))
	for n, r := range i.Routes {
		routes[n] = strings.TrimSpace(r.Prefix + " " + r.Gateway)
	}
	at := func(name, value string) attribute {
		return attribute{place: i.Place, device: i.Device, name: name, value: value}
	}
	all := []attribute{
		{place: i.Place, device: i.Device, name: AttributeMAC, value: i.MAC, asFound: i.MAC != ""},
		at(AttributeMTU, fmt.Sprint(i.MTU)),
		at(AttributeBridge, i.port()),
		at(AttributeAddresses, strings.Join(i.Addresses, ",")),
		at(AttributeRoutes, strings.Join(routes, ",")),
	}
	if i.MAC == "" {
		all = all[1:]
	}
	all = append(all, offloadAttributes(i.Place, i.Device, i.Offloads)...)
	steering := i.Steering
	if len(i.CPUs) > 0 {
		steering += " on " + ranges(i.CPUs)
	}
	if i.CPUAQueue {
		steering += " a queue"
	}
	all = append(all, at(AttributeSteering, strings.TrimSpace(steering)))
	return append(all, at(AttributeQueueBy, strings.TrimSpace(i.QueueBy+" "+strings.Join(i.Destinations, ","))),
		at(AttributeRate, unlessZero("%g bit/s", i.BitsPerSecond)), at(AttributeLoss, unlessZero("%g %%", 100*i.Loss)))
}

func unlessZero(format string, v float64) string {
	if v == 0 {
		return ""
	}
	return fmt.Sprintf(format, v)
}

// port is what an interface is to a bridge.
func (i Interface) port() string {
	if i.Isolated {
		return i.Bridge + " (isolated)"
	}
	return i.Bridge
}

func offloadAttributes(place, device string, offloads map[string]bool) []attribute {
	var all []attribute
	for _, name := range slices.Sorted(maps.Keys(offloads)) {
		value := "off"
		if offloads[name] {
			value = "on"
		}
		all = append(all, attribute{place: place, device: device, name: name, value: value, asFound: true})
	}
	return all
}

func vxlanObject(g Graph, v VXLAN) object {
	o := object{
		kind: KindVXLAN, name: v.Name,
		detail: fmt.Sprintf("%s/%s, VNI %d, %s - %s port %d, MTU %d",
			v.Node, v.Device, v.VNI, v.Local, v.Remote, v.Port, v.MTU),
		fixed: fmt.Sprintf("%s/%s %d %s %s %d %s", v.Node, v.Device, v.VNI, v.Local, v.Remote, v.Port, v.Underlay),
		attributes: []attribute{
			{place: v.Node, device: v.Device, name: AttributeMTU, value: fmt.Sprint(v.MTU)},
			{place: v.Node, device: v.Device, name: AttributeBridge, value: v.Bridge},
		},
		needs: []string{bridgeKey(g, v.Node, v.Bridge)},
	}
	o.attributes = append(o.attributes, offloadAttributes(v.Node, v.Device, v.Offloads)...)
	for _, l := range g.Links {
		for _, end := range l.Ends {
			if end.Place == v.Node && end.Device == v.Underlay {
				o.needs = append(o.needs, linkKey(l))
			}
		}
	}
	return o
}

// daemonObject stands on every link and switch of its node, which it may hold by
// index, and on the daemons before it there, with which it may speak.
func daemonObject(g Graph, d Daemon) object {
	part := g.Part(d.Node)
	o := object{
		kind: KindDaemon, name: d.Name,
		detail: d.Node + ": " + d.line(),
		fixed:  fmt.Sprint(d), // fmt prints maps in the order of their keys
	}
	for _, l := range part.Links {
		o.needs = append(o.needs, linkKey(l))
	}
	for _, b := range part.Bridges {
		o.needs = append(o.needs, object{kind: KindBridge, name: b.Name}.key())
	}
	for _, v := range part.VXLANs {
		o.needs = append(o.needs, object{kind: KindVXLAN, name: v.Name}.key())
	}
	for _, before := range part.Daemons {
		if before.Name == d.Name {
			break
		}
		o.needs = append(o.needs, object{kind: KindDaemon, name: before.Name}.key())
	}
	return o
}

func linkKey(l Link) string { return object{kind: KindLink, name: l.Name}.key() }

func bridgeKey(g Graph, node, bridge string) string {
	for _, b := range g.Bridges {
		if b.Name == bridge && b.Node == node {
			return object{kind: KindBridge, name: b.Name}.key()
		}
	}
	for _, b := range g.Bonds {
		if b.Name == bridge && b.Node == node {
			return object{kind: KindBond, name: b.Name}.key()
		}
	}
	return ""
}

func (g Graph) placeKey(place string) string {
	if _, isNode := g.Node(place); isNode {
		return object{kind: KindNode, name: place}.key()
	}
	if vm, _, ok := g.InVM(place); ok { // which stands on its links, and not they on it
		return object{kind: KindNode, name: vm.Node}.key()
	}
	if _, engine, ok := g.Contained(place); ok {
		return object{kind: KindEngine, name: engine.Name}.key()
	}
	return object{kind: KindContainer, name: place}.key()
}

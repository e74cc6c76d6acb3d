package control

import (
	"cmp"
	"fmt"
	"net/netip"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
)

// An explainer turns recorded steps into sentences, with the names that the configuration has for
// what the tables number.
type explainer struct {
	agent *Agent
	port  config.Port // that sent the frame, if one did
	reply TraceReply
	left  uint32 // the interface that it would leave by
	vni   string // the network that the frame's VNI or label names, or whose routes say where to

	target netip.Addr // of an IPv6 packet
}

// address is an IPv4 address that a step tells.
func address(word uint64) netip.Addr { return core.Addr{Hi: word << 32}.IPv4() }

func (e *explainer) add(step, format string, args ...any) {
	e.reply.Steps = append(e.reply.Steps, TraceStep{step, fmt.Sprintf(format, args...)})
}

func (e *explainer) end(result, format string, args ...any) {
	e.reply.Result, e.reply.Says = result, fmt.Sprintf(format, args...)
	e.add(result, "%s", e.reply.Says)
}

func (e *explainer) step(s core.Step) {
	switch s.Step {
	case core.StepVif:
		e.add("vif", "port %s: vif %d, %s of %s", e.port.Name, s.A, e.port.Place(), e.port.Network)
	case core.StepSource:
		e.add("source", "%s and the MAC are the port's own", address(s.A))
	case core.StepARP:
		e.add("arp", "%s asks who has %s", address(s.B), address(s.A))
	case core.StepTTL:
		e.add("ttl", "the time to live is %d", s.A)
	case core.StepRoute:
		e.route(core.Route(s.A), address(s.B))
	case core.StepSource6:
		e.add("source", "%s and the MAC are the port's own", core.Addr{Hi: s.A, Lo: s.B}.IPv6())
	case core.StepTarget6:
		e.target = core.Addr{Hi: s.A, Lo: s.B}.IPv6()
	case core.StepRoute6:
		e.route(core.Route(s.A), e.target)
	case core.StepND:
		e.add("nd", "it asks who has %s", core.Addr{Hi: s.A, Lo: s.B}.IPv6())
	case core.StepMAC:
		e.mac(core.Route(s.A), s.B)
	case core.StepCopy:
		e.copy(core.Route(s.A), s.B)
	case core.StepLabel:
		e.label(uint32(s.A))
	case core.StepVNI:
		e.network(uint32(s.A))
	case core.StepTranslate:
		e.vni = e.agent.view().networkName(uint32(s.A))
	case core.StepQuoted:
		e.add("quoted", "an ICMP error: it has the way of the flow that it is about")
	case core.StepMember:
		e.add("member", "bucket %d of %d leads to one of the ways", s.B, core.GroupBuckets)
		e.way(core.Route(s.A))
	case core.StepOuter:
		e.add("tunnel", "from %s", address(s.A))
	case core.StepOuter6:
		e.add("tunnel", "from %s", core.Addr{Hi: s.A, Lo: s.B}.IPv6())
	case core.StepECN:
		e.add("ecn", "the outer header has %d, the inner %d (RFC 6040)", s.A&3, s.B&3)
	case core.StepHanded:
		port, _ := e.agent.place(uint32(s.B))
		e.add("xdp", "XDP took the tunnel's headers off; for port %s", port)
	case core.StepFlow:
		e.flow(uint32(s.A), s.B)
	case core.StepFast:
		e.fast(s.A)
	case core.StepFits:
		if s.A <= s.B {
			e.add("mtu", "%d bytes fit the way's MTU, %d", s.A, s.B)
		} else {
			e.add("mtu", "%d bytes are more than the way's MTU, %d", s.A, s.B)
		}
	case core.StepVerdict:
		e.verdict(s.A, s.B)
	case core.StepLoss:
		e.loss(s.A)
	case core.StepPass:
		e.end("pass", "not for a port of this node: the host's stack has it")
	case core.StepLeave:
		e.leave(uint32(s.A), s.B != 0)
	default:
		e.add("step", "%d: %d, %d", s.Step, s.A, s.B)
	}
}

// left is why XDP leaves a packet to tc: enum vr_left of kernel/vr_fast.h.
var left = [...]string{
	"", "", "it is not forwarded by headers alone", "the segment size of a SYN is clamped there",
	"the driver on the way out takes no frames of XDP", "its checksum is not known to be finished",
	"GRO may join TCP packets before", "there is too little room in front of it", "the flows are there",
}

func (e *explainer) fast(why uint64) {
	switch {
	case why == 0:
		e.add("fast", "XDP forwards it, and tc never sees it")
	case why < uint64(len(left)) && left[why] != "":
		e.add("fast", "XDP leaves it to tc: %s", left[why])
	}
}

func (e *explainer) route(r core.Route, to netip.Addr) {
	where, text := cmp.Or(e.vni, e.port.Network, "the fabric's own table"), ""
	if prefix, err := to.Prefix(r.PrefixBits()); err == nil {
		text = prefix.String()
	}
	e.add("route", "%s matches %s in %s", to, text, where)
	e.way(r)
}

// way is a nexthop with its label: a route's, or one of several.
func (e *explainer) way(r core.Route) {
	e.nexthop(r.Ref())
	if r.Label() != 0 {
		e.add("label", "%d is pushed", r.Label())
	}
}

// flowWays are how a packet passes flow mode: enum vr_flow_way of core/vr_flow_cross.h.
var flowWays = [...]string{
	"a flow that is known", "its policy lets a new flow begin", "it is no IP, and its policy allows what no rule is about",
	"ARP and neighbour discovery pass without it being asked",
}

func (e *explainer) flow(vif uint32, way uint64) {
	if way < uint64(len(flowWays)) {
		e.add("flow", "port %s: %s", e.agent.view().portNames()[vif], flowWays[way])
	}
}

func (e *explainer) mac(route core.Route, word uint64) {
	mac, _ := core.MACOf(word)
	where := cmp.Or(e.port.Network, e.vni)
	if route == 0 {
		e.add("mac", "%s is nobody's in %s", config.MAC(mac), where)
		return
	}
	e.add("mac", "%s is one of %s", config.MAC(mac), where)
	e.nexthop(route.Ref())
}

func (e *explainer) copy(route core.Route, reason uint64) {
	v := e.agent.view()
	t := v.target(route, v.portNames())
	to := cmp.Or(t.Tunnel, "port "+t.Port)
	if reason != 0 && reason < uint64(len(core.DropReasons)) {
		e.add("copy", "none to %s: %s", to, core.DropReasons[reason].Name)
		return
	}
	e.add("copy", "to %s", to)
}

func (e *explainer) label(label uint32) {
	number := e.agent.image.Labels[label]
	e.add("label", "%d is a label of this node", label)
	e.nexthop(number)
	if n := e.agent.image.Nexthops[number]; n.Type == core.NexthopTranslate || n.Type == core.NexthopFrames {
		e.vni = e.agent.view().networkName(n.Vif)
	}
}

func (e *explainer) network(vni uint32) {
	for _, n := range e.agent.config.Networks {
		if n.VNI == vni {
			e.vni = n.Name
		}
	}
	e.add("vni", "%d is %s", vni, e.vni)
}

func (e *explainer) nexthop(number uint32) {
	v := e.agent.view()
	if _, ok := v.image.Nexthops[number]; !ok {
		e.add("nexthop", "%d, which is not there", number)
		return
	}
	e.add("nexthop", "%s", v.nexthop(number, v.portNames()).says())
}

// says puts a nexthop into words.
func (n Nexthop) says() string {
	text := fmt.Sprintf("%d: %s", n.Nexthop, n.Type)
	if n.Network != "" {
		text += " to " + n.Network
	}
	if n.Members != nil {
		text += fmt.Sprintf(" over %d ways", len(n.Members))
	}
	if n.Tunnel != "" {
		text += " to " + n.Tunnel
	}
	if n.Wrap != "" {
		text += " as " + n.Wrap
	}
	if n.VNI != 0 {
		text += fmt.Sprintf(" with VNI %d", n.VNI)
	}
	if n.Out != "" {
		text += " by " + n.Out
	}
	switch {
	case n.MAC != "":
		text += ", MAC " + n.MAC
	case !n.Resolved:
		text += ", MAC not known yet"
	}
	return text
}

var operations = map[string]string{
	"arp":     "the ARP request is answered with the virtual gateway's MAC",
	"nd":      "the neighbour solicitation is answered with the virtual gateway's MAC",
	"echo":    "the virtual gateway answers the echo request",
	"too_big": "the sender is told the MTU by ICMP \"fragmentation needed\"",
	"encap":   "it gets a new Ethernet header",
	"tunnel":  "it gets the tunnel's headers",
	"decap":   "the tunnel's headers are taken off",

	"bridge_tunnel": "the whole frame gets the tunnel's headers",
	"bridge_decap":  "the tunnel's headers are taken off the frame",
	"bridge":        "the frame goes on as it is",
	"flood":         "it is for all of the network: each gets a copy, the last one the packet itself",
	"pass":          "not for a port of this node: the host's stack has it",
}

func (e *explainer) verdict(operation, reason uint64) {
	name := fmt.Sprintf("operation %d", operation)
	if operation < uint64(len(core.OperationNames)) {
		name = core.OperationNames[operation]
	}
	switch name {
	case "drop":
		e.loss(reason)
	case "pass":
		e.reply.Result, e.reply.Says = name, operations[name]
	default:
		e.end(name, "%s", operations[name])
	}
}

// loss comes twice where a decision led to it: it is told once.
func (e *explainer) loss(reason uint64) {
	if reason >= uint64(len(core.DropReasons)) {
		return
	}
	r := core.DropReasons[reason]
	if e.reply.Drop == r.Name {
		return
	}
	e.reply.Drop = r.Name
	e.end("drop", "%s: %s", r.Name, r.Says)
}

func (e *explainer) leave(ifindex uint32, peer bool) {
	e.left = ifindex
	port, name := e.agent.place(ifindex)
	switch {
	case port == "":
		e.add("out", "by the fabric %s", name)
	case peer:
		e.add("out", "to port %s, straight into its namespace", port)
	default:
		e.add("out", "to port %s by %s", port, name)
	}
}

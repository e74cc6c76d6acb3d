package testbed

import (
	"fmt"
	"net/netip"
	"strings"
)

// Multipath is a node's route over several links, of which each flow takes one by its addresses and ports, as
// members of a team do; the node forwards, and passes over links that are down.
type Multipath struct {
	Name   string `json:"name"`
	Node   string `json:"node"`
	Prefix string `json:"prefix"` // IPv4
	Hops   []Hop  `json:"hops"`
}

// Hop is one of its ways.
type Hop struct {
	Device  string `json:"device"`
	Gateway string `json:"gateway"`
}

// Pull is a cable that is pulled in every trial's window: the link's end at a node goes down, so that the other
// node learns it by its carrier. From and To are shares of the window.
type Pull struct {
	Node string  `json:"node"`
	From float64 `json:"from"`
	To   float64 `json:"to"`
}

// maxHops is how many ways a route may have.
const maxHops = 16

func (m Multipath) object(g Graph) object {
	var hops []string
	for _, h := range m.Hops {
		hops = append(hops, h.Gateway+" by "+h.Device)
	}
	o := object{
		kind: KindRoute, name: m.Name,
		detail: fmt.Sprintf("on %s to %s over %s", m.Node, m.Prefix, strings.Join(hops, ", ")),
		fixed:  fmt.Sprint(m),
	}
	for _, l := range g.Links {
		for _, end := range l.Ends {
			if end.Place == m.Node {
				o.needs = append(o.needs, linkKey(l))
			}
		}
	}
	return o
}

func (c *checker) multipath(m Multipath) {
	owner := "route " + m.Name
	c.once(KindRoute, m.Name)
	c.onNode(KindRoute, m.Name, m.Node)
	if p, err := netip.ParsePrefix(m.Prefix); err != nil || !p.Addr().Is4() || p.Masked() != p {
		c.fault("%s: %q is not an IPv4 prefix, like 10.0.0.0/24", owner, m.Prefix)
	}
	if len(m.Hops) < 1 || len(m.Hops) > maxHops {
		c.fault("%s: it has %d ways, 1 to %d are possible", owner, len(m.Hops), maxHops)
	}
	for _, h := range m.Hops {
		if a, err := netip.ParseAddr(h.Gateway); err != nil || !a.Is4() {
			c.fault("%s: the gateway %q is not an IPv4 address", owner, h.Gateway)
		}
		if c.devices[m.Node+"/"+h.Device] == "" {
			c.fault("%s: the device %s/%s is not in the graph", owner, m.Node, h.Device)
		}
	}
}

func (c *checker) pull(l Link) {
	p := l.Pull
	if p == nil {
		return
	}
	if node, _ := c.graph.Node(p.Node); node.InPlace {
		c.fault("link %s: its cable is in a host's own stack, where nobody pulls one", l.Name)
	}
	if p.Node != l.Ends[0].Place && p.Node != l.Ends[1].Place {
		c.fault("link %s: its cable is pulled at %q, where it has no end", l.Name, p.Node)
	}
	if !(p.From >= 0 && p.From < p.To && p.To <= 1) {
		c.fault("link %s: its cable is pulled from %g to %g of the window: give shares of it, in order", l.Name, p.From, p.To)
	}
}

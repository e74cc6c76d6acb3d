package testbed

import "fmt"

// Bond is a bonding device of a node (Documentation/networking/bonding.rst), a port of a bridge: it sends each flow by one
// of its members, by addresses and ports (balance-xor, layer3+4), and passes over those without a carrier. Its members are the
// interfaces whose Bridge is its name; all have the first one's MAC.
type Bond struct {
	Name   string `json:"name"`
	Node   string `json:"node"`
	Device string `json:"device"`
	MTU    int    `json:"mtu"`
	Bridge string `json:"bridge,omitempty"`
	// MonitorMilliseconds is how often it looks at its members' carriers.
	MonitorMilliseconds int             `json:"monitor_milliseconds"`
	Offloads            map[string]bool `json:"offloads,omitempty"`
}

func (b Bond) object(g Graph) object {
	o := object{
		kind: KindBond, name: b.Name,
		detail: fmt.Sprintf("%s/%s, balance-xor by layer3+4, carriers every %d ms, MTU %d", b.Node, b.Device, b.MonitorMilliseconds, b.MTU),
		fixed:  fmt.Sprintf("%s/%s %d", b.Node, b.Device, b.MonitorMilliseconds),
		attributes: []attribute{
			{place: b.Node, device: b.Device, name: AttributeMTU, value: fmt.Sprint(b.MTU)},
			{place: b.Node, device: b.Device, name: AttributeBridge, value: b.Bridge},
		},
		needs: []string{bridgeKey(g, b.Node, b.Bridge)},
	}
	o.attributes = append(o.attributes, offloadAttributes(b.Node, b.Device, b.Offloads)...)
	return o
}

func (c *checker) bond(b Bond) {
	owner := "bond " + b.Name
	c.once(KindBond, b.Name)
	c.onNode(KindBond, b.Name, b.Node)
	c.device(owner, b.Node, b.Device)
	c.mtu(owner, b.MTU)
	c.port(owner, b.Node, b.Bridge)
	c.offloads(owner, b.Offloads)
	if b.MonitorMilliseconds < 1 {
		c.fault("%s: it looks at carriers every %d ms, 1 is the least: without, nothing would tell it of a pulled cable", owner, b.MonitorMilliseconds)
	}
	members := 0
	for _, i := range c.graph.Interfaces() {
		if i.Place != b.Node || i.Bridge != b.Name {
			continue
		}
		if members++; i.MTU != b.MTU || len(i.Addresses) > 0 {
			c.fault("%s: its member %s has an MTU of %d, not %d, or addresses, which are the bond's", owner, i.Device, i.MTU, b.MTU)
		}
	}
	if members == 0 {
		c.fault("%s has no members: name it as the switch of some interfaces", owner)
	}
}

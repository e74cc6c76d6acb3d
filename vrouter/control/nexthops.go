package control

import (
	"cmp"
	"slices"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
)

// Nexthop is a nexthop's row.
type Nexthop struct {
	Nexthop  uint32 `json:"nh"`
	Type     string `json:"type"`
	Out      string `json:"out,omitempty"`    // a port's name, or the fabric's interface
	Tunnel   string `json:"tunnel,omitempty"` // the far end
	Wrap     string `json:"encapsulation,omitempty"`
	VNI      uint32 `json:"vni,omitempty"`
	MAC      string `json:"mac,omitempty"` // of the next hop; none while it is not known
	MTU      uint32 `json:"mtu,omitempty"` // of the inner packet
	Resolved bool   `json:"resolved"`

	Network string   `json:"network,omitempty"` // whose routes say where to
	Members []Member `json:"members,omitempty"` // of ecmp
}

var nexthopTypes = map[uint8]string{
	core.NexthopDiscard: "discard", core.NexthopReceive: "receive", core.NexthopEncap: "encap", core.NexthopTunnel: "tunnel",
	core.NexthopECMP: "ecmp", core.NexthopTranslate: "vrf-translate", core.NexthopFrames: "bridge",
}

// Nexthops lists the nexthops by number.
func (a *Agent) Nexthops() []Nexthop {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.view().nexthops()
}

func (v view) nexthops() []Nexthop {
	rows, names := []Nexthop{}, v.portNames()
	for number := range v.image.Nexthops {
		rows = append(rows, v.nexthop(number, names))
	}
	slices.SortFunc(rows, func(x, y Nexthop) int { return cmp.Compare(x.Nexthop, y.Nexthop) })
	return rows
}

// nexthop is the row of one that is there.
func (v view) nexthop(number uint32, names map[uint32]string) Nexthop {
	r := v.image.Nexthops[number]
	switch r.Type {
	case core.NexthopECMP:
		return v.ecmp(number, r)
	case core.NexthopTranslate, core.NexthopFrames:
		return Nexthop{Nexthop: number, Type: nexthopTypes[r.Type], Network: v.networkName(r.Vif), Resolved: true}
	}
	row := Nexthop{Nexthop: number, Type: nexthopTypes[r.Type], MTU: r.MTU, Out: names[r.Vif]}
	if r.Type == core.NexthopTunnel || r.Flags&core.NexthopFabric != 0 {
		row.Out, row.Tunnel = v.config.Fabric.Interface, r.Far().String()
		row.Wrap, row.VNI = string(config.EncapsulationOf(r)), r.VNI()
	}
	mac, known := core.MACOf(r.Dmac)
	if known {
		row.MAC = config.MAC(mac).String()
	}
	row.Resolved = known || r.Type < core.NexthopEncap
	return row
}

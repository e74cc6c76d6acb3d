package control

import (
	"cmp"
	"slices"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
)

// MAC is a row of the MAC table of networks that are bridged.
type MAC struct {
	Network string `json:"network"`
	MAC     string `json:"mac"`
	Target
}

// Flood is one of those who get what is for all of a network.
type Flood struct {
	Network string `json:"network"`
	Target
}

// Target is where a bridged frame goes: a port or, by a tunnel, another node.
type Target struct {
	Nexthop uint32 `json:"nh"`
	Label   uint32 `json:"label,omitempty"`
	VNI     uint32 `json:"vni,omitempty"`
	Port    string `json:"port,omitempty"`
	Tunnel  string `json:"tunnel,omitempty"`
}

func (v view) target(route core.Route, names map[uint32]string) Target {
	n := v.nexthop(route.Ref(), names)
	t := Target{Nexthop: route.Ref(), Label: route.Label(), VNI: n.VNI, Tunnel: n.Tunnel}
	if n.Tunnel == "" {
		t.Port = n.Out
	}
	return t
}

// networkNames finds each VRF's network.
func (v view) networkNames() map[uint32]string {
	names := make(map[uint32]string)
	for _, n := range v.config.Networks {
		for slot, vrf := range v.image.VRFs {
			if vrf.ID == config.ID(n.Name) {
				names[slot] = n.Name
			}
		}
	}
	return names
}

// MACs lists the MAC table, by network and address.
func (a *Agent) MACs() []MAC {
	a.mu.Lock()
	v := a.view()
	a.mu.Unlock()
	rows, ports, networks := []MAC{}, v.portNames(), v.networkNames()
	for _, m := range v.image.MACs {
		mac, _ := core.MACOf(m.Key)
		rows = append(rows, MAC{networks[uint32(m.Key>>48)], config.MAC(mac).String(), v.target(core.Route(m.Route), ports)})
	}
	slices.SortFunc(rows, func(x, y MAC) int { return cmp.Or(cmp.Compare(x.Network, y.Network), cmp.Compare(x.MAC, y.MAC)) })
	return rows
}

// Floods lists who gets what is for all of a network, in the order in which copies are made.
func (a *Agent) Floods() []Flood {
	a.mu.Lock()
	v := a.view()
	a.mu.Unlock()
	rows, ports := []Flood{}, v.portNames()
	for _, n := range v.config.Networks {
		for _, vrf := range v.image.VRFs {
			if vrf.ID != config.ID(n.Name) || vrf.Flood == 0 {
				continue
			}
			list := v.image.Floods[vrf.Flood]
			for _, route := range list.Targets[:list.Count] {
				rows = append(rows, Flood{n.Name, v.target(core.Route(route), ports)})
			}
		}
	}
	return rows
}

package control

import (
	"cmp"
	"slices"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
)

// Route is a route's row.
type Route struct {
	Network string `json:"network"`
	Prefix  string `json:"prefix"`
	Nexthop uint32 `json:"nh"`
	Label   uint32 `json:"label,omitempty"`
	Stale   bool   `json:"stale,omitempty"` // a client set it before a restart, and has not since
}

// Routes lists the routes as they stand in the tables, network by network; those of the fabric's
// own table, which networks without encapsulation use, are under the network "".
func (a *Agent) Routes() []Route {
	a.mu.Lock()
	image, networks := a.image, a.config.Networks
	a.mu.Unlock()
	names := map[uint64]string{config.ID(""): ""}
	for _, n := range networks {
		names[config.ID(n.Name)] = n.Name
	}
	rows := []Route{}
	for slot, vrf := range image.VRFs {
		if slot == core.PeersVRF {
			continue // no packet follows those
		}
		for r := range image.Routes(slot) {
			rows = append(rows, Route{names[vrf.ID], r.Prefix.String(), r.Route.Ref(), r.Route.Label(), image.Stale(slot, r.Prefix)})
		}
	}
	slices.SortStableFunc(rows, func(x, y Route) int { return cmp.Compare(x.Network, y.Network) })
	return rows
}

// Label is a label's row: a port's, or a network's.
type Label struct {
	Label   uint32 `json:"label"`
	Nexthop uint32 `json:"nh"`
	Port    string `json:"port,omitempty"`
	Network string `json:"network,omitempty"`
	Bridged bool   `json:"bridged,omitempty"` // whole frames for the network; else packets
}

// Labels lists the labels that deliver here, to ports and to networks.
func (a *Agent) Labels() []Label {
	a.mu.Lock()
	defer a.mu.Unlock()
	rows := []Label{}
	for _, p := range a.config.Ports {
		if nexthop, ok := a.image.Labels[p.Label]; ok {
			rows = append(rows, Label{Label: p.Label, Nexthop: nexthop, Port: p.Name})
		}
	}
	for _, n := range a.config.Networks {
		if nexthop, ok := a.image.Labels[n.Label]; ok {
			rows = append(rows, Label{Label: n.Label, Nexthop: nexthop, Network: n.Name})
		}
		if n.Bridge == nil {
			continue
		}
		if nexthop, ok := a.image.Labels[n.Bridge.Label]; ok {
			rows = append(rows, Label{Label: n.Bridge.Label, Nexthop: nexthop, Network: n.Name, Bridged: true})
		}
	}
	slices.SortFunc(rows, func(x, y Label) int { return cmp.Compare(x.Label, y.Label) })
	return rows
}

// VNI is a VNI's row: the network that VXLAN packets to this node with it are for.
type VNI struct {
	VNI     uint32 `json:"vni"`
	Network string `json:"network"`
	Bridged bool   `json:"bridged,omitempty"` // else routed: delivered by the inner IP address
}

// VNIs are the rows of "vxlan".
func (a *Agent) VNIs() []VNI {
	a.mu.Lock()
	defer a.mu.Unlock()
	rows := []VNI{}
	for _, n := range a.config.Networks {
		if n.VNI != 0 && a.image.LookupVNI(n.VNI) != 0 {
			rows = append(rows, VNI{VNI: n.VNI, Network: n.Name, Bridged: n.Bridge != nil})
		}
	}
	slices.SortFunc(rows, func(x, y VNI) int { return cmp.Compare(x.VNI, y.VNI) })
	return rows
}

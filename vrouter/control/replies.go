package control

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
)

// The records of the socket's replies: PROTOCOL.md describes them.

// Status says what runs.
type Status struct {
	Name           string    `json:"name"`
	Fabric         string    `json:"fabric"`
	Address        string    `json:"address,omitempty"`
	Address6       string    `json:"address6,omitempty"`
	Receive        string    `json:"receive"` // where tunnel packets lose their outer headers: "tc", "socket" or "xdp"
	ReceiveWhy     string    `json:"receive_why"`
	Fast           Fast      `json:"fast"` // of the fabric
	KernelFeatures []string  `json:"kernel_features"`
	Networks       int       `json:"networks"`
	Ports          int       `json:"ports"`
	Routes         int       `json:"routes"`
	Groups         int       `json:"ecmp_groups"`
	Avoided        int       `json:"ecmp_avoided"`      // members of groups that get no flow, because they cannot be reached
	Unresolved     []string  `json:"unresolved"`        // tunnel ends whose MAC is not known
	Missing        []string  `json:"missing"`           // ports whose interface is gone
	Problem        string    `json:"problem,omitempty"` // what the machine lacks now, and what to do
	Applied        time.Time `json:"applied"`
	Changes        int       `json:"changes"` // configurations applied since the start
}

// Count is packets as the hook saw them, segments as the wire would carry them, and bytes.
type Count struct {
	Packets  uint64 `json:"packets"`
	Segments uint64 `json:"segments"`
	Bytes    uint64 `json:"bytes"`
}

// Vif is a port's row: rx is from the container, tx to it.
type Vif struct {
	Vif       uint32 `json:"vif"`
	Name      string `json:"name"`
	Interface string `json:"interface"`
	Network   string `json:"network"`
	Address   string `json:"address"`
	Address6  string `json:"address6,omitempty"`
	MAC       string `json:"mac"`
	MTU       uint32 `json:"mtu"`
	Label     uint32 `json:"label,omitempty"`
	Delivery  string `json:"delivery"` // at tc: "peer" or "redirect"
	Fast      Fast   `json:"fast"`
	Rx        Count  `json:"rx"`
	Tx        Count  `json:"tx"`
}

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

// Route is a route's row.
type Route struct {
	Network string `json:"network"`
	Prefix  string `json:"prefix"`
	Nexthop uint32 `json:"nh"`
	Label   uint32 `json:"label,omitempty"`
}

// Label is a label's row: a port's, or a network's.
type Label struct {
	Label   uint32 `json:"label"`
	Nexthop uint32 `json:"nh"`
	Port    string `json:"port,omitempty"`
	Network string `json:"network,omitempty"`
}

// VNI is a VNI's row: the network that VXLAN packets to this node with it are for.
type VNI struct {
	VNI     uint32 `json:"vni"`
	Network string `json:"network"`
	Bridged bool   `json:"bridged,omitempty"` // else routed: delivered by the inner IP address
}

// Drop is one reason's account. That of one network or port has a direction: from it or to it.
type Drop struct {
	Reason    string `json:"reason"`
	Says      string `json:"says"`
	Direction string `json:"direction,omitempty"`
	Count
}

// text is an address', "" if there is none.
func text(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}

func countOf(c core.Count) Count { return Count{c.Packets, c.Segments, c.Bytes} }

// Status gathers it.
func (a *Agent) Status() Status {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := Status{
		Name: a.config.Name, Fabric: a.config.Fabric.Interface, Address: text(a.config.Fabric.Address), Address6: text(a.config.Fabric.Address6),
		Receive: string(a.receive.Way), ReceiveWhy: a.receive.Why,
		KernelFeatures: a.plane.Features(), Networks: len(a.config.Networks), Ports: len(a.config.Ports), Routes: a.image.RouteCount(),
		Unresolved: []string{}, Missing: []string{}, Problem: a.problem, Applied: a.applied, Changes: a.changes,
	}
	s.Groups, s.Avoided = a.view().groups()
	s.Fast, _ = a.fastRow(a.facts.FabricIfindex, 0) // without counters if they cannot be read
	for _, remote := range remotes(a.image.Ways(a.config)) {
		if _, ok := a.facts.Neighbours[remote]; !ok {
			s.Unresolved = append(s.Unresolved, remote.String())
		}
	}
	for _, p := range a.config.Ports {
		if _, ok := a.facts.Interfaces[p.Interface]; !ok {
			s.Missing = append(s.Missing, p.Name)
		}
	}
	return s
}

// A view is a configuration and what became of it: what the tools show.
type view struct {
	config config.Config
	image  config.Image
}

func (a *Agent) view() view { return view{a.config, a.image} }

// slots finds each port's vif, by the port's ID.
func (v view) slots() map[uint64]uint32 {
	slots := make(map[uint64]uint32, len(v.image.Vifs))
	for slot, vif := range v.image.Vifs {
		slots[vif.ID] = slot
	}
	return slots
}

// Vifs lists the ports that have a vif, in the configuration's order.
func (a *Agent) Vifs() ([]Vif, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	rows, slots := []Vif{}, a.view().slots()
	for _, p := range a.config.Ports {
		slot, ok := slots[config.ID(p.Name)]
		if !ok {
			continue
		}
		count, err := a.plane.VifCount(slot)
		if err != nil {
			return nil, err
		}
		record := a.image.Vifs[slot]
		row := Vif{
			Vif: slot, Name: p.Name, Interface: p.Interface, Network: p.Network, Address: p.Address.String(), Address6: text(p.Address6), MAC: p.MAC.String(),
			MTU: record.MTU, Label: p.Label, Delivery: "redirect", Rx: countOf(count.Rx), Tx: countOf(count.Tx),
		}
		if row.Fast, err = a.fastRow(record.Ifindex, slot); err != nil {
			return nil, err
		}
		if record.Flags&core.VifPeer != 0 {
			row.Delivery = "peer"
		}
		rows = append(rows, row)
	}
	return rows, nil
}

var nexthopTypes = map[uint8]string{
	core.NexthopDiscard: "discard", core.NexthopReceive: "receive", core.NexthopEncap: "encap", core.NexthopTunnel: "tunnel",
	core.NexthopECMP: "ecmp", core.NexthopTranslate: "vrf-translate",
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
	case core.NexthopTranslate:
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

// portNames finds each vif's port.
func (v view) portNames() map[uint32]string {
	names, slots := make(map[uint32]string), v.slots()
	for _, p := range v.config.Ports {
		if slot, ok := slots[config.ID(p.Name)]; ok {
			names[slot] = p.Name
		}
	}
	return names
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
			rows = append(rows, Route{names[vrf.ID], r.Prefix.String(), r.Route.Ref(), r.Route.Label()})
		}
	}
	slices.SortStableFunc(rows, func(x, y Route) int { return cmp.Compare(x.Network, y.Network) })
	return rows
}

// Labels lists the labels that deliver to ports here.
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
	}
	slices.SortFunc(rows, func(x, y Label) int { return cmp.Compare(x.Label, y.Label) })
	return rows
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

package config

import (
	"cmp"
	"fmt"
	"slices"

	"windtunnel/vrouter/core"
)

// Bridge is what a network that is one link has to know of its MAC addresses. Nothing is learned from
// packets: the ports' are in the configuration anyway, and those of other nodes are here.
type Bridge struct {
	// Unknown says what becomes of a frame to a MAC address that is not in the configuration.
	Unknown Unknown `json:"unknown,omitempty"`
	// Label delivers received MPLS packets to this network whose payload is a whole frame, RFC 7432:
	// 16 to 65535. It is another than the network's own, which is of IP packets.
	Label uint32 `json:"label,omitempty"`
	// ControlWord says that 4 bytes stand between a label and a frame, RFC 4385, in what MPLS brings
	// and takes. The other nodes have to say so, too: a frame does not tell.
	ControlWord bool `json:"control_word,omitempty"`
	// Nodes are the ways to the other nodes of the link: each gets a copy of what is for all.
	Nodes []Via `json:"nodes,omitempty"`
	// Hosts are MAC addresses of other nodes.
	Hosts []Host `json:"hosts,omitempty"`
}

// Host is a MAC address of another node, and the way there.
type Host struct {
	MAC MAC `json:"mac"`
	Via Via `json:"via"`
}

// Unknown is what becomes of a frame to an unknown MAC address.
type Unknown string

const (
	// FloodUnknown copies it to all of the network. The default.
	FloodUnknown Unknown = "flood"
	// DropUnknown loses it.
	DropUnknown Unknown = "drop"
)

var unknowns = []string{string(FloodUnknown), string(DropUnknown)}

// MaxMACs is how many MAC addresses there may be in all bridged networks: half of the table's room, so
// that every one finds a place in its two buckets.
const MaxMACs = core.MACSlots / 2

// ways are those that the bridge's frames take to other nodes.
func (b *Bridge) ways() []Via {
	if b == nil {
		return nil
	}
	ways := slices.Clone(b.Nodes)
	for _, h := range b.Hosts {
		ways = append(ways, h.Via)
	}
	return ways
}

// BridgeWays are those that bridged frames take to other nodes.
func (c Config) BridgeWays() []Via {
	var ways []Via
	for _, n := range c.Networks {
		ways = append(ways, n.Bridge.ways()...)
	}
	return ways
}

func (n Network) vrfFlags() uint16 {
	return uint16(flag(n.clamps(), core.VRFMSSClamp) | flag(n.Bridge != nil, core.VRFBridge) |
		flag(n.Bridge != nil && n.Bridge.Unknown != DropUnknown, core.VRFFlood))
}

// addBridges fills the MAC table and makes the flood lists. Ports have their nexthops by then.
func (b *builder) addBridges() error {
	var wanted []core.MAC
	for _, n := range b.config.Networks {
		if n.Bridge == nil {
			continue
		}
		macs, err := b.addBridge(n)
		if err != nil {
			return fmt.Errorf("network %s: %w", n.Name, err)
		}
		wanted = append(wanted, macs...)
	}
	return b.addMACs(wanted)
}

// addBridge gives a network its flood list, and lists its MAC addresses. Ports come first: their copies
// are made before the packet gets a tunnel's headers.
func (b *builder) addBridge(n Network) ([]core.MAC, error) {
	var macs []core.MAC
	var flood core.Flood
	vrf := b.next.vrfs[n.Name]
	add := func(mac MAC, route core.Route) {
		macs = append(macs, core.MAC{Key: core.MACKey(vrf, core.MACWord(mac)), Route: uint64(route)})
	}
	target := func(route core.Route) {
		flood.Targets[flood.Count] = uint64(route)
		flood.Count++
	}
	for _, p := range b.config.Ports {
		if p.Network != n.Name {
			continue
		}
		route := core.MakeRoute(b.next.ports[p.Name], 0, 0)
		add(p.MAC, route)
		if _, here := b.facts.Interfaces[p.Place()]; here {
			target(route)
		}
	}
	nodes, err := b.bridgeNodes(n)
	if err != nil {
		return nil, err
	}
	for _, route := range nodes {
		tunnel := b.next.Nexthops[route.Ref()]
		flood.Udp |= flag(tunnel.HasUDP(), 1)
		target(route)
	}
	for _, h := range n.Bridge.Hosts {
		route, err := b.bridgeWay(n, h.Via)
		if err != nil {
			return nil, err
		}
		add(h.MAC, route)
	}
	return macs, b.flood(vrf, flood)
}

// bridgeNodes are the ways to other nodes, those whose headers are shorter first: one copy after the
// other gets them, in the place of the last one's, and what is not IP can only grow (vr_bridge_tc.h).
func (b *builder) bridgeNodes(n Network) (routes []core.Route, err error) {
	for _, via := range n.Bridge.Nodes {
		route, err := b.bridgeWay(n, via)
		if err != nil {
			return nil, err
		}
		routes = append(routes, route)
	}
	slices.SortStableFunc(routes, func(x, y core.Route) int {
		return cmp.Compare(b.next.Nexthops[x.Ref()].Push, b.next.Nexthops[y.Ref()].Push)
	})
	return routes, nil
}

func (b *builder) bridgeWay(n Network, via Via) (core.Route, error) {
	slot, err := b.way(via.filled(n).framed(n.Bridge.ControlWord))
	return core.MakeRoute(slot, via.Label, 0), err
}

// framed is the way of whole frames. Those of VXLAN are so anyway.
func (v Via) framed(word bool) Via {
	switch {
	case v.Encapsulation == MPLSoUDP && word:
		v.Encapsulation = wordMPLSoUDP
	case v.Encapsulation == MPLSoUDP:
		v.Encapsulation = frameMPLSoUDP
	case v.Encapsulation == MPLSoGRE && word:
		v.Encapsulation = wordMPLSoGRE
	case v.Encapsulation == MPLSoGRE:
		v.Encapsulation = frameMPLSoGRE
	}
	return v
}

// addBridgeLabel makes a label that of a bridge's frames.
func (b *builder) addBridgeLabel(n Network, vrf uint32) (err error) {
	if n.Bridge == nil || n.Bridge.Label == 0 {
		return nil
	}
	b.next.Node.Flags |= core.NodeFrames
	b.next.Labels[n.Bridge.Label], err = b.nexthop(core.Nexthop{
		Type: core.NexthopFrames, Vif: vrf, Flags: flag(n.Bridge.ControlWord, core.NexthopWord),
	})
	return err
}

// flood makes a list a VRF's. None has a list of nobody.
func (b *builder) flood(vrf uint32, list core.Flood) error {
	if list.Count == 0 {
		return nil
	}
	slot, err := b.place.floods.place(b.previous.Floods, b.next.Floods, list)
	record := b.next.VRFs[vrf]
	record.Flood = slot
	b.next.VRFs[vrf] = record
	return err
}

// addMACs gives each MAC address its place: the one that it has, or a free one in the bucket of its two
// that has more of them.
func (b *builder) addMACs(wanted []core.MAC) error {
	slots := make(map[uint64]uint32, len(b.previous.MACs))
	for slot, m := range b.previous.MACs {
		slots[m.Key] = slot
	}
	var new []core.MAC
	for _, m := range wanted {
		if slot, had := slots[m.Key]; had {
			b.next.MACs[slot] = m
		} else {
			new = append(new, m)
		}
	}
	for _, m := range new {
		var best []uint32
		for _, first := range core.MACBucketsOf(m.Key) {
			if free := b.freeMACs(first); len(free) > len(best) {
				best = free
			}
		}
		if len(best) == 0 {
			return fmt.Errorf("%w: both buckets of a MAC address have their %d, counting those that are being replaced", ErrFull, core.MACWays)
		}
		b.next.MACs[best[0]] = m
	}
	return nil
}

func (b *builder) freeMACs(first uint32) (free []uint32) {
	for slot := first; slot < first+core.MACWays; slot++ {
		_, old := b.previous.MACs[slot]
		if _, new := b.next.MACs[slot]; !old && !new {
			free = append(free, slot)
		}
	}
	return free
}

// LookupMAC finds the route of a MAC address in a VRF as the data path does; 0 if there is none.
func (m Image) LookupMAC(vrf uint32, mac MAC) core.Route {
	key := core.MACKey(vrf, core.MACWord(mac))
	for _, first := range core.MACBucketsOf(key) {
		for slot := first; slot < first+core.MACWays; slot++ {
			if m.MACs[slot].Key == key {
				return core.Route(m.MACs[slot].Route)
			}
		}
	}
	return 0
}

const macRoute = 8 // where a record's route is

// macs adds what comes and changes: a record's route is there before its key.
func (p *Plan) macs(previous, next map[uint32]core.MAC) {
	for _, slot := range sortedSlots(next) {
		at, record := slot*core.SizeMAC, encode(next[slot])
		switch old, had := previous[slot]; {
		case !had:
			p.Prepare = append(p.Prepare, Write{TableMACs, at + macRoute, record[macRoute:]})
			p.Switch = append(p.Switch, Write{TableMACs, at, record[:macRoute]})
		case old != next[slot]:
			p.words(TableMACs, at, encode(old), record)
		}
	}
}

// macsGone takes away what goes, its route once nobody can have read its key.
func (p *Plan) macsGone(previous, next map[uint32]core.MAC) {
	for _, slot := range sortedSlots(previous) {
		if _, kept := next[slot]; !kept {
			p.Switch = append(p.Switch, Write{TableMACs, slot * core.SizeMAC, make([]byte, 8)})
			p.Retire = append(p.Retire, Write{TableMACs, slot*core.SizeMAC + macRoute, make([]byte, 8)})
		}
	}
}

package config

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"net/netip"
	"slices"

	"windtunnel/vrouter/core"
)

// GatewayMAC is every virtual gateway's address, so that a container may move between nodes: the
// first of those for virtual routers (RFC 5798, section 7.3).
var GatewayMAC = MAC{0x00, 0x00, 0x5e, 0x00, 0x01, 0x00}

// Facts are what the configuration leaves to the machine.
type Facts struct {
	FabricIfindex uint32
	FabricMTU     uint32 // bytes, of an IP packet
	FabricMAC     MAC
	Interfaces    map[string]Interface // the ports', by name
	Neighbours    map[netip.Addr]MAC   // of the tunnels' far ends, as far as they are known
}

// All are the numbers of all interfaces, the fabric's among them.
func (f Facts) All() []uint32 {
	all := []uint32{f.FabricIfindex}
	for _, i := range f.Interfaces {
		all = append(all, i.Ifindex)
	}
	return all
}

// Interface is what has to be known of a port's interface.
type Interface struct {
	Ifindex uint32
	MTU     uint32 // bytes, of an IP packet
	Peer    bool   // a veth whose other end is in another network namespace
}

// Image is the tables' content, by slot. Slot 0 of everything but the VRFs means "none", and is
// never used. It says nothing of how the tables are kept. Its maps are never changed, so that an
// image can be read while the next one is made.
type Image struct {
	Node     core.Node
	Vifs     map[uint32]core.Vif
	VRFs     map[uint32]core.VRF
	Nexthops map[uint32]core.Nexthop
	Groups   map[uint32]core.Group
	Labels   map[uint32]uint32 // to the nexthop's slot
	VNIs     map[uint32]uint64 // core.VNIWord
	Policies map[uint32]core.Policy
	MACs     map[uint32]core.MAC
	Floods   map[uint32]core.Flood

	tables map[uint32]routeTable // by the VRF's slot
	pool   *pool                 // of the tables' blocks; all images of one set of tables share it
	vrfs   map[string]uint32     // by the network's name
	ways   map[Via]uint32        // nexthops by the way, its label left out
	ports  map[string]uint32     // nexthops by the port's name
	usable map[uint32]usable     // by the group's slot
	routes int                   // that lead to other nodes

	stale  map[uint32]routeTable // of routes, those that clients set before a restart, by the VRF's slot
	stales int                   // how many
	// Of tables that were left by another process: which routes a VRF's must lose, and how many it keeps.
	dropped map[uint32][]netip.Prefix
	kept    map[uint32]int
}

// ID names a port or a network in the tables: FNV-1a of its name.
func ID(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return h.Sum64()
}

// fabricID is the fabric's own table's; no network's name can be empty.
var fabricID = ID("")

// word is 0 for no address.
func word(a netip.Addr) uint32 {
	if !a.IsValid() {
		return 0
	}
	b := a.As4()
	return binary.BigEndian.Uint32(b[:])
}

// Image makes the tables out of the configuration. What previous has already keeps its slot there,
// and what is new gets slots that previous does not use, so that packets that still follow the
// previous tables never meet the new ones half written. The configuration must be valid.
func (c Config) Image(facts Facts, previous Image) (Image, error) {
	b := newBuilder(c, facts, previous)
	return b.build(b.addPeers, b.addNetworks, b.addVNIs, b.addPolicies, b.addPorts, b.addRoutes, b.addBridges, b.addTables)
}

func newBuilder(c Config, facts Facts, previous Image) *builder {
	b := &builder{config: c, facts: facts, flat: c.flat(), place: newPlacers(), previous: previous, standIns: make(map[uint32]string), next: Image{
		Vifs: make(map[uint32]core.Vif), VRFs: make(map[uint32]core.VRF), Nexthops: make(map[uint32]core.Nexthop),
		Groups: make(map[uint32]core.Group), usable: make(map[uint32]usable), ports: make(map[string]uint32),
		Labels: make(map[uint32]uint32), VNIs: make(map[uint32]uint64), Policies: make(map[uint32]core.Policy), pool: previous.pool,
		MACs: make(map[uint32]core.MAC), Floods: make(map[uint32]core.Flood),
		vrfs: make(map[string]uint32), ways: make(map[Via]uint32), tables: make(map[uint32]routeTable),
		Node: core.Node{
			MAC: core.MACWord(facts.FabricMAC), Address: word(c.Fabric.Address), Address6: core.AddrOf(c.Fabric.Address6),
			Ifindex: facts.FabricIfindex, MTU: facts.FabricMTU, Version: core.Layout, Hosts: c.Limits.HostBuckets(),
		},
	}}
	if b.next.pool == nil {
		b.next.pool = newPool(c.Limits.Blocks())
	}
	return b
}

type builder struct {
	config         Config
	facts          Facts
	flat           map[string]bool
	previous, next Image
	place          placers
	networks       map[string]Network
	borrowed       bool              // next has the nexthops of previous, until there is a new one
	made           []uint32          // nexthops for new ways
	peers          bool              // whether there may be new ones
	policies       map[string]uint32 // by name
	madeGroups     []uint32
	standIns       map[uint32]string // ports without an interface
}

func (b *builder) build(steps ...func() error) (Image, error) {
	for _, step := range steps {
		if err := step(); err != nil {
			return Image{}, err
		}
	}
	return b.next, nil
}

// The parts of a record that may change while packets use it, taken away: what stays tells whether
// two records are the same thing.
func sameVif(r core.Vif) core.Vif { r.MTU, r.Policy = 0, 0; return r }
func sameVRF(r core.VRF) core.VRF {
	r.Root4, r.Root6, r.Flags, r.Slot, r.Flows, r.Flood = 0, 0, 0, 0, 0, 0
	return r
}
func sameNexthop(r core.Nexthop) core.Nexthop { r.Dmac, r.MTU = 0, 0; return r }

func (b *builder) addNetworks() error {
	b.networks = make(map[string]Network)
	b.next.VRFs[core.FabricVRF] = core.VRF{ID: fabricID, GatewayMAC: core.MACWord(GatewayMAC)}
	quotas := b.config.FlowQuotas()
	for _, n := range b.config.Networks {
		slot, err := b.place.networks.place(b.previous.VRFs, b.next.VRFs, core.VRF{
			ID: ID(n.Name), GatewayMAC: core.MACWord(GatewayMAC), Subnet: word(n.Subnet.Addr()),
			Mask: ^uint32(0) << (32 - n.Subnet.Bits()), Gateway: word(n.Gateway),
			Flags:   n.vrfFlags(),
			Subnet6: core.AddrOf(n.Subnet6.Addr()), Mask6: mask6(n.Subnet6), Gateway6: core.AddrOf(n.Gateway6),
			Flows: quotas[n.Name],
		})
		if err != nil {
			return err
		}
		b.next.vrfs[n.Name], b.networks[n.Name] = slot, n
		nexthop, err := b.nexthop(core.Nexthop{Type: core.NexthopReceive})
		if err != nil {
			return err
		}
		b.addRoute(slot, netip.PrefixFrom(n.Gateway, 32), nexthop, 0)
		if n.Gateway6.IsValid() {
			b.addRoute(slot, netip.PrefixFrom(n.Gateway6, 128), nexthop, 0)
		}
		if err := b.addBridgeLabel(n, slot); err != nil {
			return err
		}
		if n.Label == 0 {
			continue
		}
		if b.next.Labels[n.Label], err = b.nexthop(core.Nexthop{Type: core.NexthopTranslate, Vif: slot}); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) nexthop(r core.Nexthop) (uint32, error) {
	return b.place.nexthops.place(b.previous.Nexthops, b.next.Nexthops, r)
}

func (b *builder) addPorts() error {
	for _, p := range b.config.Ports {
		if err := b.addPort(p); err != nil {
			return fmt.Errorf("port %s: %w", p.Name, err)
		}
	}
	return nil
}

func (b *builder) addPort(p Port) error {
	at, here := b.facts.Interfaces[p.Place()]
	nexthop := core.Nexthop{Type: core.NexthopDiscard}
	if here && at.Ifindex == 0 {
		var err error
		if at.Ifindex, err = b.standIn(p); err != nil {
			return err
		}
	}
	if here {
		slot, err := b.place.vifs.place(b.previous.Vifs, b.next.Vifs, core.Vif{
			ID: ID(p.Name), MAC: core.MACWord(p.MAC), Ifindex: at.Ifindex, VRF: b.next.vrfs[p.Network],
			Address: word(p.Address), Address6: core.AddrOf(p.Address6), MTU: at.MTU, Flags: flag(at.Peer, core.VifPeer), Label: p.Label,
			Policy: b.policies[p.Flow.Policy],
		})
		if err != nil {
			return err
		}
		nexthop = core.Nexthop{
			Type: core.NexthopEncap, Dmac: core.MACWord(p.MAC), Smac: core.MACWord(GatewayMAC), Ifindex: at.Ifindex,
			Vif: slot, MTU: at.MTU, Flags: flag(at.Peer, core.NexthopPeer) | flag(p.Flow.Policy != "", core.NexthopFlow), Addr: core.AddrOf(p.Address),
		}
	}
	slot, err := b.nexthop(nexthop)
	if err != nil {
		return err
	}
	b.next.ports[p.Name] = slot
	b.reach(p, slot)
	return nil
}

// noInterface is set in the number of a port that has no interface. The kernel gives out none with it.
const noInterface = 1 << 31

// standIn is the number of such a port: the tables tell by it which vif a route leads to (vr_delivers), so
// no two may have the same, or each could send in the other's name. It stays while others come and go.
func (b *builder) standIn(p Port) (uint32, error) {
	number := noInterface | uint32(ID(p.Name)>>33)
	if other, taken := b.standIns[number]; taken {
		return 0, fmt.Errorf("its name comes to the same number as that of port %s; give one of them another name", other)
	}
	b.standIns[number] = p.Name
	return number, nil
}

// reach makes a port's nexthop known: in its network, by its label, and on the fabric where the
// network needs no tunnel.
func (b *builder) reach(p Port, nexthop uint32) {
	for _, a := range p.addresses() {
		prefix := netip.PrefixFrom(a, a.BitLen())
		b.addRoute(b.next.vrfs[p.Network], prefix, nexthop, 0)
		if b.flat[p.Network] {
			b.addRoute(core.FabricVRF, prefix, nexthop, 0)
		}
	}
	if p.Label != 0 {
		b.next.Labels[p.Label] = nexthop
	}
}

func flag(set bool, bit uint32) uint32 {
	if set {
		return bit
	}
	return 0
}

func (b *builder) addRoutes() error {
	for _, r := range b.config.Routes {
		slot, err := b.way(r.Via.filled(b.networks[r.Network]))
		if err != nil {
			return fmt.Errorf("route %s of %s: %w", r.Prefix, r.Network, err)
		}
		b.addRoute(b.next.vrfs[r.Network], r.Prefix, slot, r.Via.Label)
	}
	b.next.routes = len(b.config.Routes)
	return nil
}

// way is a way's nexthop: the same for all routes that differ by their label.
func (b *builder) way(via Via) (slot uint32, err error) {
	via.Label = 0
	slot, known := b.next.ways[via]
	if known {
		return slot, nil
	}
	b.own()
	record := core.Nexthop{}
	if via.Tunnel.IsValid() {
		record = b.remote(via)
	} else if record, err = b.leadsOn(via); err != nil {
		return 0, err
	}
	if slot, err = b.nexthop(record); err == nil {
		b.next.ways[via] = slot
		b.made = append(b.made, slot)
	}
	return slot, err
}

func sortedSlots[V any](m map[uint32]V) []uint32 {
	slots := make([]uint32, 0, len(m))
	for slot := range m {
		slots = append(slots, slot)
	}
	slices.Sort(slots)
	return slots
}

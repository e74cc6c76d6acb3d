// Package core has the Go side of the vRouter's C core: the records of its tables, byte for byte,
// and the names of its drop reasons. The C headers beside it are the source of both.
package core

import "encoding/binary"

// These repeat vr_types.h, whose macros leave no trace in BTF; a test compares them.
const (
	MaxVifs      = 1024
	MaxVRFs      = 256
	MaxNexthops  = 4096
	MaxGroups    = 1024
	MaxLabels    = 65536
	BlockBits    = 4
	BlockEntries = 16
	MinLabel     = 16
	FabricVRF    = 0
	PeersVRF     = MaxVRFs
	VRFSlots     = MaxVRFs + 1
	Layout       = 18
	VNIBuckets   = 512
	VNIWays      = 8
	MaxVNIs      = VNIBuckets * VNIWays
	MACBuckets   = 8192
	MACWays      = 8
	MACSlots     = MACBuckets * MACWays
	MaxFloods    = 2 * MaxVRFs
	FloodTargets = 64
	TemplateLen  = 72
	MaxPolicies  = 256
	MaxRules     = 64
	GroupMembers = 16
	GroupBuckets = 1024
	HostWays     = 4
	HostHash     = 0x9e3779b97f4a7c15
)

// Nexthop types and flags, and vif flags, as in vr_types.h.
const (
	NexthopNone = iota
	NexthopDiscard
	NexthopReceive
	NexthopEncap
	NexthopTunnel
	NexthopECMP
	NexthopTranslate
	NexthopFrames

	NexthopFabric = 1
	NexthopPeer   = 2
	NexthopAddr6  = 4
	NexthopFlow   = 8
	NexthopWord   = 16
	NexthopSum    = 32
	VifPeer       = 1
	NodeVXLAN     = 1
	NodeFrames    = 2
	VRFMSSClamp   = 1
	VRFBridge     = 2
	VRFFlood      = 4 // frames to unknown MAC addresses, too
	VRFHosts      = 8

	AnyMember   = 0 // of Group.Buckets
	LocalMember = 1
	NoMember    = 0xff
)

// MACKnown marks a MAC word whose address is known.
const MACKnown = 1 << 48

// DropReason is one entry of the registry of drops.
type DropReason struct{ Name, Says string }

// MACWord gives a 6-byte MAC address the form of the records, marked as known.
func MACWord(mac [6]byte) uint64 {
	var b [8]byte
	copy(b[:], mac[:])
	return binary.LittleEndian.Uint64(b[:]) | MACKnown
}

// MACOf is the reverse of MACWord; known tells whether there is an address.
func MACOf(word uint64) (mac [6]byte, known bool) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], word)
	copy(mac[:], b[:6])
	return mac, word&MACKnown != 0
}

// A Route is the word of a route table's entry: bits as in vr_types.h.
type Route uint64

// RouteChild marks an entry that names another block.
const RouteChild Route = 1 << 31

// RouteSet marks a route that a client set while the vRouter ran: no configuration has it.
const RouteSet Route = 1 << 60

// MakeChild is the entry that leads to a block with a prefix of so many bits.
func MakeChild(block uint32, prefixBits int) Route {
	return MakeRoute(block, 0, prefixBits) | RouteChild
}

// MakeRoute is the entry of a route of the given prefix length.
func MakeRoute(nexthop, label uint32, prefixBits int) Route {
	return Route(nexthop) | Route(label)<<32 | Route(prefixBits)<<52
}

// RouteTail marks an entry whose prefix goes on with up to RouteTailBits bits of its own.
const (
	RouteTail     Route = 1 << 63
	RouteTailBits       = 15
	routeTailMask Route = 0x7fff << 16
)

// MayHaveTail: a large nexthop's number leaves no room for one.
func (r Route) MayHaveTail() bool { return r&(routeTailMask|RouteChild) == 0 }

// WithTail is the entry of a route that has those bits behind those that the entry stands for.
func (r Route) WithTail(bits uint32) Route { return r | RouteTail | Route(bits)<<16 }

// Tail takes it apart again.
func (r Route) Tail() (route Route, bits uint32) {
	return r &^ (RouteTail | routeTailMask), uint32(r>>16) & 0x7fff
}

// Ref is the nexthop's or, with RouteChild, the block's number.
func (r Route) Ref() uint32 { return uint32(r) & 0x7fffffff }

// Label is the label to push.
func (r Route) Label() uint32 { return uint32(r>>32) & 0xfffff }

// PrefixBits is the length of the prefix that the entry came from, or of the block's with RouteChild.
func (r Route) PrefixBits() int { return int(r>>52) & 0xff }

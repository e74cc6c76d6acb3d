// Package config is the vRouter's declarative configuration: what networks there are, which ports
// belong to them, and where other nodes' ports are. A configuration is the whole wish; what has to
// change is found by comparing (see [Config.Image] and [Diff]).
package config

import (
	"fmt"
	"net"
	"net/netip"
)

// Format is the version of the configuration's text.
const Format = 1

// Config is one node's configuration.
type Config struct {
	Format   int       `json:"format"`
	Name     string    `json:"name"` // of this vRouter; its pinned objects are kept under it
	Fabric   Fabric    `json:"fabric"`
	Networks []Network `json:"networks"`
	Ports    []Port    `json:"ports"`
	Routes   []Route   `json:"routes"`
	Policies []Policy  `json:"policies,omitempty"`
	Idle     Idle      `json:"idle_seconds,omitzero"`
	Limits   Limits    `json:"limits,omitzero"`
	// Offload is whether devices are given rules, and OffloadFlows are flows that get rules of their own, such as
	// "sender,tcp,10.0.1.3:40000,10.0.1.4:5201": see vrouter/offload.
	Offload      Offload  `json:"offload,omitempty"`
	OffloadFlows []string `json:"offload_flows,omitempty"`
}

// Fabric is the node's link to the other nodes: the underlay.
type Fabric struct {
	Interface string `json:"interface"`
	// Device is what tunnel packets travel by, if that is no interface of the host's stack. Then Interface
	// is a tap, by which the host sends and receives what is not the vRouter's. Poll mode only.
	Device *Device `json:"device,omitempty"`
	// Address and Address6 are the node's own, IPv4 and IPv6, already on the interface: one or both.
	// Tunnels to other nodes leave from the one of their family.
	Address  netip.Addr `json:"address,omitzero"`
	Address6 netip.Addr `json:"address6,omitzero"`
	// Peers are prefixes of IPv6 addresses whose nodes may send tunnel packets without a checksum,
	// besides the far ends of routes, which may in any case: RFC 7510, section 3.1.
	Peers   []netip.Prefix `json:"peers,omitempty"`
	Receive Receive        `json:"receive,omitempty"`
	Fast    Fast           `json:"fast,omitempty"`
	// UDPChecksum asks for a checksum in the outer UDP header. Poll mode only: the kernel mode cannot make
	// it, and refuses it.
	UDPChecksum bool `json:"udp_checksum,omitempty"`
}

// Receive is where tunnel packets lose their outer headers. It changes what they cost, never what
// becomes of them.
type Receive string

const (
	// ReceiveAuto is ReceiveXDP or ReceiveSocket where it can be and pays, ReceiveTC else. The default.
	ReceiveAuto Receive = "auto"
	// ReceiveTC decapsulates behind GRO, which does not look into the tunnels.
	ReceiveTC Receive = "tc"
	// ReceiveSocket is ReceiveTC with a kernel's VXLAN socket, by which GRO looks into VXLAN.
	ReceiveSocket Receive = "socket"
	// ReceiveXDP decapsulates in the driver, before GRO, which then joins inner packets.
	ReceiveXDP Receive = "xdp"
)

var receives = []string{string(ReceiveAuto), string(ReceiveTC), string(ReceiveSocket), string(ReceiveXDP)}

// Network is a virtual network. Networks may use the same addresses, but not where they are reached
// without a tunnel, for then they share the underlay's addresses.
type Network struct {
	Name    string       `json:"name"`
	Subnet  netip.Prefix `json:"subnet"`
	Gateway netip.Addr   `json:"gateway"` // the virtual router's own address in the subnet
	// Subnet6 and Gateway6 are the same for IPv6; without them, the network has none.
	Subnet6  netip.Prefix `json:"subnet6,omitzero"`
	Gateway6 netip.Addr   `json:"gateway6,omitzero"`
	// VNI delivers received VXLAN packets to this network, by their inner address: 1 to 16777215. The
	// frames of a bridge come by it, too.
	VNI uint32 `json:"vni,omitempty"`
	// Label delivers received MPLS packets to this network, by their inner address: 16 to 65535. A
	// bridge has another one for frames.
	Label uint32 `json:"label,omitempty"`
	// MSSClamp lets TCP connections that begin here ask for segments that fit their way: on unless
	// it is false.
	MSSClamp *bool `json:"mss_clamp,omitempty"`
	// Flows is how many flows the network's ports may have together; if it is 0, all but a reserve
	// for the other networks: see [Config.FlowQuotas].
	Flows uint32 `json:"flows,omitempty"`
	// Bridge makes the network one link: frames that are not for the gateway's MAC address are
	// bridged, and what is for all of the network is copied to all.
	Bridge *Bridge `json:"bridge,omitempty"`
}

// toward is the node's address of another address' family; invalid if it has none.
func (f Fabric) toward(a netip.Addr) netip.Addr {
	if a.Is4() {
		return f.Address
	}
	return f.Address6
}

func (n Network) clamps() bool { return n.MSSClamp == nil || *n.MSSClamp }

// Port is one container or VM of a network.
type Port struct {
	Name      string `json:"name"`
	Interface string `json:"interface,omitempty"` // the host's side; or there is one of the following
	// Driver, Vhost, VirtioUser, VhostMode, Tap, Netns and PCI are as in [Device]. Poll mode only.
	Driver     Driver     `json:"driver,omitempty"`
	Vhost      string     `json:"vhost,omitempty"`
	VirtioUser string     `json:"virtio_user,omitempty"`
	VhostMode  VhostMode  `json:"vhost_mode,omitempty"`
	Tap        string     `json:"tap,omitempty"`
	Netns      string     `json:"netns,omitempty"`
	PCI        string     `json:"pci,omitempty"`
	MTU        uint32     `json:"mtu,omitempty"` // of a port without Interface, which has its own; [DefaultDeviceMTU]
	Network    string     `json:"network"`
	Address    netip.Addr `json:"address"`
	Address6   netip.Addr `json:"address6,omitzero"` // of the network's subnet6
	MAC        MAC        `json:"mac"`               // the container's own
	// Label delivers tunnel packets to this port: 16 to 65535. Without one, the port can be reached
	// from this node and from networks without encapsulation only.
	Label uint32 `json:"label,omitempty"`
	// Flow puts the port into flow mode; without it, it is in packet mode.
	Flow PortFlow `json:"flow,omitzero"`
	Fast Fast     `json:"fast,omitempty"`
}

// Route says where a prefix of a network is, when it is not a port's own address on this node.
type Route struct {
	Network string       `json:"network"`
	Prefix  netip.Prefix `json:"prefix"`
	Via     Via          `json:"via"`
}

// Via is a way: to another node (Tunnel, and what belongs to it), to a port of this node, on by another
// network's routes, or several of the first two, of which each flow has one.
type Via struct {
	Tunnel        netip.Addr    `json:"tunnel,omitzero"` // that node's fabric address
	Encapsulation Encapsulation `json:"encapsulation,omitempty"`
	Label         uint32        `json:"label,omitempty"` // with MPLS: that port's label, or network's; for frames, its bridge's
	VNI           uint32        `json:"vni,omitempty"`   // with VXLAN; the network's own if it is left out
	MAC           MAC           `json:"mac,omitzero"`    // with VXLAN: whom the inner frame is addressed to; [GatewayMAC]

	Port    string  `json:"port,omitempty"`
	Network string  `json:"network,omitempty"`
	ECMP    Members `json:"ecmp,omitempty"`
}

// Encapsulation is how packets are wrapped on the fabric.
type Encapsulation string

const (
	// MPLSoUDP is MPLS in UDP, RFC 7510: 32 bytes more a packet, over IPv6 52. So all of them: see
	// [Overhead].
	MPLSoUDP Encapsulation = "mplsoudp"
	// MPLSoGRE is MPLS in GRE, RFC 4023: 28 bytes more a packet. An IPv4 underlay cannot tell flows.
	MPLSoGRE Encapsulation = "mplsogre"
	// VXLAN is RFC 7348, routed: 50 bytes more a packet. The VNI names the network, and the
	// receiving node delivers by the inner destination address.
	VXLAN Encapsulation = "vxlan"
	// NoEncapsulation sends packets over the fabric as they are, with a new Ethernet header. The
	// receiving node delivers by the destination address.
	NoEncapsulation Encapsulation = "none"
)

var encapsulations = []string{string(MPLSoUDP), string(MPLSoGRE), string(VXLAN), string(NoEncapsulation)}

// MAC is an Ethernet address.
type MAC [6]byte

// ParseMAC reads an address such as 02:00:00:00:01:03.
func ParseMAC(text string) (MAC, error) {
	hardware, err := net.ParseMAC(text)
	if err != nil || len(hardware) != 6 {
		return MAC{}, fmt.Errorf("%q is no Ethernet address such as 02:00:00:00:01:03", text)
	}
	return MAC(hardware), nil
}

func (m MAC) String() string { return net.HardwareAddr(m[:]).String() }

// MarshalText makes JSON of it.
func (m MAC) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText reads it from JSON.
func (m *MAC) UnmarshalText(text []byte) (err error) {
	*m, err = ParseMAC(string(text))
	return err
}

// addresses are the port's own, of one or both families.
func (p Port) addresses() []netip.Addr {
	if !p.Address6.IsValid() {
		return []netip.Addr{p.Address}
	}
	return []netip.Addr{p.Address, p.Address6}
}

// FlatAddresses are those of ports that are reached without a tunnel.
func (c Config) FlatAddresses() (addresses []netip.Addr) {
	flat := c.flat()
	for _, p := range c.Ports {
		if flat[p.Network] {
			addresses = append(addresses, p.addresses()...)
		}
	}
	return addresses
}

// flat tells which networks are reached without a tunnel: those with such a route. Their ports are
// put into the fabric's own table as well.
func (c Config) flat() map[string]bool {
	flat := make(map[string]bool)
	for _, r := range c.Routes {
		if r.Via.isBare() {
			flat[r.Network] = true
		}
	}
	return flat
}

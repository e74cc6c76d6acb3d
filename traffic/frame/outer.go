package frame

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"

	"windtunnel/result"
)

// What encapsulations put between the outer IP header and the inner packet. frame_outer.h has the
// same places.
const (
	mplsPort  = 6635   // RFC 7510
	vxlanPort = 4789   // RFC 7348
	mplsType  = 0x8847 // of GRE: RFC 4023
	greSize   = 4
	labelSize = 4 // RFC 3032
	vniSize   = 8
	outerHops = 64
	// entropyPorts begin those that tell flows to the underlay (RFC 7510, RFC 7348), by entropyBits.
	entropyPorts = 0xc000
	entropyBits  = 14
	// outerMost is FRAME_OUTER_MOST, which no prefix is longer than.
	outerMost = 88
)

// outer is what frames wear at the far end of a data plane's fabric: all that is before the inner IP
// header. What differs from frame to frame is zero in it: lengths, the checksum, what a flow chose.
type outer struct {
	prefix []byte
	ipv6   bool // the outer header
	udp    bool // there is one behind it
}

// wearing is the outer header from one end of a tunnel to the other, nil if it has none. The inner
// packet is of IPv6 or not.
func wearing(t result.Tunnel, from, to [6]byte, number uint32, inner6 bool) (*outer, error) {
	if t.Encapsulation == "none" {
		return nil, nil
	}
	source, err := netip.ParseAddr(t.From)
	if err != nil {
		return nil, fmt.Errorf("the tunnel's end %q is not an address: %w", t.From, err)
	}
	destination, err := netip.ParseAddr(t.To)
	if err != nil || destination.Is4() != source.Is4() {
		return nil, fmt.Errorf("the tunnel's end %q is not an address of the family of %s", t.To, source)
	}
	o := &outer{ipv6: source.Is6(), udp: t.Encapsulation != "mplsogre"}
	wrap, err := wrapped(t, number, inner6)
	if err != nil {
		return nil, err
	}
	o.prefix = append(append(o.prefix, to[:]...), from[:]...)
	if o.ipv6 {
		o.prefix = append(o.prefix, 0x86, 0xdd, 0x60, 0, 0, 0, 0, 0, o.protocol(), outerHops)
	} else {
		o.prefix = append(o.prefix, 8, 0, 0x45, 0, 0, 0, 0, 0, 0x40, 0, outerHops, o.protocol(), 0, 0)
	}
	o.prefix = append(append(o.prefix, source.AsSlice()...), destination.AsSlice()...)
	o.prefix = append(o.prefix, wrap...)
	return o, nil
}

func (o *outer) protocol() byte {
	if o.udp {
		return 17
	}
	return 47
}

// wrapped is what is between the outer IP header and the inner one. The UDP checksum is 0, as
// tunnels may have it (RFC 7510, section 3; RFC 7348, section 5; over IPv6: RFC 6935).
func wrapped(t result.Tunnel, number uint32, inner6 bool) ([]byte, error) {
	label := binary.BigEndian.AppendUint32(nil, number<<12|1<<8|outerHops) // the only one of its stack
	switch t.Encapsulation {
	case "mplsoudp":
		return append(binary.BigEndian.AppendUint16([]byte{entropyPorts >> 8, 0}, mplsPort), append(make([]byte, 4), label...)...), nil
	case "mplsogre":
		return append(binary.BigEndian.AppendUint16([]byte{0, 0}, mplsType), label...), nil
	case "vxlan":
		mac, err := net.ParseMAC(t.Inner)
		if err != nil || len(mac) != 6 {
			return nil, fmt.Errorf("the tunnel's inner frames are addressed to %q, which is no Ethernet address", t.Inner)
		}
		kind := uint16(0x0800)
		if inner6 {
			kind = 0x86dd
		}
		b := append(binary.BigEndian.AppendUint16([]byte{entropyPorts >> 8, 0}, vxlanPort), make([]byte, 4)...)
		b = binary.BigEndian.AppendUint32(append(b, 8, 0, 0, 0), number<<8)
		return binary.BigEndian.AppendUint16(append(append(b, mac...), mac...), kind), nil
	}
	return nil, fmt.Errorf("frames cannot wear the encapsulation %q: they can mplsoudp, mplsogre and vxlan", t.Encapsulation)
}

// shift is how much further back the inner packet is than in a frame that wears nothing, which an
// absent outer header says.
func (o *outer) shift() int {
	if o == nil {
		return 0
	}
	return len(o.prefix) - ethernetSize
}

// ipSize is the outer IP header's.
func (o *outer) ipSize() int {
	if o.ipv6 {
		return ipv6Size
	}
	return ipv4Size
}

// ipSum is that of the outer IPv4 header's words but the length and the checksum.
func (o *outer) ipSum() uint32 {
	if o.ipv6 {
		return 0
	}
	return sum(o.prefix[ethernetSize : ethernetSize+ipv4Size])
}

// write puts the outer header of a flow in front of an inner packet, as frame_outer_put does.
func (o *outer) write(b []byte, packet int, flow uint32) {
	copy(b, o.prefix)
	behind := packet + o.shift() // the outer Ethernet header
	port := uint16(entropyPorts | (flow^flow>>entropyBits)&(1<<entropyBits-1))
	if o.ipv6 {
		binary.BigEndian.PutUint16(b[16:], port) // in the flow label: RFC 6438, section 3
		binary.BigEndian.PutUint16(b[18:], uint16(behind-ipv6Size))
	} else {
		binary.BigEndian.PutUint16(b[16:], uint16(behind))
		binary.BigEndian.PutUint16(b[24:], ^fold(o.ipSum()+uint32(behind)))
	}
	if o.udp {
		udp := b[ethernetSize+o.ipSize():]
		binary.BigEndian.PutUint16(udp, port)
		binary.BigEndian.PutUint16(udp[4:], uint16(behind-o.ipSize()))
	}
}

// mask has the bits that are the same in the outer headers of all frames.
func (o *outer) mask() []byte {
	m := make([]byte, len(o.prefix))
	for i := range m {
		m[i] = 0xff
	}
	clear := func(at, bytes int) { copy(m[at:], make([]byte, bytes)) }
	clear(16, 2)
	if o.ipv6 {
		clear(18, 2)
	} else {
		clear(24, 2)
	}
	if o.udp {
		udp := ethernetSize + o.ipSize()
		m[udp], m[udp+1] = entropyPorts>>8, 0
		clear(udp+4, 2)
	}
	return m
}

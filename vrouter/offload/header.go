package offload

import (
	"encoding/binary"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
)

// ethernet is a nexthop's Ethernet header: vr_build_eth.
func ethernet(r core.Nexthop, six bool) Bytes {
	header := append(append(Bytes{}, mac(r.Dmac)...), mac(r.Smac)...)
	return binary.BigEndian.AppendUint16(header, uint16(ethType(six)))
}

// A push is what differs between a tunnel's packets, as struct vr_push of vr_parse.h.
type push struct {
	label uint32
	sport uint16
	tos   uint8
	six   bool // the inner packet
}

// tunnelHeader is what vr_build_tunnel writes, with zeros where the device has to fill in.
func tunnelHeader(r core.Nexthop, p push) (Bytes, []Fill) {
	out := append(ethernet(r, r.Outer == 40), r.Header[:r.Push]...)
	ip, wrap := out[ethLen:], out[ethLen+int(r.Outer):]
	fill := []Fill{FillIPv6Length}
	if r.Outer == 40 {
		binary.BigEndian.PutUint16(ip, 0x6000|uint16(p.tos)<<4)
		binary.BigEndian.PutUint16(ip[2:], p.sport)
	} else {
		ip[1] = p.tos
		fill = []Fill{FillIPv4Length, FillIPv4Checksum}
	}
	label := wrap[4:]
	if r.Encapsulation != core.MPLSoGRE {
		binary.BigEndian.PutUint16(wrap, p.sport)
		fill = append(fill, FillUDPLength)
		label = wrap[8:]
	}
	if r.Encapsulation != core.VXLAN {
		const bottom, ttl = 1 << 8, 64
		binary.BigEndian.PutUint32(label, p.label<<12|bottom|ttl)
	} else if p.six {
		binary.BigEndian.PutUint16(out[len(out)-2:], 0x86dd)
	}
	return out, fill
}

// needsEntropy tells whether headers hold a number of the flow: all have a UDP source port or, over IPv6, a
// flow label; GRE over IPv4 has neither.
func needsEntropy(r core.Nexthop) bool {
	return r.Type == core.NexthopTunnel && (r.Encapsulation != core.MPLSoGRE || r.Outer == 40)
}

// described is the tunnel for devices that make headers by themselves.
func described(r core.Nexthop, p push) *Tunnel {
	source := addressText(r.Header[12:16])
	if r.Outer == 40 {
		source = addressText(r.Header[8:24])
	}
	t := &Tunnel{Encapsulation: config.EncapsulationOf(r), Source: source, Destination: r.Far().String(), VNI: r.VNI(), TOS: p.tos}
	if t.VNI == 0 {
		t.Label = p.label
	}
	return t
}

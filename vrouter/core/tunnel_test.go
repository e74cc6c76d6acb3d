package core_test

import (
	"encoding/hex"
	"net/netip"
	"testing"

	"windtunnel/vrouter/core"
)

// What each frame brings along, and a control word.
const (
	frame = "0000000000000000000000000000"
	word  = "00000000"
)

// TestTunnelOverIPv6: as TestTunnel, with the header of RFC 8200, section 3.
func TestTunnelOverIPv6(t *testing.T) {
	const addresses = "fd00000f000000000000000000000001" + "fd00000f000000000000000000000002"
	for name, k := range map[string]struct {
		encapsulation uint8
		want          string
	}{
		"MPLS in UDP":                   {core.MPLSoUDP, "6000000000001140" + addresses + "000019eb00000000" + "00000140"},
		"MPLS in GRE":                   {core.MPLSoGRE, "6000000000002f40" + addresses + "00008847" + "00000140"},
		"a frame in MPLS in UDP":        {core.FrameMPLSoUDP, "6000000000001140" + addresses + "000019eb00000000" + "00000140" + frame},
		"a frame in MPLS in GRE":        {core.FrameMPLSoGRE, "6000000000002f40" + addresses + "00008847" + "00000140" + frame},
		"a control word in MPLS in UDP": {core.WordMPLSoUDP, "6000000000001140" + addresses + "000019eb00000000" + "00000140" + word + frame},
		"VXLAN":                         {core.VXLAN, "6000000000001140" + addresses + "000012b500000000" + "0800000000138900" + "020000007777" + "00005e000100" + "0800"},
	} {
		tunnel := core.Tunnel{
			Encapsulation: k.encapsulation, Source: netip.MustParseAddr("fd00:f::1"), Destination: netip.MustParseAddr("fd00:f::2"), VNI: 5001,
			InnerDestination: [6]byte{2, 0, 0, 0, 0x77, 0x77}, InnerSource: [6]byte{0, 0, 0x5e, 0, 1, 0},
		}
		n := core.Nexthop{Flags: core.NexthopFabric}
		tunnel.Apply(&n)
		if got := hex.EncodeToString(n.Header[:n.Push]); got != k.want || n.Outer != 40 {
			t.Errorf("%s: %s\nnot %s", name, got, k.want)
		}
		if n.Far() != tunnel.Destination || n.Flags != core.NexthopFabric|core.NexthopAddr6 {
			t.Errorf("%s: the far end is %s, the flags are %d", name, n.Far(), n.Flags)
		}
		if want := map[bool]uint32{true: 5001}[k.encapsulation == core.VXLAN]; n.VNI() != want {
			t.Errorf("%s: the VNI is %d", name, n.VNI())
		}
	}
}

// TestTunnel: templates are what the RFCs draw. The header's sum was made by hand: RFC 1071.
func TestTunnel(t *testing.T) {
	const (
		udpOuter = "4500000000004000" + "40110000" + "0a000001" + "0a000002"
		greOuter = "4500000000004000" + "402f0000" + "0a000001" + "0a000002"
	)
	for name, k := range map[string]struct {
		encapsulation uint8
		want          string
	}{
		"MPLS in UDP":                   {core.MPLSoUDP, udpOuter + "000019eb00000000" + "00000140"},
		"MPLS in GRE":                   {core.MPLSoGRE, greOuter + "00008847" + "00000140"},
		"a frame in MPLS in UDP":        {core.FrameMPLSoUDP, udpOuter + "000019eb00000000" + "00000140" + frame},
		"a frame in MPLS in GRE":        {core.FrameMPLSoGRE, greOuter + "00008847" + "00000140" + frame},
		"a control word in MPLS in UDP": {core.WordMPLSoUDP, udpOuter + "000019eb00000000" + "00000140" + word + frame},
		"a control word in MPLS in GRE": {core.WordMPLSoGRE, greOuter + "00008847" + "00000140" + word + frame},
		"VXLAN":                         {core.VXLAN, udpOuter + "000012b500000000" + "0800000000138900" + "020000007777" + "00005e000100" + "0800"},
	} {
		tunnel := core.Tunnel{
			Encapsulation: k.encapsulation, Source: netip.MustParseAddr("10.0.0.1"), Destination: netip.MustParseAddr("10.0.0.2"), VNI: 5001,
			InnerDestination: [6]byte{2, 0, 0, 0, 0x77, 0x77}, InnerSource: [6]byte{0, 0, 0x5e, 0, 1, 0},
		}
		var n core.Nexthop
		tunnel.Apply(&n)
		if got := hex.EncodeToString(n.Header[:n.Push]); got != k.want || n.Outer != 20 {
			t.Errorf("%s: %s\nnot %s", name, got, k.want)
		}
		if n.Far() != tunnel.Destination {
			t.Errorf("%s: the far end is %s", name, n.Far())
		}
		if want := map[bool]uint32{true: 5001}[k.encapsulation == core.VXLAN]; n.VNI() != want {
			t.Errorf("%s: the VNI is %d", name, n.VNI())
		}
	}
}

func TestVNIWord(t *testing.T) {
	if vni, vrf := core.VNIOf(core.VNIWord(16777215, 255)); vni != 16777215 || vrf != 255 {
		t.Errorf("back come VNI %d, VRF %d", vni, vrf)
	}
	for vni := range uint32(1 << 12) {
		if first := core.VNIBucket(vni << 12); first%core.VNIWays != 0 || first+core.VNIWays > core.MaxVNIs {
			t.Fatalf("the bucket of %d begins at %d", vni<<12, first)
		}
	}
}

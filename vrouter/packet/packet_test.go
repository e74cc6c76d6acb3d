package packet_test

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"windtunnel/vrouter/internal/golden"
	"windtunnel/vrouter/packet"
)

func spec(protocol string) packet.Spec {
	return packet.Spec{
		SourceMAC: [6]byte{2, 0, 0, 0, 1, 3}, DestinationMAC: [6]byte{0, 0, 0x5e, 0, 1, 0},
		Source: netip.MustParseAddr("10.0.1.3"), Destination: netip.MustParseAddr("10.0.1.4"),
		Protocol: protocol, SourcePort: 40000, DestinationPort: 53, TTL: 64, DontFragment: true,
	}
}

func spec6(protocol string) packet.Spec {
	s := spec(protocol)
	s.Source, s.Destination = netip.MustParseAddr("fd00::3"), netip.MustParseAddr("fd00::1:4")
	return s
}

func text(layers []packet.Layer) string {
	var b strings.Builder
	for _, l := range layers {
		fmt.Fprintf(&b, "%s: %s\n", l.Layer, l.Says)
	}
	return b.String()
}

func TestBuild(t *testing.T) {
	cases := map[string]struct {
		size int
		want string
	}{
		"udp": {100, `ethernet: 02:00:00:00:01:03 > 00:00:5e:00:01:00, type 0x0800
ipv4: 10.0.1.3 > 10.0.1.4, udp, 100 bytes, ttl 64, DF
udp: 40000 > 53
data: 72 bytes
`},
		"tcp": {0, `ethernet: 02:00:00:00:01:03 > 00:00:5e:00:01:00, type 0x0800
ipv4: 10.0.1.3 > 10.0.1.4, tcp, 40 bytes, ttl 64, DF
tcp: 40000 > 53, SYN
`},
		"icmp": {29, `ethernet: 02:00:00:00:01:03 > 00:00:5e:00:01:00, type 0x0800
ipv4: 10.0.1.3 > 10.0.1.4, icmp, 29 bytes, ttl 64, DF
icmp: echo request
data: 1 bytes
`},
		"arp": {0, `ethernet: 02:00:00:00:01:03 > ff:ff:ff:ff:ff:ff, type 0x0806
arp: who has 10.0.1.4? tell 10.0.1.3
`},
	}
	for protocol, c := range cases {
		t.Run(protocol, func(t *testing.T) {
			s := spec(protocol)
			s.Size = c.size
			frame, err := packet.Build(s)
			if err != nil {
				t.Fatal(err)
			}
			if got := text(packet.Describe(frame, len(frame))); got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
		})
	}
}

func TestBuild6(t *testing.T) {
	for protocol, want := range map[string]string{
		"udp": `ethernet: 02:00:00:00:01:03 > 00:00:5e:00:01:00, type 0x86dd
ipv6: fd00::3 > fd00::1:4, udp, 48 bytes, hop limit 64, CE
udp: 40000 > 53
`,
		"icmp": `ethernet: 02:00:00:00:01:03 > 00:00:5e:00:01:00, type 0x86dd
ipv6: fd00::3 > fd00::1:4, icmpv6, 48 bytes, hop limit 64, CE
icmpv6: echo request
`,
		"nd": `ethernet: 02:00:00:00:01:03 > 33:33:ff:01:00:04, type 0x86dd
ipv6: fd00::3 > ff02::1:ff01:4, icmpv6, 72 bytes, hop limit 255, CE
icmpv6: neighbour solicitation: who has fd00::1:4?
`,
	} {
		s := spec6(protocol)
		s.TOS = 3
		frame, err := packet.Build(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := text(packet.Describe(frame, len(frame))); got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
	}
}

// TestChecksums: the sum over the pseudo-header and what it covers is all ones (RFC 1071), in frames
// of both families.
func TestChecksums(t *testing.T) {
	for _, s := range []packet.Spec{spec("udp"), spec("tcp"), spec6("udp"), spec6("tcp"), spec6("icmp"), spec6("nd")} {
		s.Size = 0
		frame, err := packet.Build(s)
		if err != nil {
			t.Fatal(err)
		}
		addresses, l4, number := frame[26:34], frame[34:], frame[23]
		if s.Source.Is6() {
			addresses, l4, number = frame[22:54], frame[54:], frame[20]
		}
		var sum uint32
		for _, b := range [][]byte{addresses, {0, number, 0, byte(len(l4))}, l4} {
			for i := 0; i < len(b); i += 2 {
				sum += uint32(b[i])<<8 | uint32(b[i+1])
			}
		}
		for sum > 0xffff {
			sum = sum&0xffff + sum>>16
		}
		if sum != 0xffff {
			t.Errorf("%s from %s: the sum is %#x", s.Protocol, s.Source, sum)
		}
	}
}

func TestBuildRefuses(t *testing.T) {
	for want, change := range map[string]func(*packet.Spec){
		"there is no protocol": func(s *packet.Spec) { s.Protocol = "sctp" },
		"has 28 to 65535":      func(s *packet.Spec) { s.Size = 27 },
		"different families":   func(s *packet.Spec) { s.Destination = netip.MustParseAddr("fd00::1") },
		"arp is for IPv4":      func(s *packet.Spec) { *s = spec6("arp") },
		"nd for IPv6":          func(s *packet.Spec) { s.Protocol = "nd" },
	} {
		s := spec("udp")
		change(&s)
		if _, err := packet.Build(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, not: %s", err, want)
		}
	}
}

// TestDescribe reads frames that others made: the golden ones are scapy's.
func TestDescribe(t *testing.T) {
	cases, _ := golden.Load(t)
	want := map[string]string{
		"udp into a tunnel": `ethernet: 02:00:00:00:00:01 > 02:00:00:00:00:02, type 0x0800
ipv4: 10.0.0.1 > 10.0.0.2, udp, 93 bytes, ttl 64, DF
udp: 49152 > 6635
mpls: label 17, ttl 64
ipv4: 10.0.1.3 > 10.0.1.4, udp, 61 bytes, ttl 63
udp: 40000 > 53
data: 33 bytes
`,
		"a frame into mpls in gre over ipv6: an arp reply": `ethernet: 02:00:00:00:00:01 > 02:00:00:00:00:03, type 0x86dd
ipv6: fd00:f::1 > fd00:f::3, gre, 90 bytes, hop limit 64, flow 0x0c000
gre: type 0x8847
mpls: label 72, ttl 64
ethernet: 46:00:00:00:04:03 > 02:00:00:00:04:55, type 0x0806
arp: 10.0.4.3 is at 46:00:00:00:04:03; to 10.0.4.5
`,
		"a frame behind a control word into mpls in udp: ipv4": `ethernet: 02:00:00:00:00:01 > 02:00:00:00:00:02, type 0x0800
ipv4: 10.0.0.1 > 10.0.0.2, udp, 111 bytes, ttl 64, DF
udp: 49152 > 6635
mpls: label 74, ttl 64
control word: 0x00000000
ethernet: 02:00:00:00:04:07 > 02:00:00:00:04:22, type 0x0800
ipv4: 10.0.4.3 > 10.0.4.5, udp, 61 bytes, ttl 64
udp: 40000 > 53
data: 33 bytes
`,
	}
	for _, c := range cases {
		frame, err := hex.DecodeString(c.Out)
		if err != nil {
			t.Fatal(err)
		}
		got := text(packet.Describe(frame, len(frame)))
		if want[c.Name] != "" && got != want[c.Name] {
			t.Errorf("%s:\n%swant\n%s", c.Name, got, want[c.Name])
		}
		delete(want, c.Name)
		if strings.Contains(got, "bad header") && c.Op != "pass" {
			t.Errorf("%s: what leaves is no good packet:\n%s", c.Name, got)
		}
	}
	if len(want) > 0 {
		t.Errorf("there is no such case: %v", want)
	}
}

// FuzzDescribe: no bytes make it fail, and it always has an answer.
func FuzzDescribe(f *testing.F) {
	for _, protocol := range packet.Protocols {
		for _, s := range []packet.Spec{spec(protocol), spec6(protocol)} {
			if frame, err := packet.Build(s); err == nil {
				f.Add(frame)
			}
		}
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		if len(packet.Describe(frame, len(frame))) == 0 {
			t.Error("nothing is said")
		}
	})
}

// FuzzBuild: what can be asked for is built to the size that it says, with right checksums, and read
// again as what it is; the rest is refused.
func FuzzBuild(f *testing.F) {
	f.Add(uint8(1), []byte{10, 0, 1, 3}, []byte{10, 0, 1, 4}, uint16(53), 0, uint8(64), false)
	f.Add(uint8(2), netip.MustParseAddr("fd00:1::3").AsSlice(), netip.MustParseAddr("fd00:1::4").AsSlice(), uint16(80), 1500, uint8(3), true)
	f.Add(uint8(3), []byte{10, 0, 1, 3}, []byte{10, 0, 1, 4}, uint16(0), 65535, uint8(0), false)
	f.Add(uint8(4), netip.MustParseAddr("fd00:1::3").AsSlice(), netip.MustParseAddr("fd00:1::4").AsSlice(), uint16(0), -1, uint8(255), true)
	f.Fuzz(func(t *testing.T, protocol uint8, from, to []byte, port uint16, size int, tos uint8, df bool) {
		source, _ := netip.AddrFromSlice(from)
		destination, _ := netip.AddrFromSlice(to)
		if !source.IsValid() || !destination.IsValid() {
			return
		}
		s := packet.Spec{
			Source: source, Destination: destination, Protocol: packet.Protocols[int(protocol)%len(packet.Protocols)],
			SourcePort: 40000, DestinationPort: port, Size: size, TTL: 64, TOS: tos, DontFragment: df,
		}
		frame, err := packet.Build(s)
		if err != nil {
			return
		}
		if s.Size != 0 && s.Protocol != "arp" && s.Protocol != "nd" && len(frame) != s.Size+14 {
			t.Errorf("%d bytes, asked for %d behind an Ethernet header", len(frame), s.Size)
		}
		got := text(packet.Describe(frame, len(frame)))
		if strings.Contains(got, "bad header") || strings.Contains(got, "cut off") && port != 6635 && port != 4789 {
			t.Errorf("%+v:\n%s", s, got)
		}
	})
}

package vrouter_test

import (
	"encoding/binary"
	"net/netip"
	"os/exec"
	"testing"

	"windtunnel/vrouter/packet"
)

// A checksum of TCP that comes out as 0 may stand in a segment as 0 or as 0xffff; the next value is wrong.
func TestObjections(t *testing.T) {
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("skip: needs tshark")
	}
	const at = 14 + 20 + 16 // Ethernet, IPv4, and what stands before TCP's checksum
	s := packet.Spec{Protocol: "tcp", Source: netip.MustParseAddr("10.0.0.1"), Destination: netip.MustParseAddr("10.0.0.2"), SourcePort: 61000, DestinationPort: 62000, TTL: 64}
	frame, err := packet.Build(s)
	if err != nil {
		t.Fatal(err)
	}
	// With the checksum added to a word of what is summed up, it comes out as 0: RFC 1624, section 3.
	source := uint32(s.SourcePort) + uint32(binary.BigEndian.Uint16(frame[at:]))
	s.SourcePort = uint16(source + source>>16)
	if frame, err = packet.Build(s); err != nil || binary.BigEndian.Uint16(frame[at:]) != 0 {
		t.Fatalf("the checksum is %#x, not 0; %v", frame[at:at+2], err)
	}
	for sum, objected := range map[uint16]int{0: 0, 0xffff: 0, 1: 1} {
		binary.BigEndian.PutUint16(frame[at:], sum)
		if bad := decoder(t, tshark, pcapOf(frame), nil)(objections, "_ws.expert.message"); len(bad) != objected {
			t.Errorf("of the checksum %#x tshark says %q", sum, bad)
		}
	}
}

// TestNothingIsGuessed: random payload that begins as a call of Thrift's is payload, and tshark does not object to what it lacks.
func TestNothingIsGuessed(t *testing.T) {
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("skip: needs tshark")
	}
	const udp = 14 + 20
	frame, err := packet.Build(packet.Spec{Protocol: "udp", Source: netip.MustParseAddr("10.0.0.1"), Destination: netip.MustParseAddr("10.0.0.2"), SourcePort: 61000, DestinationPort: 62000, TTL: 64, Size: 20 + 8 + 64})
	if err != nil {
		t.Fatal(err)
	}
	binary.BigEndian.PutUint16(frame[udp+6:], 0)                                                            // no checksum
	copy(frame[udp+8:], "\x80\x01\x00\x01\x00\x00\x00\x04ping\x00\x00\x00\x01\x0b\x00\x01\x00\x00\xff\xff") // a string longer than the frame
	read := decoder(t, tshark, pcapOf(frame), nil)
	if said := read("frame", "frame.protocols"); len(said) != 1 || said[0] != "eth:ethertype:ip:udp:data" {
		t.Errorf("the frame is taken for %q", said)
	}
	if bad := read(objections, "_ws.expert.message"); len(bad) > 0 {
		t.Errorf("tshark objects: %q", bad)
	}
}

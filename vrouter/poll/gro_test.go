package poll

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"windtunnel/vrouter/internal/golden"
	"windtunnel/vrouter/internal/lab"
	"windtunnel/vrouter/packet"
)

// TCP's flags: RFC 9293, section 3.1, and RFC 3168, section 6.1.
const (
	fin = 0x01
	psh = 0x08
	ack = 0x10
	ece = 0x40
	cwr = 0x80
)

// A segment is a TCP segment of a flow that comes out of a tunnel for the first port.
type segment struct {
	at    uint32 // of its payload in the flow
	bytes int
	flags byte
	more  func(ip []byte) // what else is different about it, before its checksum is made
	wrong bool            // its checksum
	flow  uint16
}

func (s segment) tcp(ip []byte) []byte {
	if ip[0]>>4 == 6 {
		return ip[40:]
	}
	return ip[20:]
}

// build makes the frame: the outer headers are those of a golden packet, MPLS in GRE.
func (s segment) build(t *testing.T, outer []byte, six bool) []byte {
	t.Helper()
	spec := packet.Spec{
		Source: netip.MustParseAddr("10.0.1.4"), Destination: netip.MustParseAddr("10.0.1.3"), Protocol: "tcp", TTL: 63, DontFragment: true,
		SourcePort: 5000 + s.flow, DestinationPort: 80, Size: 40 + s.bytes,
	}
	if six {
		spec.Source, spec.Destination, spec.Size = netip.MustParseAddr("fd00:1::4"), netip.MustParseAddr("fd00:1::3"), 60+s.bytes
	}
	frame, err := packet.Build(spec)
	if err != nil {
		t.Fatal(err)
	}
	ip := frame[14:]
	tcp := s.tcp(ip)
	binary.BigEndian.PutUint32(tcp[4:], 1<<31+s.at)
	tcp[12], tcp[13] = 5<<4, s.flags
	for i := range tcp[20:] {
		tcp[20+i] = byte(s.at + uint32(i))
	}
	if s.more != nil {
		s.more(ip)
	}
	finishSums(ip, tcp)
	if s.wrong {
		tcp[16] ^= 0x55
	}
	head := slices.Clone(outer)
	binary.BigEndian.PutUint16(head[16:], uint16(len(head)-14+len(ip)))
	copy(head[24:], []byte{0, 0})
	binary.BigEndian.PutUint16(head[24:], ^sumOf(0, head[14:34]))
	return append(head, ip...)
}

func sumOf(sum uint32, data []byte) uint16 {
	for ; len(data) > 1; data = data[2:] {
		sum += uint32(binary.BigEndian.Uint16(data))
	}
	if len(data) > 0 {
		sum += uint32(data[0]) << 8
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return uint16(sum)
}

// pseudo is the sum of what TCP's checksum covers beside the segment.
func pseudo(ip, tcp []byte) uint32 {
	addresses := ip[8:40]
	if ip[0]>>4 == 4 {
		addresses = ip[12:20]
	}
	return uint32(sumOf(unix.IPPROTO_TCP+uint32(len(tcp)), addresses))
}

func finishSums(ip, tcp []byte) {
	if ip[0]>>4 == 4 {
		copy(ip[10:], []byte{0, 0})
		binary.BigEndian.PutUint16(ip[10:], ^sumOf(0, ip[:20]))
	}
	copy(tcp[16:], []byte{0, 0})
	binary.BigEndian.PutUint16(tcp[16:], ^sumOf(pseudo(ip, tcp), tcp))
}

// row is n segments in a row of 1,000 bytes each.
func row(n int) (all []segment) {
	for i := range n {
		all = append(all, segment{at: uint32(1000 * i), bytes: 1000, flags: ack})
	}
	return all
}

// with changes one of them.
func with(all []segment, i int, change func(*segment)) []segment {
	change(&all[i])
	return all
}

// flags gives one of them others.
func flags(all []segment, i int, flags byte) []segment {
	return with(all, i, func(s *segment) { s.flags = flags })
}

// marked: congestion was experienced, which is said of one segment, not of others.
func marked(ip []byte) {
	if ip[0]>>4 == 6 { // the traffic class begins in the first byte
		ip[1] |= 3 << 4
		return
	}
	ip[1] |= 3
}

// TestJoin: what is joined is what follows in a flow and differs in nothing that matters; nothing passes
// what was before it; a wrong checksum stays wrong.
func TestJoin(t *testing.T) {
	cases := map[string]struct {
		segments []segment
		want     []string
	}{
		"a row":           {row(4), []string{"0: 0+4000 10"}},
		"PSH ends it":     {flags(row(4), 1, ack|psh), []string{"0: 0+2000 18", "0: 2000+2000 10"}},
		"FIN ends it":     {flags(row(3), 2, ack|fin), []string{"0: 0+3000 11"}},
		"a short one":     {[]segment{{0, 1000, ack, nil, false, 0}, {1000, 500, ack, nil, false, 0}, {1500, 1000, ack, nil, false, 0}}, []string{"0: 0+1500 10", "0: 1500+1000 10"}},
		"a longer one":    {[]segment{{0, 500, ack, nil, false, 0}, {500, 1000, ack, nil, false, 0}}, []string{"0: 0+500 10", "0: 500+1000 10"}},
		"a gap":           {with(row(2), 1, func(s *segment) { s.at = 3000 }), []string{"0: 0+1000 10", "0: 3000+1000 10"}},
		"backwards":       {[]segment{row(2)[1], row(2)[0]}, []string{"0: 1000+1000 10", "0: 0+1000 10"}},
		"again":           {[]segment{row(1)[0], row(1)[0]}, []string{"0: 0+1000 10", "0: 0+1000 10"}},
		"no payload":      {[]segment{row(2)[0], {1000, 0, ack, nil, false, 0}, row(2)[1]}, []string{"0: 0+1000 10", "0: 1000+0 10", "0: 1000+1000 10"}},
		"CWR":             {flags(row(3), 1, ack|cwr), []string{"0: 0+1000 10", "0: 1000+1000 90", "0: 2000+1000 10"}},
		"ECE of all":      {flags(flags(row(2), 0, ack|ece), 1, ack|ece), []string{"0: 0+2000 50"}},
		"ECE of one":      {flags(row(2), 1, ack|ece), []string{"0: 0+1000 10", "0: 1000+1000 50"}},
		"a mark":          {with(row(3), 1, func(s *segment) { s.more = marked }), []string{"0: 0+1000 10", "0: 1000+1000 10", "0: 2000+1000 10"}},
		"a wrong sum":     {with(row(3), 1, func(s *segment) { s.wrong = true }), []string{"0: 0+1000 10", "0: 1000+1000 10 wrong", "0: 2000+1000 10"}},
		"a first one":     {with(row(2), 0, func(s *segment) { s.wrong = true }), []string{"0: 0+1000 10 wrong", "0: 1000+1000 10"}},
		"another window":  {with(row(2), 1, func(s *segment) { s.more = func(ip []byte) { s.tcp(ip)[14] = 9 } }), []string{"0: 0+1000 10", "0: 1000+1000 10"}},
		"another answer":  {with(row(2), 1, func(s *segment) { s.more = func(ip []byte) { s.tcp(ip)[11] = 9 } }), []string{"0: 0+1000 10", "0: 1000+1000 10"}},
		"flows by turns":  {[]segment{row(2)[0], with(row(2), 0, otherFlow)[0], row(2)[1], with(row(2), 1, otherFlow)[1]}, []string{"0: 0+2000 10", "1: 0+2000 10"}},
		"a whole burst":   {row(20), []string{"0: 0+20000 10"}},
		"one is left one": {row(1), []string{"0: 0+1000 10"}},
	}
	_, c := golden.Load(t)
	b := newBed(t, c)
	outer := outerOf(t)
	for name, k := range cases {
		for _, six := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, IPv6 %t", name, six), func(t *testing.T) {
				b.join(t, k.segments, outer, six, k.want)
			})
		}
	}
	if totals := b.totals(t); !addsUp(totals) {
		t.Errorf("%+v", totals)
	}
	b.vifsAddUp(t)
}

func otherFlow(s *segment) { s.flow = 1 }

// outerOf is what stands before the inner packet.
func outerOf(t *testing.T) []byte {
	t.Helper()
	cases, _ := golden.Load(t)
	for _, k := range cases {
		if k.Name == "tcp out of gre" {
			frame, err := hex.DecodeString(k.In)
			if err != nil {
				t.Fatal(err)
			}
			return frame[:42]
		}
	}
	t.Fatal("there is no golden packet of TCP in GRE")
	return nil
}

// join has the process find all segments at once, as one that was away for a moment.
func (b *bed) join(t *testing.T, segments []segment, outer []byte, six bool, want []string) {
	t.Helper()
	before := b.totals(t)
	pid := b.plane.Status().PID
	lab.Stop(t, pid)
	for b.arrived.Pending() != nil { // of the case before
	}
	bytes := uint64(0)
	for _, s := range segments {
		frame := s.build(t, outer, six)
		bytes += uint64(len(frame))
		b.send["fabric"](frame)
		b.arrived.Next() // a busy kernel may take its time
	}
	if err := unix.Kill(pid, unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	var got []string
	for range want {
		got = append(got, shown(b.far["vif1"].Next()))
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q came, not %q", got, want)
	}
	for frame := b.far["vif1"].Pending(); frame != nil; frame = b.far["vif1"].Pending() {
		t.Errorf("and %s", shown(frame))
	}
	after, n := before, uint64(len(segments))
	lab.Await(t, "the segments are in the account", func() bool {
		after = b.totals(t)
		return after.Received().Packets >= before.Received().Packets+n && addsUp(after)
	})
	if f, was := after.Forwarded, before.Forwarded; f.Packets-was.Packets != n || f.Segments-was.Segments != n || f.Bytes-was.Bytes != bytes {
		t.Errorf("%d segments of %d bytes in all are counted as %+v after %+v", n, bytes, f, was)
	}
}

// shown tells a flow, what of it a frame has, its flags, and whether its checksum is neither right nor the
// pseudo-header's sum, which a device is to finish.
func shown(frame []byte) string {
	if len(frame) < 54 {
		return fmt.Sprintf("%d bytes", len(frame))
	}
	ip := frame[14:]
	tcp := segment{}.tcp(ip)
	at := binary.BigEndian.Uint32(tcp[4:]) - 1<<31
	text := fmt.Sprintf("%d: %d+%d %x", binary.BigEndian.Uint16(tcp)-5000, at, len(tcp)-20, tcp[13])
	for i, c := range tcp[20:] {
		if c != byte(at+uint32(i)) {
			return text + " with other bytes"
		}
	}
	stands := binary.BigEndian.Uint16(tcp[16:])
	if sumOf(pseudo(ip, tcp), tcp) != 0xffff && stands != sumOf(pseudo(ip, tcp), nil) {
		text += " wrong"
	}
	if ip[0]>>4 == 4 && (sumOf(0, ip[:20]) != 0xffff || int(binary.BigEndian.Uint16(ip[2:])) != len(ip)) {
		text += ", IP wrong"
	}
	if ip[0]>>4 == 6 && int(binary.BigEndian.Uint16(ip[4:])) != len(ip)-40 {
		text += ", IP wrong"
	}
	return text
}

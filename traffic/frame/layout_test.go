package frame

import (
	"encoding/hex"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var (
	mac1 = [6]byte{2, 10, 0, 0, 0, 1}
	mac2 = [6]byte{2, 10, 0, 0, 0, 2}
	four = netip.MustParseAddr("10.0.0.1")
	six  = netip.MustParseAddr("fd00::1")
)

func testHeader(from netip.Addr, port uint16, session uint32, size int, addresses bool) header {
	return header{
		source: mac1, destination: mac2, from: from, to: from.Next(), port: port,
		session: session, sizes: mix{size}, addresses: addresses,
	}
}

// goldenFrames were put together by hand from the RFCs, their checksums by another
// program's arithmetic.
var goldenFrames = map[string]struct {
	header header
	number number
	want   string
}{
	"smallest": {
		testHeader(four, 40000, 0x01020304, 64, false), number{},
		"020a00000002020a0000000108004500002e00004000401126bd0a0000010a00000280009c40001a7470570001020304000000000000000000000000",
	},
	"many ports": {
		testHeader(four, 40000, 0xdeadbeef, 70, false), number{window, 2<<15 | 5, 0x123456789a},
		"020a00000002020a0000000108004500003400004000401126b70a0000010a00000280059c4200202dbc5701deadbeef00010005000000123456789a000000000000",
	},
	"addresses": {
		testHeader(four, 40000, 0xffffffff, 64, true), number{after, 1<<17 | 7, ^uint64(0)},
		"020a00000002020a0000000108004500002e0000400040116aa4c61200070a00000280009c41001abc515702ffffffff00020007ffffffffffffffff",
	},
	"IPv6": {
		testHeader(six, 40000, 0x01020304, 84, false), number{window, 1, 9},
		"020a00000002020a0000000186dd60000000001a1140fd000000000000000000000000000001fd00000000000000000000000000000280019c40001a8e62570101020304000000010000000000000009",
	},
	"IPv6 addresses": {
		testHeader(six, 40000, 0x01020304, 90, true), number{window, 999_999, 9},
		"020a00000002020a0000000186dd6000000000201140200100020000000000000000000f423ffd00000000000000000000000000000280009c400020e6ba570101020304000f423f0000000000000009000000000000",
	},
	"a checksum of zero": {
		testHeader(four, 40000, 0x01020304, 64, false), number{sequence: 29808},
		"020a00000002020a0000000108004500002e00004000401126bd0a0000010a00000280009c40001affff570001020304000000000000000000007470",
	},
}

func TestGoldenFrames(t *testing.T) {
	for name, c := range goldenFrames {
		t.Run(name, func(t *testing.T) {
			s, b := newStamp(c.header)
			s.write(b, number{after, 99, 77}) // what an earlier frame left does not show
			s.write(b, c.number)
			if got := hex.EncodeToString(b); got != c.want {
				t.Fatalf("got\n%s, want\n%s", got, c.want)
			}
			n, err := expectedOf(c.header, 1_000_000).parse(b, len(b))
			if n != c.number.read() || err != nil {
				t.Errorf("read %+v, %v", n, err)
			}
		})
	}
}

// read is a number without when its frame left.
func (n number) read() number {
	n.sequence &= mostSequence
	return n
}

func expectedOf(h header, flows uint32) expected {
	return expected{session: h.session, flows: flows, sizes: h.sizes, ipv6: h.ipv6()}
}

// TestParseJudges changes one thing of a good frame at a time.
func TestParseJudges(t *testing.T) {
	at := map[string]struct {
		offset int
		want   error
	}{
		"another EtherType": {13, errForeign}, "IP options": {14, errForeign}, "another protocol": {23, errForeign},
		"a fragment": {21, errForeign}, "another magic": {42, errForeign}, "another session": {45, errForeign},
		"another IP length": {17, errCorrupt}, "another source": {29, errCorrupt}, "another port": {35, errCorrupt},
		"another UDP length": {39, errCorrupt}, "another checksum": {41, errCorrupt}, "another phase": {43, errCorrupt},
		"another flow": {51, errCorrupt}, "another sequence": {59, errCorrupt}, "hops": {22, nil}, "another MAC": {0, nil},
	}
	h := testHeader(four, 40000, 1, 64, false)
	for name, c := range at {
		t.Run(name, func(t *testing.T) {
			s, b := newStamp(h)
			s.write(b, number{window, 3, 4})
			b[c.offset] ^= 2
			if _, err := expectedOf(h, 8).parse(b, len(b)); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
	t.Run("cut short", func(t *testing.T) {
		s, b := newStamp(testHeader(four, 40000, 1, 100, false))
		s.write(b, number{})
		if _, err := expectedOf(testHeader(four, 40000, 1, 100, false), 8).parse(b, 95); !errors.Is(err, errCorrupt) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a flow too many", func(t *testing.T) {
		s, b := newStamp(h)
		s.write(b, number{flow: 8})
		if _, err := expectedOf(h, 8).parse(b, len(b)); !errors.Is(err, errCorrupt) {
			t.Errorf("got %v", err)
		}
	})
}

// drawFrame is any session's any frame.
func drawFrame(t *rapid.T) (header, number) {
	from := four
	smallest := smallestIPv4
	if rapid.Bool().Draw(t, "ipv6") {
		from, smallest = six, smallestIPv6
	}
	h := testHeader(from, uint16(rapid.IntRange(1, 65000).Draw(t, "port")), rapid.Uint32().Draw(t, "session"),
		smallest, rapid.Bool().Draw(t, "addresses"))
	h.sizes = rapid.SliceOfN(rapid.IntRange(smallest, 1518), 1, mostTurns).Draw(t, "sizes")
	return h, number{
		uint8(rapid.IntRange(0, phases-1).Draw(t, "phase")),
		uint32(rapid.IntRange(0, maxFlows-1).Draw(t, "flow")), rapid.Uint64().Draw(t, "sequence"),
	}
}

// TestEveryFrameIsRight: its checksums are those over all of its bytes.
func TestEveryFrameIsRight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, n := drawFrame(t)
		s, b := newStamp(h)
		b = b[:s.write(b, n)]
		ip, udp := b[ethernetSize:s.udpAt()], b[s.udpAt():]
		addresses := ip[len(ip)-8:]
		if h.ipv6() {
			addresses = ip[len(ip)-32:]
		} else if fold(sum(ip)) != 0xffff {
			t.Errorf("the IPv4 header sums up to %#x", fold(sum(ip)))
		}
		if got := fold(sum(addresses) + 17 + uint32(len(udp)) + sum(udp)); got != 0xffff {
			t.Errorf("the UDP packet sums up to %#x", got)
		}
		if got, err := expectedOf(h, maxFlows).parse(b, len(b)); got != n.read() || err != nil {
			t.Errorf("read %+v, %v, wrote %+v", got, err, n)
		}
	})
}

// TestFlowsDiffer: no two flows have the same ports and addresses.
func TestFlowsDiffer(t *testing.T) {
	for _, from := range []netip.Addr{four, six} {
		for _, addresses := range []bool{false, true} {
			h := testHeader(from, 30000, 1, 128, addresses)
			s, b := newStamp(h)
			seen, ports := map[string]bool{}, map[uint16]bool{}
			const flows = 140_000 // more than an address has bits for
			for flow := range uint32(flows) {
				s.write(b, number{flow: flow})
				seen[string(b[26:s.udpAt()+4])] = true
				ports[uint16(b[s.udpAt()+2])<<8|uint16(b[s.udpAt()+3])] = true
			}
			if want := portsUsed(load{flows: flows, addresses: addresses}, from.Is6()); len(seen) != flows || len(ports) != want {
				t.Errorf("%s, addresses %v: %d flows of %d, %d destination ports, reserved %d", from, addresses, len(seen), flows, len(ports), want)
			}
		}
	}
}

func TestSizes(t *testing.T) {
	cases := map[string]struct {
		size int
		ipv6 bool
		mtu  int
		says string
	}{
		"smallest":         {64, false, 1500, ""},
		"too small":        {63, false, 1500, "at least 64"},
		"IPv6 in 64 bytes": {64, true, 1500, "at least 84"},
		"smallest IPv6":    {84, true, 1500, ""},
		"largest":          {1518, false, 1500, ""},
		"too large":        {1519, true, 1500, "at most 1518"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := fits(mix{c.size}, c.ipv6, c.mtu)
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// FuzzParse lets a stranger write frames: they are read or refused, never more.
func FuzzParse(f *testing.F) {
	for _, c := range goldenFrames {
		b, _ := hex.DecodeString(c.want)
		f.Add(b, c.header.session, c.header.sizes[0], c.header.ipv6())
	}
	f.Fuzz(func(t *testing.T, b []byte, session uint32, size int, ipv6 bool) {
		const flows = 1000
		n, err := expected{session, flows, mix{size}, ipv6, nil, false}.parse(b, len(b))
		if err == nil && (n.flow >= flows || n.phase >= phases || len(b) < size-fcsSize) {
			t.Errorf("took %+v of %d bytes, size %d", n, len(b), size)
		}
	})
}

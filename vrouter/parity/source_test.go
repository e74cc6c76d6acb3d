package parity

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"net/netip"
	"testing"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/internal/golden"
)

const (
	fabric = "fabric"
	// shortest is what BPF_PROG_TEST_RUN takes: a byte behind the Ethernet header (since Linux 6.18, if that
	// announces IP, a whole header without options).
	shortest, shortest4, shortest6 = 15, 34, 54
	// longest is what it takes, and what a buffer of the poll mode holds with room for headers.
	longest = 3000
)

// frame is one that a port, or the fabric, receives.
type frame struct {
	at    string // the interface
	bytes []byte
}

// source makes frames, the same ones for the same seed.
type source struct {
	*rand.Rand
	config config.Config
	golden []frame
	macs   []config.MAC
	four   map[string][]netip.Addr // by network, whom one may mean
	six    map[string][]netip.Addr
	labels []uint32
	vnis   []uint32
}

func newSource(t *testing.T, seed uint64, c config.Config, cases []golden.Case) *source {
	t.Helper()
	s := &source{Rand: rand.New(rand.NewPCG(seed, 1)), config: c, four: map[string][]netip.Addr{}, six: map[string][]netip.Addr{}}
	for _, k := range cases {
		in, err := hex.DecodeString(k.In)
		if err != nil {
			t.Fatal(err)
		}
		if k.GSO == 0 && len(in) >= shortest && len(in) <= longest {
			s.golden = append(s.golden, frame{k.At, in})
		}
	}
	s.macs = []config.MAC{config.GatewayMAC, {255, 255, 255, 255, 255, 255}, {1, 0, 0x5e, 0, 0, 251}, {0x33, 0x33, 0, 0, 0, 1}, {1, 0x80, 0xc2}, {2, 9, 9, 9, 9, 9}}
	for _, n := range c.Networks {
		s.addNetwork(n)
	}
	for _, p := range c.Ports {
		s.macs, s.labels = append(s.macs, p.MAC), append(s.labels, p.Label)
		s.addAddress(p.Network, p.Address)
		s.addAddress(p.Network, p.Address6)
	}
	for _, r := range c.Routes {
		s.addAddress(r.Network, r.Prefix.Addr())
		s.addAddress(r.Network, r.Prefix.Addr().Next())
	}
	return s
}

func (s *source) addNetwork(n config.Network) {
	s.vnis, s.labels = append(s.vnis, n.VNI), append(s.labels, n.Label)
	for _, a := range []netip.Addr{n.Gateway, n.Subnet.Addr().Next(), netip.AddrFrom4([4]byte{255, 255, 255, 255}), netip.AddrFrom4([4]byte{224, 0, 0, 251}),
		n.Gateway6, netip.MustParseAddr("ff02::1"), netip.MustParseAddr("fe80::1"), netip.IPv6Unspecified()} {
		s.addAddress(n.Name, a)
	}
	if n.Bridge == nil {
		return
	}
	s.labels = append(s.labels, n.Bridge.Label)
	for _, h := range n.Bridge.Hosts {
		s.macs = append(s.macs, h.MAC)
	}
}

func (s *source) addAddress(network string, a netip.Addr) {
	switch {
	case a.Is4():
		s.four[network] = append(s.four[network], a)
	case a.Is6():
		s.six[network] = append(s.six[network], a)
	}
}

// one of them.
func one[T any](s *source, of ...T) T { return of[s.IntN(len(of))] }

// mostly is the first, and once in a while another.
func mostly[T any](s *source, usual T, others ...T) T {
	if len(others) > 0 && s.IntN(10) == 0 {
		return one(s, others...)
	}
	return usual
}

func (s *source) often() bool  { return s.IntN(2) == 0 }
func (s *source) rarely() bool { return s.IntN(12) == 0 }

func (s *source) noise(bytes int) []byte {
	b := make([]byte, bytes)
	for i := range b {
		b[i] = byte(s.Uint32())
	}
	return b
}

// next is the next frame: a golden one or one by the grammar, often damaged.
func (s *source) next() frame {
	var f frame
	switch s.IntN(10) {
	case 0, 1:
		f = one(s, s.golden...)
		f.bytes = append([]byte(nil), f.bytes...)
	case 2, 3, 4, 5:
		f = s.fromPort()
	default:
		f = s.fromFabric()
	}
	if s.IntN(5) < 2 {
		f.bytes = s.damage(f.bytes)
	}
	if len(f.bytes) > longest {
		f.bytes = f.bytes[:longest]
	}
	f.bytes = append(f.bytes, make([]byte, max(0, shortest-len(f.bytes)))...)
	least := map[uint16]int{0x0800: shortest4, 0x86dd: shortest6}[big.Uint16(f.bytes[12:])]
	f.bytes = append(f.bytes, make([]byte, max(0, least-len(f.bytes)))...)
	return f
}

// damage changes some bytes, most often among the headers, or the length; sometimes the IPv4 headers' sums
// are right again, or few frames would go beyond those.
func (s *source) damage(b []byte) []byte {
	switch s.IntN(6) {
	case 0:
		return b[:s.IntN(len(b)+1)]
	case 1:
		return append(b, s.noise(s.IntN(64))...)
	case 2: // two frames in one
		other := one(s, s.golden...).bytes
		at := s.IntN(min(len(b), len(other)))
		b = append(b[:at:at], other[at:]...)
	default:
		for range 1 + s.IntN(4) {
			at := s.IntN(min(len(b), 140))
			b[at] = one(s, 0, 1, 0x45, 0x7f, 0x80, 0xff, b[at]^1<<s.IntN(8), byte(s.Uint32()))
		}
	}
	if s.often() {
		for _, at := range []int{14, 42, 46, 60, 64, 62, 66, 78, 82, 80, 84, 86} {
			repair(b, at)
		}
	}
	return b
}

// repair writes the right checksum into what looks like an IPv4 header.
func repair(b []byte, at int) {
	if at+20 > len(b) || b[at]>>4 != 4 || b[at]&15 < 5 || at+int(b[at]&15)*4 > len(b) {
		return
	}
	header := b[at : at+int(b[at]&15)*4]
	binary.BigEndian.PutUint16(header[10:], 0)
	binary.BigEndian.PutUint16(header[10:], sum(header))
}

// sum is the Internet checksum, RFC 1071.
func sum(parts ...[]byte) uint16 {
	var total uint32
	for _, b := range parts {
		for i, v := range b {
			total += uint32(v) << (8 * (1 - i%2))
		}
	}
	for total > 0xffff {
		total = total&0xffff + total>>16
	}
	return ^uint16(total)
}

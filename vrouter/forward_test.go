package vrouter_test

import (
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"testing"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/control"
	"windtunnel/vrouter/internal/lab"
)

// bulk is enough for TCP to build aggregates of full size. A machine that emulates another is slow, and
// sets BULK to fewer bytes.
var bulk = bulkOf(os.Getenv("BULK"))

func bulkOf(text string) int {
	if text == "" {
		return 32 << 20
	}
	bytes, err := strconv.Atoi(text)
	if err != nil || bytes <= 0 {
		panic(fmt.Sprintf("BULK=%q is no number of bytes", text))
	}
	return bytes
}

var encapsulations = []config.Encapsulation{config.MPLSoUDP, config.MPLSoGRE, config.VXLAN, config.NoEncapsulation}

// TestForward: containers on two nodes, on one, and the gateway reach each other; what arrives is
// what was sent, aggregates included; and every packet is accounted for.
func TestForward(t *testing.T) {
	for _, encapsulation := range encapsulations {
		for _, way := range [][]string{nil, {"--clsact"}} {
			t.Run(strings.Join(append(way, string(encapsulation)), " "), func(t *testing.T) {
				b := newBed(t, encapsulation)
				b.run(append([]string{"--lease"}, way...)...)
				forwards(t, b, innerMTU(encapsulation), true)
				if s := b.a.addsUp(); s.Dropped.Packets != 0 || s.Answered.Packets == 0 {
					t.Errorf("node a's account: %+v", s)
				}
				b.b.addsUp()
				b.a.end()
				b.b.end()
			})
		}
	}
}

func forwards(t *testing.T, b *bed, mtu int, whole bool) {
	t.Helper()
	gateway := b.a.config.Networks[0].Gateway
	for to, from := range map[netip.Addr]*container{b.b1.address: b.a1, b.a2.address: b.b1, b.a1.address: b.a2, gateway: b.a1} {
		if err := ping(from, to, 56); err != nil {
			t.Errorf("ping from %s to %s: %v", from.address, to, err)
		}
	}
	b.bulk(t, b.a1, b.b1)
	b.bulk(t, b.b1, b.a2)
	b.bulk(t, b.a1, b.a2)
	udpAggregate(t, b.a1, b.b1, 1200, 40, whole)
	udpAggregate(t, b.b1, b.a1, mtu-28, 40, whole)
}

// TestSegmentsOnTheWire: with segmentation off at one hop after the other, aggregates are cut
// there, behind the tunnel's headers.
func TestSegmentsOnTheWire(t *testing.T) {
	for _, encapsulation := range encapsulations {
		t.Run(string(encapsulation), func(t *testing.T) {
			b := newBed(t, encapsulation)
			b.run("--lease")
			offload(b.a.Namespace, "wire0", noSegmentation)
			offload(b.b.Namespace, "wire0", noSegmentation)
			forwards(t, b, innerMTU(encapsulation), false)
			offload(b.a1.Namespace, "eth0", noSegmentation)
			offload(b.b1.Namespace, "eth0", noSegmentation)
			forwards(t, b, innerMTU(encapsulation), false)
			offload(b.a1.Namespace, "eth0", map[string]bool{"tx-checksum-ip-generic": false})
			forwards(t, b, innerMTU(encapsulation), false)
			b.a.addsUp()
			b.b.addsUp()
		})
	}
}

// TestMTU: the largest packet passes, one byte more is answered with the MTU, in each encapsulation.
func TestMTU(t *testing.T) {
	mtus := map[config.Encapsulation]int{config.MPLSoUDP: 1468, config.MPLSoGRE: 1472, config.VXLAN: 1450, config.NoEncapsulation: 1400}
	for encapsulation, mtu := range mtus {
		t.Run(string(encapsulation), func(t *testing.T) {
			b := newBed(t, encapsulation)
			if encapsulation == config.NoEncapsulation { // else the containers' own MTU is the bound
				b.a.SetMTU("wire0", mtu)
				b.b.SetMTU("wire0", mtu)
			}
			b.run("--lease")
			mtu4(t, b, mtu)
			if s := b.a.addsUp(); s.Answered.Packets != 2 { // an ARP request, and the packet that was too big
				t.Errorf("answered: %+v", s.Answered)
			}
		})
	}
}

// TestDrops: what is lost has the right name, once a packet.
func TestDrops(t *testing.T) {
	b := newBed(t, config.MPLSoUDP)
	b.run("--lease")
	s := udpSocket(t, b.a1, 0)
	for range 7 {
		s.WriteTo([]byte("nobody"), udpSocket(t, b.a2, 0).LocalAddr())
	}
	for range 5 { // nobody has this address, but ARP is answered for all of the network
		s.WriteToUDPAddrPort([]byte("no route"), netip.MustParseAddrPort("10.0.1.77:9"))
	}
	var drops map[string]uint64
	lab.Await(t, "5 packets without a route are counted", func() bool {
		drops = ask[control.Stats](b.a, "stats").Drops
		return drops["no_route"] == 5
	})
	if len(drops) != 1 {
		t.Errorf("dropped also: %v", drops)
	}
	b.a.addsUp()
}

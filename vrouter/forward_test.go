package vrouter_test

import (
	"errors"
	"net/netip"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/control"
	"windtunnel/vrouter/internal/lab"
)

// bulk is enough for TCP to build aggregates of full size.
const bulk = 32 << 20

var encapsulations = []config.Encapsulation{config.MPLSoUDP, config.NoEncapsulation}

// TestForward: containers on two nodes, on one, and the gateway reach each other; what arrives is
// what was sent, aggregates included; and every packet is accounted for.
func TestForward(t *testing.T) {
	for _, encapsulation := range encapsulations {
		for _, way := range [][]string{nil, {"--clsact"}} {
			t.Run(strings.Join(append(way, string(encapsulation)), " "), func(t *testing.T) {
				b := newBed(t, encapsulation)
				b.run(append([]string{"--lease"}, way...)...)
				forwards(t, b, true)
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

func forwards(t *testing.T, b *bed, whole bool) {
	t.Helper()
	gateway := b.a.config.Networks[0].Gateway
	for to, from := range map[netip.Addr]*container{b.b1.address: b.a1, b.a2.address: b.b1, b.a1.address: b.a2, gateway: b.a1} {
		if err := ping(from, to, 56); err != nil {
			t.Errorf("ping from %s to %s: %v", from.address, to, err)
		}
	}
	tcp(t, b.a1, b.b1, bulk)
	tcp(t, b.b1, b.a2, bulk)
	tcp(t, b.a1, b.a2, bulk)
	udpAggregate(t, b.a1, b.b1, 1200, 40, whole)
	udpAggregate(t, b.b1, b.a1, 1440, 40, whole)
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
			forwards(t, b, false)
			offload(b.a1.Namespace, "eth0", noSegmentation)
			offload(b.b1.Namespace, "eth0", noSegmentation)
			forwards(t, b, false)
			offload(b.a1.Namespace, "eth0", map[string]bool{"tx-checksum-ip-generic": false})
			forwards(t, b, false)
			b.a.addsUp()
			b.b.addsUp()
		})
	}
}

// TestMTU: the largest packet passes, one byte more is answered with the MTU, in both encapsulations.
func TestMTU(t *testing.T) {
	for encapsulation, mtu := range map[config.Encapsulation]int{config.MPLSoUDP: 1468, config.NoEncapsulation: 1400} {
		t.Run(string(encapsulation), func(t *testing.T) {
			b := newBed(t, encapsulation)
			if encapsulation == config.NoEncapsulation { // else the containers' own MTU is the bound
				b.a.SetMTU("wire0", mtu)
				b.b.SetMTU("wire0", mtu)
			}
			b.run("--lease")
			if err := ping(b.a1, b.b1.address, mtu-28); err != nil {
				t.Errorf("the largest packet: %v", err)
			}
			err := ping(b.a1, b.b1.address, mtu-27)
			var big tooBig
			if !errors.As(err, &big) || big.mtu != mtu {
				t.Errorf("one byte more: %v, not an answer with the MTU %d", err, mtu)
			}
			if s := b.a.addsUp(); s.Answered.Packets != 2 { // an ARP request, and the packet that was too big
				t.Errorf("answered: %+v", s.Answered)
			}
		})
	}
}

// TestWire: an independent decoder finds MPLS in UDP at port 6635 and nothing to object to.
func TestWire(t *testing.T) {
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("skip: needs tshark")
	}
	b := newBed(t, config.MPLSoUDP)
	for _, c := range []*container{b.a1, b.b1} { // or unfinished checksums would be captured
		offload(c.Namespace, "eth0", map[string]bool{"tx-checksum-ip-generic": false})
	}
	offload(b.a.Namespace, "wire0", noSegmentation)
	offload(b.b.Namespace, "wire0", noSegmentation)
	b.run("--lease")
	if err := ping(b.a1, b.b1.address, 56); err != nil { // also ends ARP
		t.Fatal(err)
	}
	stop := capture(t, b.a, "wire0")
	if err := ping(b.a1, b.b1.address, 1440); err != nil {
		t.Error(err)
	}
	tcp(t, b.a1, b.b1, 200_000)
	file := filepath.Join(t.TempDir(), "wire.pcap")
	writeFile(t, file, stop())
	read := func(filter string, fields ...string) []string {
		args := []string{"-r", file, "-n", "-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE", "-Y", filter, "-T", "fields"}
		for _, f := range fields {
			args = append(args, "-e", f)
		}
		out, err := exec.Command(tshark, args...).Output()
		b.a.Must("running tshark", err)
		return strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' })
	}
	if all, mpls := read("frame", "frame.number"), read("udp.dstport==6635 && mpls.label && mpls.bottom==1 && udp.srcport>=49152", "frame.number"); len(all) != len(mpls) || len(all) < 100 {
		t.Errorf("%d frames, of which %d are MPLS in UDP", len(all), len(mpls))
	}
	bad := read("_ws.expert.severity>=6291456 && !tcp.analysis.flags || ip.checksum.status==0 || tcp.checksum.status==0", "frame.number", "_ws.expert.message")
	if len(bad) > 0 {
		t.Errorf("tshark objects: %s", bad)
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

package vrouter_test

import (
	"slices"
	"testing"

	"windtunnel/vrouter/config"
)

// pieces is enough for aggregates, and for what is sent again to be seen.
const pieces = 4 << 20

// moves sends what poll mode may have to cut, join, or hand over as it is, in all directions, and wants no
// byte to be another one or to come twice but what links and queues lost.
func moves(t *testing.T, b *bed, mtu int) {
	t.Helper()
	type pair struct{ from, to *container }
	for _, p := range []pair{{b.a1, b.b1}, {b.b1, b.a2}, {b.a1, b.a2}} {
		for _, p := range []pair{p, {p.from.six(), p.to.six()}} {
			tcp(t, p.from, p.to, 1<<14) // neighbours and the way's MTU are known
			before := b.lost()
			lost := func() int { return b.lost() - before }
			if s := transfer(t, p.from, p.to, pieces, lost); s.missed > lost() {
				t.Errorf("from %s to %s: %d segments did not come, %d were sent again, and %d were lost", p.from.address, p.to.address, s.missed, s.again, lost())
			}
			udpAggregate(t, p.from, p.to, 1200, 40, false)
		}
	}
	udpAggregate(t, b.b1, b.a1, mtu-28, 20, false)
	udpAggregate(t, b.a1, b.b1, mtu-28, 20, false)
	udpAggregate(t, b.a1.six(), b.b1.six(), mtu-48, 20, false)
}

// TestPollSegments: aggregates are cut before the tunnel's headers, and come out of them as they were sent,
// wherever else they are cut, and whoever makes their checksums. Nothing is lost but what is told.
func TestPollSegments(t *testing.T) {
	for _, encapsulation := range encapsulations {
		t.Run(string(encapsulation), func(t *testing.T) {
			b, mtu := newBed(t, encapsulation).withIPv6().poll(), innerMTU(encapsulation)
			b.run("--lease")
			moves(t, b, mtu) // node b's aggregates cross the wire whole
			b.asNIC()
			moves(t, b, mtu)
			for _, c := range []*container{b.a1, b.a2, b.b1} {
				offload(c.Namespace, "eth0", noSegmentation)
			}
			moves(t, b, mtu)
			offload(b.a1.Namespace, "eth0", map[string]bool{"tx-checksum-ip-generic": false})
			offload(b.a.Namespace, "wire0", map[string]bool{"tx-checksum-ip-generic": false})
			moves(t, b, mtu)
			for _, c := range []*container{b.a1, b.b1} {
				c.SetMTU("eth0", mtu) // so that fragments fit
			}
			fragments(t, b.a1, b.b1)
			fragments(t, b.b1, b.a1)
			for reason := range b.a.addsUp().Drops {
				if !slices.Contains([]string{"tx_full", "router_solicitation", "mld", "nd_probe", "multicast"}, reason) {
					t.Errorf("packets were dropped as %s", reason)
				}
			}
		})
	}
}

// TestPollAggregates: a container's aggregates come as such, and what a NIC brings in segments reaches a
// container in aggregates, of either family.
func TestPollAggregates(t *testing.T) {
	b := newBed(t, config.MPLSoUDP).withIPv6().poll()
	b.asNIC()
	b.run("--lease")
	received := func() uint64 { return b.a1.Link("eth0").Attrs().Statistics.RxPackets }
	for _, way := range [][2]*container{{b.b1, b.a1}, {b.b1.six(), b.a1.six()}} {
		tcp(t, way[0], way[1], 1<<16)
		before, packets := b.a.vif("a1").Tx.Segments, received()
		tcp(t, way[0], way[1], bulk)
		segments := b.a.vif("a1").Tx.Segments - before
		if packets = received() - packets; segments < 4*packets {
			t.Errorf("%s got %d packets for %d segments", way[1].address, packets, segments)
		}
	}
	for _, way := range [][2]*container{{b.a1, b.b1}, {b.a1.six(), b.b1.six()}} {
		before := b.a.vif("a1").Rx
		tcp(t, way[0], way[1], bulk)
		after := b.a.vif("a1").Rx
		if packets, segments := after.Packets-before.Packets, after.Segments-before.Segments; segments < 4*packets {
			t.Errorf("of %s came %d packets for %d segments", way[0].address, packets, segments)
		}
	}
	b.a.addsUp()
}

// TestPollWire: an independent decoder finds nothing to object to in what aggregates are cut into.
func TestPollWire(t *testing.T) {
	for encapsulation, filter := range onTheWire {
		t.Run(string(encapsulation), func(t *testing.T) {
			wire(t, newBed(t, encapsulation).withIPv6().poll(), innerMTU(encapsulation), filter)
		})
	}
}

package vrouter_test

import (
	"net/netip"
	"testing"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/internal/lab"
)

var (
	subnet6  = netip.MustParsePrefix("fd00:1::/64")
	gateway6 = netip.MustParseAddr("fd00:1::fe")
)

// six is the container under its IPv6 address, which ends as the other one does.
func (c *container) six() *container {
	a := subnet6.Addr().As16()
	a[15] = c.address.As4()[3]
	return &container{Namespace: c.Namespace, address: netip.AddrFrom16(a)}
}

// withIPv6 gives the network and all containers IPv6 beside IPv4, and the routes the same ways.
func (b *bed) withIPv6() *bed {
	for _, c := range []*container{b.a1, b.a2, b.b1} {
		if c == nil {
			continue
		}
		lab.EnableIPv6(c.Namespace, "eth0")
		c.Address("eth0", c.six().address.String()+"/64")
	}
	for _, n := range []*node{b.a, b.b} {
		if n == nil {
			continue
		}
		n.config.Networks[0].Subnet6, n.config.Networks[0].Gateway6 = subnet6, gateway6
		for i, p := range n.config.Ports {
			n.config.Ports[i].Address6 = (&container{address: p.Address}).six().address
		}
		for _, r := range n.config.Routes {
			six := (&container{address: r.Prefix.Addr()}).six().address
			n.config.Routes = append(n.config.Routes, config.Route{Network: r.Network, Prefix: netip.PrefixFrom(six, 128), Via: r.Via})
		}
	}
	return b
}

// ofTheLink are the drops of what any IPv6 host tells its link of its own accord.
var ofTheLink = map[string]bool{"mld": true, "router_solicitation": true, "nd_probe": true, "nd_outside": true, "nd_not_solicitation": true}

func onlyOfTheLink(t *testing.T, drops map[string]uint64) {
	t.Helper()
	for reason, packets := range drops {
		if !ofTheLink[reason] {
			t.Errorf("%d packets were lost: %s", packets, reason)
		}
	}
}

// TestIPv6: as TestForward, TestSegmentsOnTheWire and TestMTU.
func TestIPv6(t *testing.T) {
	for _, encapsulation := range encapsulations {
		t.Run(string(encapsulation), func(t *testing.T) {
			b := newBed(t, encapsulation).withIPv6()
			b.run("--lease")
			forwards6(t, b, innerMTU(encapsulation), true)
			offload(b.a.Namespace, "wire0", noSegmentation)
			offload(b.b.Namespace, "wire0", noSegmentation)
			forwards6(t, b, innerMTU(encapsulation), false)
			offload(b.a1.Namespace, "eth0", noSegmentation)
			offload(b.b1.Namespace, "eth0", noSegmentation)
			offload(b.a1.Namespace, "eth0", map[string]bool{"tx-checksum-ip-generic": false})
			forwards6(t, b, innerMTU(encapsulation), false)
			if encapsulation != config.NoEncapsulation {
				mtu6(t, b, innerMTU(encapsulation))
			}
			onlyOfTheLink(t, b.a.addsUp().Drops)
			onlyOfTheLink(t, b.b.addsUp().Drops)
		})
	}
}

func forwards6(t *testing.T, b *bed, mtu int, whole bool) {
	t.Helper()
	a1, a2, b1 := b.a1.six(), b.a2.six(), b.b1.six()
	for to, from := range map[netip.Addr]*container{b1.address: a1, a2.address: b1, a1.address: a2, gateway6: a1} {
		if err := ping6(from, to, 56); err != nil {
			t.Errorf("ping from %s to %s: %v", from.address, to, err)
		}
	}
	b.bulk(t, a1, b1)
	b.bulk(t, b1, a2)
	b.bulk(t, a1, a2)
	udpAggregate(t, a1, b1, 1200, 40, whole)
	udpAggregate(t, b1, a1, mtu-48, 40, whole)
}

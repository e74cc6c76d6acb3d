package frame

import (
	"net"
	"net/netip"
	"strconv"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"windtunnel/traffic/nstest"
)

// TestLinkLocal: an address that is at two interfaces is the one of its zone, by name or number.
func TestLinkLocal(t *testing.T) {
	needsRoot(t)
	nstest.Inside(t, func() {
		for _, name := range []string{"one", "two"} {
			if _, err := linkLocal(name); err != nil {
				t.Errorf("%s: %v", name, err)
				return
			}
		}
		two, err := netlink.LinkByName("two")
		if err != nil {
			t.Error(err)
			return
		}
		for _, zone := range []string{"two", strconv.Itoa(two.Attrs().Index)} {
			mine := netip.MustParseAddr("fe80::1%" + zone)
			d, err := deviceWith(mine)
			if err != nil || d.index != two.Attrs().Index {
				t.Errorf("%s is at %+v: %v", mine, d, err)
			}
			w, err := wayTo(mine, netip.MustParseAddr("fe80::9%"+zone))
			if err != nil || w.device.index != two.Attrs().Index || w.nextHop != [6]byte{2, 0, 0, 0, 0, 9} {
				t.Errorf("the way is %+v: %v", w, err)
			}
		}
		if _, err := deviceWith(netip.MustParseAddr("fe80::1%three")); err == nil {
			t.Error("an interface that is not there was found")
		}
	})
}

// linkLocal makes an interface with fe80::1, which knows a neighbour fe80::9.
func linkLocal(name string) (netlink.Link, error) {
	peer := name + "-peer"
	v := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: name}, PeerName: peer}
	if err := netlink.LinkAdd(v); err != nil {
		return nil, err
	}
	for _, each := range []string{peer, name} {
		link, err := netlink.LinkByName(each)
		if err == nil {
			err = netlink.LinkSetUp(link)
		}
		if err != nil {
			return nil, err
		}
	}
	link, err := netlink.LinkByName(name)
	if err != nil {
		return nil, err
	}
	address := &netlink.Addr{IPNet: &net.IPNet{IP: net.ParseIP("fe80::1"), Mask: net.CIDRMask(64, 128)}, Flags: unix.IFA_F_NODAD}
	if err := netlink.AddrAdd(link, address); err != nil {
		return nil, err
	}
	return link, netlink.NeighAdd(&netlink.Neigh{
		LinkIndex: link.Attrs().Index, Family: unix.AF_INET6, State: netlink.NUD_PERMANENT,
		IP: net.ParseIP("fe80::9"), HardwareAddr: net.HardwareAddr{2, 0, 0, 0, 0, 9},
	})
}

// TestAGatewayOfTheOtherFamily: IPv4 may go by a router that has an IPv6 address alone (RFC 5549); its neighbour was looked for under the
// receiver's.
func TestAGatewayOfTheOtherFamily(t *testing.T) {
	needsRoot(t)
	nstest.Inside(t, func() {
		one, err := linkLocal("one")
		if err != nil {
			t.Error(err)
			return
		}
		mine := &net.IPNet{IP: net.IPv4(10, 5, 0, 1), Mask: net.CIDRMask(32, 32)}
		if err := netlink.AddrAdd(one, &netlink.Addr{IPNet: mine}); err != nil {
			t.Error(err)
		}
		theirs := &net.IPNet{IP: net.IPv4(10, 5, 0, 2), Mask: net.CIDRMask(32, 32)}
		route := &netlink.Route{LinkIndex: one.Attrs().Index, Dst: theirs, Via: &netlink.Via{AddrFamily: unix.AF_INET6, Addr: net.ParseIP("fe80::9")}}
		if err := netlink.RouteAdd(route); err != nil {
			t.Error(err)
		}
		w, err := wayTo(netip.MustParseAddr("10.5.0.1"), netip.MustParseAddr("10.5.0.2"))
		if err != nil || w.nextHop != [6]byte{2, 0, 0, 0, 0, 9} {
			t.Errorf("the way is %+v: %v", w, err)
		}
	})
}

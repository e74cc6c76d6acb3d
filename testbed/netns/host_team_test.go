package netns

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"

	"windtunnel/testbed"
)

// twoWays are those of a host with a second interface for data, more, which asHostOfTwo gives it.
var twoWays = []Way{hostWay, {Address: netip.MustParseAddr("10.1.0.2"), Toward: netip.MustParseAddr("10.1.0.1"), Near: hostWay.Near, Far: hostWay.Far}}

func asHostOfTwo(t *testing.T) {
	t.Helper()
	asHost(t)
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU = "more", 1400
	err := withLinks(func(h *handle) error {
		if err := h.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: "more-far"}); err != nil {
			return err
		}
		link, err := h.LinkByName("more")
		if err != nil {
			return err
		}
		address, _ := netlink.ParseAddr("10.1.0.2/24")
		return errors.Join(h.AddrAdd(link, address), h.up("more"), h.up("more-far"))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// takingTwo is a backend that has taken both, and those as they were before.
func takingTwo(t *testing.T) (*Backend, []NIC) {
	t.Helper()
	before, err := FindNICs(twoWays)
	if err != nil {
		t.Fatal(err)
	}
	b, pins := New("b", []int{0}, t.TempDir()), t.TempDir()
	for i := range before {
		before[i].Pin = filepath.Join(pins, fmt.Sprint("netns", i))
		if err := b.Take(before[i]); err != nil {
			t.Fatal(err)
		}
	}
	return b, before
}

// teamed is changing with a second link, and a route over both on the host's node.
func teamed() testbed.Graph {
	g := changing()
	second := g.Links[0]
	second.Name = "wire-2"
	for i := range g.Nodes {
		g.Nodes[i].Members = []testbed.NIC{{Device: "more", Address: "10.1.0.2/24", Virtual: true}}
		second.Ends[i].Device, second.Ends[i].Addresses = "more", []string{fmt.Sprintf("10.1.0.%d/24", i+1)}
	}
	g.Links = append(g.Links, second)
	g.Links[0].Pull = &testbed.Pull{Node: "b", From: 0.25, To: 0.75}
	g.Routes = []testbed.Multipath{{Name: "team-b", Node: "b", Prefix: "10.201.1.0/24",
		Hops: []testbed.Hop{{Device: "data", Gateway: "10.0.0.1"}, {Device: "more", Gateway: "10.1.0.1"}}}}
	return g
}

// forwarding are the settings that a route over several links changes, in the stack that the host's interfaces are in.
func forwarding(t *testing.T, b *Backend) map[string]string {
	t.Helper()
	now := map[string]string{}
	err := b.host.stack.Do(func() error {
		for _, name := range slices.Concat(slices.Collect(maps.Keys(multipathSettings)), []string{"conf/data/rp_filter", "conf/more/rp_filter"}) {
			text, err := os.ReadFile(ipv4Settings + name)
			if err != nil {
				return err
			}
			now[name] = strings.TrimSpace(string(text))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return now
}

// TestATeamOfAHostsInterfaces: a route goes over both, one of them is pulled, and everything is as before afterwards: the stack, which
// serves other cells, and the host.
func TestATeamOfAHostsInterfaces(t *testing.T) {
	asHostOfTwo(t)
	b, before := takingTwo(t)
	settings := forwarding(t, b)
	g := teamed()
	must := fatal(t)
	for range 2 {
		must(b.Apply(t.Context(), g, nil))
		must(b.Verify(t.Context(), g))
		if now := forwarding(t, b); now["ip_forward"] != "1" || now["fib_multipath_hash_policy"] != "1" {
			t.Errorf("%v", now)
		}
		must(b.Pull("A", "b", "data", true))
		if err := b.Verify(t.Context(), g); err == nil {
			t.Error("a pulled cable is not seen")
		}
		must(b.Pull("A", "b", "data", false))
		must(b.Verify(t.Context(), g))
		must(b.Restore(t.Context(), "A"))
		if differs := cmp.Diff(settings, forwarding(t, b)); differs != "" {
			t.Errorf("the stack that other cells get: %s", differs)
		}
	}
	must(errors.Join(b.Apply(t.Context(), g, nil), b.Pull("A", "b", "data", true), b.Restore(t.Context(), "A"))) // cut off while it is pulled
	single := changing()                                                                                         // which leaves the second one alone
	must(b.Apply(t.Context(), single, nil))
	must(b.Verify(t.Context(), single))
	must(b.Close())
	after, err := FindNICs(twoWays)
	must(err)
	if differs := cmp.Diff(before, after, asWas); differs != "" {
		t.Error(differs)
	}
}

// TestATeamIsReturnedForTheDead, while a member is pulled and after the other one was returned already.
func TestATeamIsReturnedForTheDead(t *testing.T) {
	asHostOfTwo(t)
	b, before := takingTwo(t)
	if err := errors.Join(b.Apply(t.Context(), teamed(), nil), b.Pull("A", "b", "data", true)); err != nil {
		t.Fatal(err)
	}
	for _, n := range slices.Backward(before) {
		if was, err := n.Return(); err != nil || !was {
			t.Fatal(was, err)
		}
	}
	after, err := FindNICs(twoWays)
	if differs := cmp.Diff(before, after, asWas); err != nil || differs != "" {
		t.Error(err, differs)
	}
	b.host = nil
	_ = b.Close() // its cells miss their wires
}

// TestOneOfTwoCannotBeReturned: the other one is, and the namespace is kept for it.
func TestOneOfTwoCannotBeReturned(t *testing.T) {
	asHostOfTwo(t)
	b, before := takingTwo(t)
	attrs := netlink.NewLinkAttrs()
	attrs.Name = "data"
	other := &netlink.Bridge{LinkAttrs: attrs}
	if err := netlink.LinkAdd(other); err != nil {
		t.Fatal(err)
	}
	if err := b.GiveBack(); err == nil || !strings.Contains(err.Error(), before[0].Pin) || !b.Has("data") || b.Has("more") {
		t.Errorf("%v; data is taken: %v, more: %v", err, b.Has("data"), b.Has("more"))
	}
	if err := errors.Join(netlink.LinkDel(other), b.GiveBack()); err != nil {
		t.Fatal(err)
	}
	after, err := FindNICs(twoWays)
	if differs := cmp.Diff(before, after, asWas); err != nil || differs != "" {
		t.Error(err, differs)
	}
}

// TestInterfacesThatMakeNoTeam are refused: one for both links, two of one network, one of the control connection. One whose route goes
// over both cannot be taken.
func TestInterfacesThatMakeNoTeam(t *testing.T) {
	asHostOfTwo(t)
	more, err := netlink.LinkByName("more")
	if err != nil {
		t.Fatal(err)
	}
	twin, _ := netlink.ParseAddr("10.0.0.7/25")
	if err := netlink.AddrAdd(more, twin); err != nil {
		t.Fatal(err)
	}
	for address, says := range map[string]string{
		"10.0.0.2": "are both of the interface data",
		"10.0.0.7": "10.0.0.2/24 of data and 10.0.0.7/25 of more are of one network",
		"10.9.0.2": "carries the control connection",
	} {
		ways := slices.Clone(twoWays)
		ways[1].Address = netip.MustParseAddr(address)
		if _, err := FindNICs(ways); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", address, err)
		}
	}
	data, err := netlink.LinkByName("data")
	if err := errors.Join(err, netlink.AddrDel(more, twin)); err != nil {
		t.Fatal(err)
	}
	both, _ := netlink.ParseIPNet("10.88.0.0/16")
	route := &netlink.Route{Dst: both, MultiPath: []*netlink.NexthopInfo{
		{LinkIndex: data.Attrs().Index, Gw: []byte{10, 0, 0, 9}}, {LinkIndex: more.Attrs().Index, Gw: []byte{10, 1, 0, 9}}}}
	if err := netlink.RouteAdd(route); err != nil {
		t.Fatal(err)
	}
	for _, way := range twoWays {
		if n, err := FindNIC(way); err != nil || !strings.Contains(n.Data.Fixed, "the route to 10.88.0.0/16 goes over it and others") {
			t.Errorf("%q, %v", n.Data.Fixed, err)
		}
	}
}

// macs are those of the host's interfaces for data.
func macs(t *testing.T) (all []string) {
	t.Helper()
	for _, name := range []string{"data", "more"} {
		link, err := netlink.LinkByName(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, link.Attrs().HardwareAddr.String())
	}
	return all
}

// TestBondOfAHostsInterfaces gives both the first one's MAC while it stands; they have their own again afterwards, also for the dead.
func TestBondOfAHostsInterfaces(t *testing.T) {
	needBonding(t)
	asHostOfTwo(t)
	own := macs(t)
	g := teamed()
	g.Routes, g.Bonds = nil, []testbed.Bond{{Name: "team-b", Node: "b", Device: "bond0", MTU: 1500, Bridge: "br", MonitorMilliseconds: 100}}
	for i := range g.Links {
		g.Links[i].Ends[1].Bridge, g.Links[i].Ends[1].Addresses = "team-b", nil
	}
	for _, ending := range []string{"in order", "killed"} {
		b, before := takingTwo(t)
		for range 2 {
			if err := errors.Join(b.Apply(t.Context(), g, nil), b.Verify(t.Context(), g), b.Pull("A", "b", "data", true), b.Pull("A", "b", "data", false), b.Verify(t.Context(), g)); err != nil {
				t.Fatal(ending, err)
			}
			if err := b.Restore(t.Context(), "A"); err != nil {
				t.Fatal(ending, err)
			}
		}
		if ending == "killed" {
			if err := b.Apply(t.Context(), g, nil); err != nil {
				t.Fatal(err)
			}
			for _, n := range before {
				if was, err := n.Return(); err != nil || !was {
					t.Fatal(was, err)
				}
			}
			b.host = nil
			_ = b.Close() // its cells miss their wires
		} else if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		after, err := FindNICs(twoWays)
		if differs := cmp.Diff(before, after, asWas); err != nil || differs != "" || !slices.Equal(own, macs(t)) {
			t.Errorf("%s: %v\n%s\nMACs were %v, and are %v", ending, err, differs, own, macs(t))
		}
	}
}

package config_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
)

// TestRecordSizes: Go's records are C's, without padding that one of the two would not see.
func TestRecordSizes(t *testing.T) {
	for _, r := range []struct {
		name   string
		record any
		goSize uintptr
		cSize  int
	}{
		{"Vif", core.Vif{}, unsafe.Sizeof(core.Vif{}), core.SizeVif},
		{"VRF", core.VRF{}, unsafe.Sizeof(core.VRF{}), core.SizeVRF},
		{"Nexthop", core.Nexthop{}, unsafe.Sizeof(core.Nexthop{}), core.SizeNexthop},
		{"Block", core.Block{}, unsafe.Sizeof(core.Block{}), core.SizeBlock},
		{"Node", core.Node{}, unsafe.Sizeof(core.Node{}), core.SizeNode},
		{"Totals", core.Totals{}, unsafe.Sizeof(core.Totals{}), core.SizeTotals},
		{"VifCount", core.VifCount{}, unsafe.Sizeof(core.VifCount{}), core.SizeVifCount},
	} {
		if int(r.goSize) != r.cSize || binary.Size(r.record) != r.cSize {
			t.Errorf("%s: %d bytes in Go, %d written, %d in C", r.name, r.goSize, binary.Size(r.record), r.cSize)
		}
	}
	if len(core.DropReasons) != len(core.Totals{}.Drops) {
		t.Errorf("%d drop reasons have names, %d are counted", len(core.DropReasons), len(core.Totals{}.Drops))
	}
}

func facts() config.Facts {
	return config.Facts{
		FabricIfindex: 2, FabricMTU: 1500, FabricMAC: config.MAC{2, 0, 0, 0, 0, 1},
		Interfaces: map[string]config.Interface{"v-sender": {Ifindex: 3, MTU: 1500, Peer: true}},
		Neighbours: map[netip.Addr]config.MAC{netip.MustParseAddr("10.0.0.2"): {2, 0, 0, 0, 0, 2}},
	}
}

func TestImage(t *testing.T) {
	m, err := parsed.Image(facts(), config.Image{})
	if err != nil {
		t.Fatal(err)
	}
	route := m.Lookup(1, netip.MustParseAddr("10.0.1.4"))
	tunnel := m.Nexthops[route.Ref()]
	if route.Label() != 17 || tunnel.Type != core.NexthopTunnel || tunnel.MTU != 1468 || tunnel.Dmac != core.MACKnown|0x020000000002 {
		t.Errorf("the route to 10.0.1.4 is %x: %+v", uint64(route), tunnel)
	}
	if local := m.Nexthops[m.Labels[16]]; local.Type != core.NexthopEncap || local.Ifindex != 3 || local.Flags != core.NexthopPeer {
		t.Errorf("label 16 leads to %+v", local)
	}
	if r := m.Lookup(1, netip.MustParseAddr("10.0.1.5")); r != 0 {
		t.Errorf("there is a route to 10.0.1.5: %x", uint64(r))
	}
	for range m.Routes(core.FabricVRF) {
		t.Error("the fabric's table has routes, though nothing is flat")
	}
}

// TestMissingInterface: a port whose interface is gone is routed to discard.
func TestMissingInterface(t *testing.T) {
	f := facts()
	f.Interfaces = nil
	m, err := parsed.Image(f, config.Image{})
	if err != nil {
		t.Fatal(err)
	}
	if n := m.Nexthops[m.Labels[16]]; n.Type != core.NexthopDiscard || len(m.Vifs) != 0 {
		t.Errorf("label 16 leads to %+v; vifs %v", n, m.Vifs)
	}
}

// draw makes some configuration of a small world, so that two have much in common.
func draw(t *rapid.T, label string) (config.Config, config.Facts) {
	c, f := parsed, facts()
	c.Networks, c.Ports, c.Routes = nil, nil, nil
	c.Limits.Routes = 100
	f.Interfaces, f.Neighbours = map[string]config.Interface{}, map[netip.Addr]config.MAC{}
	for last := byte(2); last < 4; last++ { // 4 never: a MAC that changes is a change of its own
		f.Neighbours[netip.AddrFrom4([4]byte{10, 99, 0, last})] = config.MAC{2, 0, 0, 0, 0, last}
	}
	for n := range 2 {
		name := fmt.Sprintf("net%d", n)
		c.Networks = append(c.Networks, config.Network{Name: name, Subnet: netip.MustParsePrefix("10.0.0.0/16"), Gateway: netip.MustParseAddr("10.0.255.254"),
			VNI: vnis[rapid.IntRange(n*4, n*4+3).Draw(t, label+" vni")]})
		if c.Networks[n].VNI != 0 {
			c.Networks[n].Bridge = drawBridge(t, label, n)
		}
		for p := range 3 {
			if !rapid.Bool().Draw(t, label+" has a port") {
				continue
			}
			i := n*3 + p
			interfaceName := fmt.Sprintf("v%d", i)
			c.Ports = append(c.Ports, config.Port{
				Name: fmt.Sprintf("p%d", i), Interface: interfaceName, Network: name, Label: uint32(16 + i), MAC: config.MAC{2, 0, 0, 0, 1, byte(i)},
				Address: netip.AddrFrom4([4]byte{10, 0, 1, byte(1 + p)}),
			})
			f.Interfaces[interfaceName] = config.Interface{
				Ifindex: uint32(10 + i + rapid.IntRange(0, 1).Draw(t, label+" interface made anew")*10), MTU: 1500, Peer: true,
			}
		}
		for _, prefix := range []string{"10.0.2.0/24", "10.0.2.128/25", "10.0.0.0/12", "10.0.2.9/32", "0.0.0.0/0"} {
			if !rapid.Bool().Draw(t, label+" has a route") {
				continue
			}
			remote := netip.AddrFrom4([4]byte{10, 99, 0, byte(rapid.IntRange(2, 4).Draw(t, label+" remote"))})
			via := config.Via{Tunnel: remote, Encapsulation: config.MPLSoUDP, Label: uint32(rapid.IntRange(16, 18).Draw(t, label+" label"))}
			if rapid.Bool().Draw(t, label+" by VXLAN") {
				via = config.Via{Tunnel: remote, Encapsulation: config.VXLAN, VNI: uint32(rapid.IntRange(1, 3).Draw(t, label+" vni of a route"))}
			}
			if other := byte(rapid.IntRange(2, 7).Draw(t, label+" one more way")); other < 5 && other != remote.As4()[3] {
				second := config.Via{Tunnel: netip.AddrFrom4([4]byte{10, 99, 0, other}), Encapsulation: config.MPLSoGRE, Label: 17}
				via = config.Via{ECMP: config.MakeMembers(via, second)}
			}
			c.Routes = append(c.Routes, config.Route{Network: name, Prefix: netip.MustParsePrefix(prefix), Via: via})
		}
	}
	return c, f
}

// vnis has 0, none, for each network, and others that share a bucket.
var vnis = func() []uint32 {
	list := []uint32{0, 1}
	for vni := uint32(2); len(list) < 8; vni++ {
		if core.VNIBucket(vni) == core.VNIBucket(1) {
			list = append(list, vni)
		}
	}
	list[4] = 0
	return list
}()

var probes = []netip.Addr{
	netip.MustParseAddr("10.0.1.1"), netip.MustParseAddr("10.0.1.2"), netip.MustParseAddr("10.0.2.1"), netip.MustParseAddr("10.0.2.9"),
	netip.MustParseAddr("10.0.2.200"), netip.MustParseAddr("10.0.255.254"), netip.MustParseAddr("10.15.0.1"), netip.MustParseAddr("192.0.2.1"),
}

// seen is all that packets can find in tables: for every network, address and label, the nexthop.
func seen(m config.Image) map[string]string {
	found := make(map[string]string)
	for slot, vrf := range m.VRFs {
		for _, a := range probes {
			r := m.Lookup(slot, a)
			if r != 0 {
				seenWays(m, found, fmt.Sprintf("%x %s", vrf.ID, a), r)
			}
		}
		seenBridge(m, slot, vrf, found)
	}
	for _, vni := range vnis {
		if slot := m.LookupVNI(vni); slot != 0 {
			found[fmt.Sprint("vni ", vni)] = fmt.Sprintf("%x", m.VRFs[slot].ID)
		}
	}
	for label, slot := range m.Labels {
		found[fmt.Sprint("label ", label)] = fmt.Sprintf("%+v", m.Nexthops[slot])
	}
	return found
}

// seenWays are what flows of a few buckets find, where there are several ways.
func seenWays(m config.Image, found map[string]string, key string, r core.Route) {
	n := m.Nexthops[r.Ref()]
	if n.Type != core.NexthopECMP {
		found[key] = fmt.Sprintf("%d %+v", r.Label(), n)
		return
	}
	g := m.Groups[n.Vif]
	for bucket := 0; bucket < core.GroupBuckets; bucket += 127 {
		way := core.Route(g.Members[g.Buckets[core.AnyMember][bucket]])
		found[fmt.Sprint(key, " bucket ", bucket)] = fmt.Sprintf("%d %+v", way.Label(), m.Nexthops[way.Ref()])
	}
}

// TestDiffIsHitless: at every step of a plan, what a packet finds is what it found before all of it
// or what it finds after.
func TestDiffIsHitless(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c1, f1 := draw(t, "first")
		c2, f2 := draw(t, "second")
		first, err := c1.Image(f1, config.Image{})
		if err != nil {
			t.Fatal(err)
		}
		second, err := c2.Image(f2, first)
		if err != nil {
			t.Fatal(err)
		}
		tables := first.Flat()
		before, after := seen(config.Read(tables)), seen(second)
		plan := config.Diff(first, second)
		for phase, writes := range [][]config.Write{plan.Prepare, plan.Switch, plan.Retire} {
			for _, w := range writes {
				copy(tables[w.Table][w.Offset:], w.Data)
				if phase < 2 {
					between(t, config.Read(tables), before, after)
				}
			}
		}
		if got := seen(config.Read(tables)); fmt.Sprint(got) != fmt.Sprint(after) {
			t.Fatalf("the plan leads to\n%v\nnot\n%v", got, after)
		}
		if again := config.Diff(config.Read(tables), second); !again.Empty() {
			t.Fatalf("after the plan there is more to do: %+v", again)
		}
	})
}

// between checks tables half way.
func between(t *rapid.T, now config.Image, before, after map[string]string) {
	for key, way := range seen(now) {
		if way != before[key] && way != after[key] {
			t.Fatalf("%s: half way %q, neither %q nor %q", key, way, before[key], after[key])
		}
	}
}

// TestAdopt: tables that are read back are those that were written, and the same configuration
// changes nothing in them.
func TestAdopt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, f := draw(t, "some")
		m, err := c.Image(f, config.Image{})
		if err != nil {
			t.Fatal(err)
		}
		read := config.Read(m.Flat())
		again, err := c.Image(f, read)
		if err != nil {
			t.Fatal(err)
		}
		if plan := config.Diff(read, again); !plan.Empty() {
			t.Fatalf("not the same: %+v", plan)
		}
	})
}

// TestVNIsFull: a ninth VNI of one bucket is refused; when others go, it takes the place of one.
func TestVNIsFull(t *testing.T) {
	c := parsed
	c.Networks, c.Ports, c.Routes = nil, nil, nil
	for vni := uint32(1); len(c.Networks) <= core.VNIWays; vni++ {
		if core.VNIBucket(vni) == core.VNIBucket(1) {
			c.Networks = append(c.Networks, config.Network{
				Name: fmt.Sprint("n", vni), Subnet: netip.MustParsePrefix("10.0.0.0/16"), Gateway: netip.MustParseAddr("10.0.255.254"), VNI: vni,
			})
		}
	}
	all := c.Networks
	if _, err := c.Image(facts(), config.Image{}); err == nil || !strings.Contains(err.Error(), "no room for") {
		t.Errorf("nine VNIs of one bucket: %v", err)
	}
	c.Networks = all[:core.VNIWays]
	full, err := c.Image(facts(), config.Image{})
	if err != nil {
		t.Fatal(err)
	}
	c.Networks = append([]config.Network{all[core.VNIWays]}, all[1:core.VNIWays]...)
	next, err := c.Image(facts(), full)
	if err != nil {
		t.Fatal(err)
	}
	if next.LookupVNI(all[0].VNI) != 0 || next.LookupVNI(all[core.VNIWays].VNI) == 0 || len(next.VNIs) != core.VNIWays {
		t.Errorf("the table is %x", next.VNIs)
	}
}

// TestRoutesFull: more than there is room for is an error, and the tables are as before.
func TestRoutesFull(t *testing.T) {
	c := parsed
	c.Limits.Routes = 1000
	for i := range 1000 {
		c.Routes = append(c.Routes, config.Route{
			Network: "network1", Via: c.Routes[0].Via, Prefix: netip.PrefixFrom(netip.AddrFrom4([4]byte{20, byte(i >> 8), byte(i), 1}), 32),
		})
	}
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "routes: 1001 are more than the limit of 1000") {
		t.Errorf("1001 routes: %v", err)
	}
	c.Routes = c.Routes[1:]
	m, err := c.Image(facts(), config.Image{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 40 { // each time at other prefixes, two a block, and never released
		for j := range c.Routes {
			c.Routes[j].Prefix = netip.PrefixFrom(netip.AddrFrom4([4]byte{byte(30 + i), byte(j >> 9), byte(j >> 1), byte(j & 1)}), 32)
		}
		next, err := c.Image(facts(), m)
		if err != nil {
			if !errors.Is(err, config.ErrFull) || i < 4 {
				t.Errorf("after %d times: %v", i, err)
			}
			return
		}
		m = next
	}
	t.Error("blocks that packets may be in were used again")
}

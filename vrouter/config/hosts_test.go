package config

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"pgregory.net/rapid"

	"windtunnel/vrouter/core"
)

func newHosts(buckets int) Hosts { return make(Hosts, buckets*core.SizeHosts) }

// TestHosts: whatever changes, what is among the hosts is what the route tables say, before and after
// those that changed are put in again; then all of them are there that their buckets have room for.
func TestHosts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, hosts := newMemory(4096), newHosts(1<<rapid.IntRange(0, 8).Draw(t, "buckets"))
		var known []netip.Prefix
		var late []Single
		for range rapid.IntRange(1, 12).Draw(t, "changes") {
			next := m.table
			for range rapid.IntRange(1, 8).Draw(t, "routes of a change") {
				prefix := drawPrefix(t, known)
				known = append(known, prefix)
				route := core.Route(0)
				if nexthop := rapid.IntRange(0, 5).Draw(t, "nexthop, or removed"); nexthop > 0 {
					route = core.MakeRoute(uint32(nexthop), 0, prefix.Bits())
				}
				next.set(prefix, route)
			}
			if rapid.IntRange(0, 9).Draw(t, "all go") == 0 {
				next = routeTable{}
			}
			plan := m.commit(t, next)
			hosts.Forget(plan.Hosts)
			checkHosts(t, hosts, m.table)
			late = append(late, plan.Hosts...)
			if rapid.Bool().Draw(t, "packets under way") {
				continue
			}
			Image{tables: map[uint32]routeTable{testVRF: m.table}}.Remember(hosts, late)
			late = nil
			checkHosts(t, hosts, m.table)
			allThere(t, hosts, m.table)
		}
	})
}

func checkHosts(t *rapid.T, hosts Hosts, table routeTable) {
	for at := 0; at < len(hosts); at += hostSlot {
		key, route := binary.LittleEndian.Uint64(hosts[at:]), binary.LittleEndian.Uint64(hosts[at+8:])
		if key == 0 && route == 0 {
			continue
		}
		a := core.Addr{Hi: key << 32}
		if got := table.find(netip.PrefixFrom(a.IPv4(), 32)); key>>32 != testVRF || core.Route(route) != got {
			t.Fatalf("%s of VRF %d is there with the route %x, the table has %x", a.IPv4(), key>>32, route, uint64(got))
		}
	}
}

func allThere(t *rapid.T, hosts Hosts, table routeTable) {
	single, others := 0, 0
	for e := range table.all() {
		if !e.Prefix.Addr().Is4() {
			continue
		}
		if !e.Prefix.IsSingleIP() {
			others++
			continue
		}
		single++
		host := Single{VRF: testVRF, Address: word(e.Prefix.Addr())}
		if at, free := hosts.find(host.key()); at < 0 && free >= 0 {
			t.Fatalf("%s is not there, and there is room", e.Prefix)
		}
	}
	if table.hosts != single || table.others != others {
		t.Fatalf("%d hosts and %d others are counted, there are %d and %d", table.hosts, table.others, single, others)
	}
}

// TestRememberAll: a table that is read anew is filled as the one before was.
func TestRememberAll(t *testing.T) {
	var table routeTable
	for i := range 1000 {
		table.set(netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(i * 7), byte(i >> 3), byte(i * 13)}), 32), core.MakeRoute(3, uint32(i), 32))
	}
	table.set(netip.MustParsePrefix("10.0.0.0/8"), core.MakeRoute(2, 0, 8))
	image, hosts, again := Image{tables: map[uint32]routeTable{testVRF: table}}, newHosts(1024), newHosts(1024)
	var p Plan
	p.routes(testVRF, routeTable{}, table)
	image.Remember(hosts, p.Hosts)
	image.RememberAll(again)
	if string(hosts) != string(again) {
		t.Error("all together gave another table than their changes")
	}
	found := 0
	for at := 0; at < len(hosts); at += hostSlot {
		if binary.LittleEndian.Uint64(hosts[at:]) != 0 {
			found++
		}
	}
	if found < table.hosts*9/10 || !table.mostlyHosts() {
		t.Errorf("%d of %d hosts are in the table", found, table.hosts)
	}
}

func TestHostBuckets(t *testing.T) {
	for routes, want := range map[int]uint32{0: 32768, 1: 1, 1000: 512, 65_536: 32768, 1_000_000: 524_288, MaxRoutes: 1 << 20} {
		if got := (Limits{Routes: routes}).HostBuckets(); got != want {
			t.Errorf("%d routes have %d buckets, not %d", routes, got, want)
		}
	}
}

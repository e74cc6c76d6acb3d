package config_test

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
)

// way is a tunnel to 10.0.0.last.
func way(last byte) config.Via {
	return config.Via{Tunnel: netip.AddrFrom4([4]byte{10, 0, 0, last}), Encapsulation: config.MPLSoUDP, Label: uint32(100 + int(last))}
}

func ways(last ...byte) config.Via {
	var list []config.Via
	for _, l := range last {
		list = append(list, way(l))
	}
	return config.Via{ECMP: config.MakeMembers(list...)}
}

// known are facts in which those far ends are resolved.
func known(last ...byte) config.Facts {
	f := facts()
	f.Neighbours = make(map[netip.Addr]config.MAC)
	for _, l := range last {
		f.Neighbours[way(l).Tunnel] = config.MAC{2, 0, 0, 0, 0, l}
	}
	return f
}

// chosen is the label of each bucket's way.
func chosen(t *testing.T, m config.Image, choice int) (labels [core.GroupBuckets]uint32) {
	t.Helper()
	n := m.Nexthops[m.Lookup(1, netip.MustParseAddr("10.0.1.9")).Ref()]
	if n.Type != core.NexthopECMP {
		t.Fatalf("the route leads to %+v", n)
	}
	g := m.Groups[n.Vif]
	for bucket, member := range g.Buckets[choice] {
		if member != core.NoMember {
			labels[bucket] = core.Route(g.Members[member]).Label()
		}
	}
	return labels
}

func withWays(t *testing.T, via config.Via, f config.Facts, previous config.Image) (config.Config, config.Image) {
	t.Helper()
	c := parsed
	c.Routes = append(slices.Clone(c.Routes), config.Route{Network: "network1", Prefix: netip.MustParsePrefix("10.0.1.9/32"), Via: via})
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	m, err := c.Image(f, previous)
	if err != nil {
		t.Fatal(err)
	}
	return c, m
}

// TestMembersGoAndCome: a member that goes, by the configuration or because its MAC is not known any
// more, leaves its buckets to the others, and no other bucket changes; when it is back, all is as it was.
func TestMembersGoAndCome(t *testing.T) {
	_, m := withWays(t, ways(2, 3, 4, 5), known(2, 3, 4, 5), config.Image{})
	all := chosen(t, m, core.AnyMember)
	counts := make(map[uint32]int)
	for _, label := range all {
		counts[label]++
	}
	for label, n := range counts { // a standard deviation is 14
		if n < 256-42 || n > 256+42 || len(counts) != 4 {
			t.Errorf("label %d has %d buckets of %d", label, n, core.GroupBuckets)
		}
	}
	_, gone := withWays(t, ways(2, 3, 5), known(2, 3, 4, 5), m)
	_, lost := withWays(t, ways(2, 3, 4, 5), known(2, 3, 5), m)
	for name, next := range map[string]config.Image{"taken out": gone, "not resolved": lost} {
		for bucket, label := range chosen(t, next, core.AnyMember) {
			if label == 104 || all[bucket] != 104 && label != all[bucket] {
				t.Fatalf("%s: bucket %d has label %d, and had %d", name, bucket, label, all[bucket])
			}
		}
	}
	if m.Lookup(1, netip.MustParseAddr("10.0.1.9")) != lost.Lookup(1, netip.MustParseAddr("10.0.1.9")) {
		t.Error("another group took its place, only because a member is not resolved")
	}
	_, back := withWays(t, ways(5, 4, 3, 2), known(2, 3, 4, 5), lost)
	if chosen(t, back, core.AnyMember) != all {
		t.Error("the member is back, listed in another order, and its buckets are others")
	}
	if plan := config.Diff(m, back); !plan.Empty() {
		t.Errorf("there is something to do: %+v", plan)
	}
	_, none := withWays(t, ways(2, 3, 4, 5), known(), m)
	if chosen(t, none, core.AnyMember) != all {
		t.Error("with no member resolved, somebody else has a bucket")
	}
}

// TestMembersGoHitless: at every step of the way, each bucket leads to a member that is resolved.
func TestMembersGoHitless(t *testing.T) {
	_, all := withWays(t, ways(2, 3, 4, 5), known(2, 3, 4, 5), config.Image{})
	_, some := withWays(t, ways(2, 3, 4, 5), known(2, 5), all)
	_, others := withWays(t, ways(2, 3, 4, 5), known(5, 3), some)
	_, again := withWays(t, ways(2, 3, 4, 5), known(2, 3, 4, 5), others)
	tables, now := all.Flat(), all
	for _, next := range []config.Image{some, others, again} {
		plan := config.Diff(now, next)
		if len(plan.Prepare)+len(plan.Retire) != 0 {
			t.Error("records come or go")
		}
		for _, w := range plan.Switch {
			if copy(tables[w.Table][w.Offset:], w.Data) != 8 || w.Offset%8 != 0 {
				t.Fatalf("%d bytes at %d are no word", len(w.Data), w.Offset)
			}
			half := config.Read(tables)
			g := half.Groups[1]
			for bucket, member := range g.Buckets[core.AnyMember] {
				if half.Nexthops[core.Route(g.Members[member]).Ref()].Dmac&core.MACKnown == 0 {
					t.Fatalf("bucket %d leads to member %d, which is not resolved", bucket, member)
				}
			}
		}
		now = next
	}
}

// TestLocalMembers: what a tunnel brought goes to ports only, and to none if the port is gone.
func TestLocalMembers(t *testing.T) {
	via := config.Via{ECMP: config.MakeMembers(way(2), config.Via{Port: "sender"})}
	_, m := withWays(t, via, known(2), config.Image{})
	g := m.Groups[1]
	for bucket, member := range g.Buckets[core.LocalMember] {
		if r := core.Route(g.Members[member]); m.Nexthops[r.Ref()].Vif == 0 || r.Label() != 0 {
			t.Fatalf("bucket %d leads to %+v", bucket, m.Nexthops[r.Ref()])
		}
	}
	away := known(2)
	away.Interfaces = nil
	_, m = withWays(t, via, away, m)
	if n := m.Groups[1].Buckets; n[core.LocalMember][7] != core.NoMember || chosen(t, m, core.AnyMember)[7] != 102 {
		t.Errorf("without its interface the port has buckets: %v", n)
	}
	away = known(2)
	away.Interfaces["v-sender"] = config.Interface{Ifindex: 9, MTU: 1500}
	_, back := withWays(t, via, away, m)
	for _, w := range config.Diff(m, back).Prepare {
		if w.Table == config.TableGroups {
			t.Error("the group that is in use is written anew")
		}
	}
	for bucket, member := range back.Groups[1].Buckets[core.LocalMember] {
		if n := back.Nexthops[core.Route(back.Groups[1].Members[member]).Ref()]; n.Ifindex != 9 {
			t.Fatalf("bucket %d leads to %+v", bucket, n)
		}
	}
	_, alone := withWays(t, config.Via{Port: "sender"}, known(), config.Image{})
	if g := alone.Groups[1]; g.Members[0] == 0 || g.Members[1] != 0 || g.Buckets[core.AnyMember][7] != 0 {
		t.Errorf("a port alone is %+v", g.Members)
	}
}

// TestChangeWays: single changes of routes do the same, and groups that no route has make room.
func TestChangeWays(t *testing.T) {
	c, m := withWays(t, ways(2, 3, 4), known(2, 3, 4), config.Image{})
	rules, err := c.Rules()
	if err != nil {
		t.Fatal(err)
	}
	before := chosen(t, m, core.AnyMember)
	fewer := ways(2, 3)
	change := config.Change{Network: "network1", Prefix: netip.MustParsePrefix("10.0.1.9/32"), Via: &fewer}
	next, plan, err := m.Change(rules, known(2, 3, 4), []config.Change{change})
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Prepare) < 3 || len(next.Groups) != 2 {
		t.Errorf("%d groups after %d writes", len(next.Groups), len(plan.Prepare))
	}
	for bucket, label := range chosen(t, next, core.AnyMember) {
		if before[bucket] != 104 && label != before[bucket] {
			t.Fatalf("bucket %d has label %d, and had %d", bucket, label, before[bucket])
		}
	}
	if len(m.Groups) != 1 {
		t.Error("the image before has changed")
	}
	refreshed, err := next.Refresh(rules, known(2, 3, 4))
	if err != nil {
		t.Fatal(err)
	}
	if len(refreshed.Groups) != 1 || chosen(t, refreshed, core.AnyMember) != chosen(t, next, core.AnyMember) {
		t.Errorf("%d groups are left", len(refreshed.Groups))
	}
	var full config.Image
	for i := range core.MaxGroups {
		more := way(2)
		more.Label = uint32(1000 + i)
		change.Via = &config.Via{ECMP: config.MakeMembers(way(3), more)}
		if full, _, err = refreshed.Change(rules, known(2, 3), []config.Change{change}); err != nil {
			break
		}
		refreshed = full
	}
	if !errors.Is(err, config.ErrFull) || !strings.Contains(err.Error(), "1023 groups of ways") {
		t.Errorf("more groups than there is room for: %v", err)
	}
}

// twoNetworks joins two of them.
const twoNetworks = `{"format":1,"name":"D-a",
 "fabric":{"interface":"wire0","address":"10.0.0.1"},
 "networks":[{"name":"one","subnet":"10.0.1.0/24","gateway":"10.0.1.254","label":30,"subnet6":"fd00:1::/64","gateway6":"fd00:1::fe"},
             {"name":"two","subnet":"10.0.2.0/24","gateway":"10.0.2.254","label":31}],
 "ports":[{"name":"a","interface":"v-a","network":"one","address":"10.0.1.3","mac":"02:00:00:00:01:03","label":16},
          {"name":"b","interface":"v-b","network":"two","address":"10.0.2.3","mac":"02:00:00:00:02:03"}],
 "routes":[{"network":"one","prefix":"10.0.2.0/24","via":{"network":"two"}},
           {"network":"one","prefix":"10.0.1.9/32","via":{"ecmp":[{"tunnel":"10.0.0.2","encapsulation":"mplsoudp","label":17},{"port":"a"}]}}]}`

func TestTranslate(t *testing.T) {
	c, err := config.Parse([]byte(twoNetworks), "f")
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.Image(known(2), config.Image{})
	if err != nil {
		t.Fatal(err)
	}
	n := m.Nexthops[m.Lookup(1, netip.MustParseAddr("10.0.2.77")).Ref()]
	if n.Type != core.NexthopTranslate || m.VRFs[n.Vif].ID != config.ID("two") {
		t.Errorf("the route leads to %+v", n)
	}
	if n := m.Nexthops[m.Labels[30]]; n.Type != core.NexthopTranslate || m.VRFs[n.Vif].ID != config.ID("one") {
		t.Errorf("label 30 leads to %+v", n)
	}
	if m.Lookup(2, netip.MustParseAddr("10.0.1.3")) != 0 {
		t.Error("the other network has a way back that nobody asked for")
	}
}

func TestWayErrors(t *testing.T) {
	leak, ecmp := `{"network":"two"}`, `{"tunnel":"10.0.0.2","encapsulation":"mplsoudp","label":17},{"port":"a"}`
	for _, c := range []struct{ name, replace, with, want string }{
		{"no way", leak, `{}`, `routes[0].via: there is no way; give a "tunnel"`},
		{"two ways", leak, `{"network":"two","port":"a"}`, `routes[0].via.network: there is a "port" already`},
		{"label of a leak", leak, `{"network":"two","label":17}`, `routes[0].via.label: only a tunnel has one`},
		{"unknown network", leak, `{"network":"twoo"}`, `f:7:69: routes[0].via.network: there is no network "twoo"; did you mean "two"?`},
		{"own network", leak, `{"network":"one"}`, `routes[0].via.network: one is the route's own network`},
		{"ipv6 into ipv4", `"10.0.2.0/24","via"`, `"fd00:2::/64","via"`, `routes[0].via.network: the network two has no IPv6`},
		{"overlap", `"10.0.2.0/24","gateway"`, `"10.0.0.0/16","gateway"`, `routes[0].via.network: one has 10.0.1.0/24 and two has 10.0.0.0/16: a packet from one would seem to be from a host of the other`},
		{"into the open", `"routes":[`, `"routes":[{"network":"two","prefix":"10.0.2.4/32","via":{"tunnel":"10.0.0.2","encapsulation":"none"}},`, `routes[1].via.network: two is reached without encapsulation`},
		{"label twice", `"label":31`, `"label":30`, `networks[1].label: 30 belongs to network "one" already`},
		{"label of a port", `"label":31`, `"label":16`, `ports[0].label: 16 belongs to network "two" already`},
		{"reserved label", `"label":31`, `"label":3`, `networks[1].label: 3 is not between 16 and 65535`},
		{"no list", `[` + ecmp + `]`, `{}`, `routes[1].via.ecmp: must be a list, not an object`},
		{"empty", ecmp, ``, `routes[1].via.ecmp: 0 ways are not between 1 and 16`},
		{"twice", `{"port":"a"}`, `{"port":"a"},{"port":"a"}`, `routes[1].via.ecmp[2]: this is the way of ecmp[1], too`},
		{"nested", `{"port":"a"}`, `{"ecmp":[{"port":"a"}]}`, `routes[1].via.ecmp[1]: one of several ways is a "tunnel" or a "port"`},
		{"unknown port", `{"port":"a"}`, `{"port":"aa"}`, `f:8:135: routes[1].via.ecmp[1].port: there is no port "aa"`},
		{"another network's port", `{"port":"a"}`, `{"port":"b"}`, `routes[1].via.ecmp[1].port: b is of two, not of one`},
		{"port without ipv6", `"10.0.1.9/32"`, `"fd00:1::9/128"`, `routes[1].via.ecmp[1].port: a has no IPv6`},
		{"unknown key", `{"port":"a"}`, `{"prot":"a"}`, `unknown key "prot"; did you mean "port"?`},
		{"label of a member", `"label":17`, `"label":7`, `f:8:123: routes[1].via.ecmp[0].label: 7 is not between`},
		{"no encapsulation", `"encapsulation":"mplsoudp",`, ``, `routes[1].via.ecmp[0]: the key "encapsulation" is missing`},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(twoNetworks, c.replace, c.with, 1)
			if text == twoNetworks {
				t.Fatal("the case changes nothing")
			}
			if _, err := config.Parse([]byte(text), "f"); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v\nwant %s", err, c.want)
			}
		})
	}
	var many []config.Via
	for i := range core.GroupMembers + 1 {
		many = append(many, way(byte(2+i)))
	}
	c := parsed
	c.Routes = []config.Route{{Network: "network1", Prefix: netip.MustParsePrefix("10.0.1.9/32"), Via: config.Via{ECMP: config.MakeMembers(many...)}}}
	if err := c.Validate(); err == nil || !strings.Contains(fmt.Sprint(err), "17 ways are not between 1 and 16") {
		t.Errorf("17 ways: %v", err)
	}
}

// TestParseMembers: a change's members are read as strictly as a configuration's.
func TestParseMembers(t *testing.T) {
	text := `[{"network":"one","prefix":"10.0.1.9/32","via":{"ecmp":[{"port":"a"},{"tunnel":"10.0.0.2","encapsulation":"mplsoudp","label":17}]}}]`
	changes, err := config.ParseChanges([]byte(text))
	if err != nil || len(changes) != 1 || len(changes[0].Via.ECMP.Ways()) != 2 || changes[0].Via.ECMP.Ways()[0].Port != "a" {
		t.Errorf("%v, %+v", err, changes)
	}
	for _, wrong := range []string{`"prot":"a"`, `"port":7`} {
		if _, err := config.ParseChanges([]byte(strings.Replace(text, `"port":"a"`, wrong, 1))); err == nil {
			t.Errorf("%s is read", wrong)
		}
	}
	if _, err := config.ParseChanges([]byte(`[{"network":"one","prefix":"10.0.1.9/32","via":{"ecmp":"` + strings.Repeat("x", 70000) + `"}}]`)); err == nil {
		t.Error("members that are no list are read")
	}
	// What is longer once it is written again, and stands in another list.
	long := `[{"ecmp":[{"port":"` + strings.Repeat("<", 12000) + `"}]}]`
	if _, err := config.ParseChanges([]byte(`[{"network":"one","prefix":"10.0.1.9/32","via":{"ecmp":` + long + `}}]`)); err == nil {
		t.Error("members that are too long are read")
	}
	if _, err := config.Parse([]byte(strings.Replace(twoNetworks, `[{"tunnel"`, `[{"ecmp":`+long+`},{"tunnel"`, 1)), "f"); err == nil || !strings.Contains(err.Error(), "has more than 65536 bytes") {
		t.Errorf("in a configuration: %v", err)
	}
}

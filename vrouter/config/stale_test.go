package config_test

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
)

const staleNode = `{"format":1,"name":"D-a","fabric":{"interface":"wire0","address":"10.0.0.1","address6":"fd00:f::1"},
"networks":[{"name":"n1","subnet":"10.1.0.0/16","gateway":"10.1.0.254","subnet6":"fd00:1::/64","gateway6":"fd00:1::fe","vni":5001},
  {"name":"n2","subnet":"10.2.0.0/16","gateway":"10.2.0.254"}],
"ports":[{"name":"a","interface":"v-a","network":"n1","address":"10.1.0.3","address6":"fd00:1::3","mac":"02:00:00:00:01:03","label":16},
  {"name":"b","interface":"v-b","network":"n2","address":"10.2.0.3","mac":"02:00:00:00:02:03","label":17}],
"routes":[{"network":"n1","prefix":"10.1.9.0/24","via":{"tunnel":"10.0.0.2","encapsulation":"mplsoudp","label":30}},
  {"network":"n1","prefix":"10.1.8.0/24","via":{"tunnel":"10.0.0.2","encapsulation":"mplsoudp","label":30}}]%s}`

// set are routes that a client sets, one for each kind of way.
const set = `[{"network":"n1","prefix":"10.1.0.7/32","via":{"tunnel":"10.0.0.2","encapsulation":"mplsoudp","label":31}},
{"network":"n1","prefix":"10.1.0.8/32","via":{"tunnel":"fd00:f::2","encapsulation":"mplsogre","label":32}},
{"network":"n1","prefix":"fd00:1::8/128","via":{"tunnel":"10.0.0.2","encapsulation":"vxlan"}},
{"network":"n1","prefix":"10.1.4.0/22","via":{"tunnel":"fd00:f::3","encapsulation":"vxlan","vni":77,"mac":"02:00:00:00:00:09"}},
{"network":"n1","prefix":"10.2.0.0/16","via":{"network":"n2"}},
{"network":"n1","prefix":"10.1.0.9/32","via":{"port":"a"}},
{"network":"n1","prefix":"10.1.0.10/32","via":{"ecmp":[{"port":"a"},{"tunnel":"10.0.0.2","encapsulation":"mplsoudp","label":33},{"tunnel":"10.0.0.4","encapsulation":"vxlan"}]}},
{"network":"n2","prefix":"0.0.0.0/0","via":{"tunnel":"10.0.0.5","encapsulation":"mplsoudp","label":34}}]`

var staleFacts = config.Facts{
	FabricIfindex: 9, FabricMTU: 1500, FabricMAC: config.MAC{2, 0, 0, 0, 0, 9},
	Interfaces: map[string]config.Interface{"v-a": {Ifindex: 1, MTU: 1500}, "v-b": {Ifindex: 2, MTU: 1500}},
	Neighbours: map[netip.Addr]config.MAC{netip.MustParseAddr("10.0.0.2"): {2, 1}},
}

func staleRules(t *testing.T, more string) (config.Config, *config.Rules) {
	t.Helper()
	c, err := config.Parse(fmt.Appendf(nil, staleNode, more), "f")
	if err != nil {
		t.Fatal(err)
	}
	rules, err := c.Rules()
	if err != nil {
		t.Fatal(err)
	}
	return c, rules
}

func setBy(t *testing.T, m config.Image, rules *config.Rules, text string) config.Image {
	t.Helper()
	changes, err := config.ParseChanges([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	next, _, err := m.Change(rules, staleFacts, changes)
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// left is what a process leaves in its tables, when a client has set routes, with what it becomes.
func left(t *testing.T, more string) (before, adopted config.Image, rules *config.Rules) {
	t.Helper()
	c, old := staleRules(t, "")
	before, err := c.Image(staleFacts, config.Image{})
	if err != nil {
		t.Fatal(err)
	}
	before = setBy(t, before, old, set)
	_, rules = staleRules(t, more)
	return before, rules.Recognise(config.Read(before.Flat())), rules
}

// TestResume: routes that clients set outlive a restart, whatever way they have, and nothing of them is
// written again.
func TestResume(t *testing.T) {
	before, adopted, rules := left(t, "")
	c, _ := staleRules(t, "")
	next, err := c.Resume(staleFacts, adopted)
	if err != nil {
		t.Fatal(err)
	}
	if s := config.CompareRoutes(before, next); !s.Empty() || s.Counts.Same != 10 {
		t.Errorf("the routes are others: %+v", s)
	}
	if next.StaleCount() != 8 || next.RouteCount() != 10 {
		t.Errorf("%d of %d routes are stale", next.StaleCount(), next.RouteCount())
	}
	if plan := config.Diff(adopted, next); !plan.Empty() || len(plan.Retired) > 0 {
		t.Errorf("what is the same is written again: %+v", plan)
	}
	stale := func(m config.Image, prefix string) bool { return m.Stale(1, netip.MustParsePrefix(prefix)) }
	if !stale(next, "10.1.0.7/32") || stale(next, "10.1.9.0/24") || stale(next, "10.1.0.3/32") {
		t.Error("the wrong ones are stale")
	}
	// One is set again, one gets another way, one is taken away.
	then := setBy(t, next, rules, `[{"network":"n1","prefix":"10.1.0.7/32","via":{"tunnel":"10.0.0.2","encapsulation":"mplsoudp","label":31}},
		{"network":"n1","prefix":"10.1.4.0/22","via":{"network":"n2"}},{"network":"n1","prefix":"10.1.0.8/32","remove":true}]`)
	if then.StaleCount() != 5 || then.RouteCount() != 9 || stale(then, "10.1.0.7/32") || !stale(next, "10.1.0.7/32") {
		t.Errorf("after changes %d of %d routes are stale", then.StaleCount(), then.RouteCount())
	}
	then, err = then.Refresh(rules, staleFacts)
	if err != nil || then.StaleCount() != 5 || then.RouteCount() != 9 {
		t.Errorf("after a refresh %d of %d routes are stale: %v", then.StaleCount(), then.RouteCount(), err)
	}
	swept, _, err := then.Sweep(rules, staleFacts)
	if err != nil || swept.StaleCount() != 0 || swept.RouteCount() != 4 || then.StaleCount() != 5 {
		t.Errorf("after the sweep %d of %d routes are stale: %v", swept.StaleCount(), swept.RouteCount(), err)
	}
	if s := config.CompareRoutes(then, swept); s.Counts.Removed != 5 || s.Counts.Same != 4 {
		t.Errorf("the sweep: %+v", s.Counts)
	}
	// A process that takes over once more has what is stale, and what was set again.
	again, err := c.Resume(staleFacts, rules.Recognise(config.Read(then.Flat())))
	if err != nil || again.StaleCount() != 7 || again.RouteCount() != 9 {
		t.Errorf("after one more restart %d of %d routes are stale: %v", again.StaleCount(), again.RouteCount(), err)
	}
	// A configuration that is applied is the whole wish.
	applied, err := c.Image(staleFacts, again)
	if err != nil || applied.StaleCount() != 0 || applied.RouteCount() != 2 {
		t.Errorf("after apply %d of %d routes are stale: %v", applied.StaleCount(), applied.RouteCount(), err)
	}
}

// TestResumeOther: the configuration's routes and ports are before those of clients, and what could not be set now
// is not kept. Routes that only the earlier configuration had are gone.
func TestResumeOther(t *testing.T) {
	_, adopted, _ := left(t, "")
	c, _ := staleRules(t, "")
	via := c.Routes[0].Via
	via.Label = 99
	c.Routes = []config.Route{{Network: "n1", Prefix: netip.MustParsePrefix("10.1.0.8/32"), Via: via}}
	c.Ports[1].Network, c.Ports[1].Address = "n1", netip.MustParseAddr("10.1.0.7") // a route's, until now
	c.Networks[1].Subnet, c.Networks[1].Gateway = netip.MustParsePrefix("10.3.0.0/16"), netip.MustParseAddr("10.3.0.254")
	c.Networks[0].Subnet6, c.Networks[0].Gateway6, c.Ports[0].Address6 = netip.Prefix{}, netip.Addr{}, netip.Addr{}
	rules, err := c.Rules()
	if err != nil {
		t.Fatal(err)
	}
	next, err := c.Resume(staleFacts, rules.Recognise(adopted))
	if err != nil {
		t.Fatal(err)
	}
	// n1 has another subnet6, so it is another network: nothing of it is kept, and n2's neither.
	if next.StaleCount() != 0 || next.RouteCount() != 1 {
		t.Errorf("%d of %d routes are stale", next.StaleCount(), next.RouteCount())
	}
	c, _ = staleRules(t, "")
	c.Routes = []config.Route{{Network: "n1", Prefix: netip.MustParsePrefix("10.1.0.8/32"), Via: via}}
	c.Ports = append(c.Ports, config.Port{Name: "c", Interface: "v-c", Network: "n1", Address: netip.MustParseAddr("10.1.0.7"), MAC: config.MAC{2, 0, 0, 0, 1, 7}})
	c.Ports = c.Ports[1:] // without a, so its ways are gone
	if rules, err = c.Rules(); err != nil {
		t.Fatal(err)
	}
	if next, err = c.Resume(staleFacts, rules.Recognise(adopted)); err != nil {
		t.Fatal(err)
	}
	for prefix, kept := range map[string]bool{"10.1.0.7/32": false, "10.1.0.8/32": false, "10.1.0.9/32": false, "10.1.0.10/32": false,
		"10.1.4.0/22": true, "10.2.0.0/16": true, "fd00:1::8/128": true} {
		if next.Stale(1, netip.MustParsePrefix(prefix)) != kept {
			t.Errorf("%s: stale is %t", prefix, !kept)
		}
	}
	if route := next.Lookup(1, netip.MustParseAddr("10.1.0.8")); route.Label() != 99 || next.RouteCount() != 1+next.StaleCount() || next.StaleCount() != 4 {
		t.Errorf("the configuration's route has label %d; %d of %d are stale", route.Label(), next.StaleCount(), next.RouteCount())
	}
	if route := next.Lookup(1, netip.MustParseAddr("10.1.9.1")); route != 0 {
		t.Errorf("a route of the earlier configuration is there: %x", route)
	}
}

// TestResumeLimit: what was left is never more than there is room for.
func TestResumeLimit(t *testing.T) {
	_, adopted, _ := left(t, "")
	c, _ := staleRules(t, "")
	c.Limits.Routes = 5
	rules, err := c.Rules()
	if err != nil {
		t.Fatal(err)
	}
	next, err := c.Resume(staleFacts, rules.Recognise(adopted))
	if err != nil || next.StaleCount() != 3 || next.RouteCount() != 5 {
		t.Errorf("%d of %d routes are stale: %v", next.StaleCount(), next.RouteCount(), err)
	}
}

// TestResumeMillion: a million routes that clients set are taken over in seconds.
func TestResumeMillion(t *testing.T) {
	const count = 1_000_000
	c, _ := staleRules(t, `,"limits":{"routes":1000100}`)
	rules, err := c.Rules()
	if err != nil {
		t.Fatal(err)
	}
	image, err := c.Image(staleFacts, config.Image{})
	if err != nil {
		t.Fatal(err)
	}
	changes := make([]config.Change, count)
	for i := range changes {
		via := config.Via{Tunnel: netip.AddrFrom4([4]byte{10, 0, 1, byte(i % 100)}), Encapsulation: config.MPLSoUDP, Label: uint32(16 + i%1000)}
		host := netip.AddrFrom4([4]byte{50, byte(i >> 16), byte(i >> 8), byte(i)})
		changes[i] = config.Change{Network: "n1", Prefix: netip.PrefixFrom(host, 32), Via: &via}
	}
	if image, _, err = image.Change(rules, staleFacts, changes); err != nil {
		t.Fatal(err)
	}
	adopted := config.Read(image.Flat())
	begun := time.Now()
	next, err := c.Resume(staleFacts, rules.Recognise(adopted))
	took := time.Since(begun)
	if err != nil || next.StaleCount() != count {
		t.Fatalf("%d routes are stale: %v", next.StaleCount(), err)
	}
	begun = time.Now()
	swept, _, err := next.Sweep(rules, staleFacts)
	if err != nil || swept.RouteCount() != 2 {
		t.Fatalf("%d routes are left: %v", swept.RouteCount(), err)
	}
	t.Logf("taken over in %v, swept in %v", took.Round(time.Millisecond), time.Since(begun).Round(time.Millisecond))
	if took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}

// TestResumeDamaged: what no process of ours has written is not kept, and harms nothing.
func TestResumeDamaged(t *testing.T) {
	before, _, rules := left(t, "")
	tables := before.Flat()
	for slot := range uint32(core.MaxNexthops) {
		record := tables[config.TableNexthops][slot*core.SizeNexthop:][:core.SizeNexthop]
		if record[16] == core.NexthopTunnel {
			record[19] = 250 // bytes of the outer header
		}
	}
	c, _ := staleRules(t, "")
	next, err := c.Resume(staleFacts, rules.Recognise(config.Read(tables)))
	if err != nil && !errors.Is(err, config.ErrFull) {
		t.Fatal(err)
	}
	if next.StaleCount() != 2 { // by another network, and by a port
		t.Errorf("%d routes are stale", next.StaleCount())
	}
}

package config_test

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
)

var changeable = []string{"10.0.2.0/24", "10.0.2.128/25", "10.0.0.0/12", "10.0.2.9/32", "0.0.0.0/0", "10.0.2.8/30", "192.0.2.0/24"}

// drawChange makes a change of a small world's routes, and makes it in the configuration, too.
func drawChange(t *rapid.T, c *config.Config) config.Change {
	change := config.Change{
		Network: rapid.SampledFrom([]string{"net0", "net1"}).Draw(t, "network"),
		Prefix:  netip.MustParsePrefix(rapid.SampledFrom(changeable).Draw(t, "prefix")),
	}
	c.Routes = slices.DeleteFunc(slices.Clone(c.Routes), func(r config.Route) bool {
		return r.Network == change.Network && r.Prefix == change.Prefix
	})
	if change.Remove = rapid.Bool().Draw(t, "removed"); !change.Remove {
		remote := netip.AddrFrom4([4]byte{10, 99, 0, byte(rapid.IntRange(2, 6).Draw(t, "remote"))})
		change.Via = &config.Via{Tunnel: remote, Encapsulation: config.MPLSoUDP, Label: uint32(rapid.IntRange(16, 18).Draw(t, "label"))}
		c.Routes = append(c.Routes, config.Route{Network: change.Network, Prefix: change.Prefix, Via: *change.Via})
	}
	return change
}

// TestChange: tables that were changed route by route are those of the configuration with all of the
// changes in it, and on the way there no packet finds anything but the old or the new.
func TestChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, f := draw(t, "first")
		m, err := c.Image(f, config.Image{})
		if err != nil {
			t.Fatal(err)
		}
		rules, err := c.Rules()
		if err != nil {
			t.Fatal(err)
		}
		tables := m.Flat()
		for range rapid.IntRange(1, 5).Draw(t, "times") {
			changes := []config.Change{drawChange(t, &c)}
			for range rapid.IntRange(0, 3).Draw(t, "more changes at once") {
				changes = append(changes, drawChange(t, &c))
			}
			next, plan, err := m.Change(rules, f, changes)
			if err != nil {
				t.Fatal(err)
			}
			follow(t, tables, seen(m), seen(next), plan)
			m = next
			m.Release(plan.Retired)
		}
		sameAsWhole(t, m, c, f)
		_, other := draw(t, "another machine")
		other.FabricMAC[5] = byte(rapid.IntRange(1, 2).Draw(t, "the fabric's MAC"))
		refreshed, err := m.Refresh(rules, other)
		if err != nil {
			t.Fatal(err)
		}
		sameAsWhole(t, refreshed, c, other)
		follow(t, tables, seen(m), seen(refreshed), config.Diff(m, refreshed))
	})
}

// follow makes a plan's writes and looks between any two.
func follow(t *rapid.T, tables [config.TableCount][]byte, before, after map[string]string, plan config.Plan) {
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
}

func sameAsWhole(t *rapid.T, m config.Image, c config.Config, f config.Facts) {
	whole, err := c.Image(f, m) // gives what is the same the same slots
	if err != nil {
		t.Fatal(err)
	}
	whole.Discard()
	if fmt.Sprint(seen(m)) != fmt.Sprint(seen(whole)) {
		t.Fatalf("the changes led to\n%v\nnot\n%v", seen(m), seen(whole))
	}
	if m.RouteCount() != len(c.Routes) {
		t.Fatalf("%d routes are counted, not %d", m.RouteCount(), len(c.Routes))
	}
}

// imageAndRules are what a configuration becomes, and what its changes are checked by.
func imageAndRules(t *testing.T, c config.Config) (config.Image, *config.Rules) {
	t.Helper()
	m, err := c.Image(facts(), config.Image{})
	if err != nil {
		t.Fatal(err)
	}
	rules, err := c.Rules()
	if err != nil {
		t.Fatal(err)
	}
	return m, rules
}

// TestChangeRefused: what is wrong changes nothing, whatever stands before it.
func TestChangeRefused(t *testing.T) {
	c := parsed
	c.Limits.Routes = 2
	m, rules := imageAndRules(t, c)
	good := `{"network":"network1","prefix":"10.5.0.0/16","via":{"tunnel":"10.0.0.9","encapsulation":"mplsoudp","label":17}}`
	for text, want := range map[string]string{
		`{"network":"network1","prefix":"10.5.0.0/16"}`:                                                        `routes[1].via: a change has either`,
		strings.Replace(good, `}}`, `},"remove":true}`, 1):                                                     `routes[1].via: a change has either`,
		strings.Replace(good, `"network1"`, `"netwrok1"`, 1):                                                   `routes[1].network: there is no network "netwrok1"; did you mean "network1"?`,
		strings.Replace(good, `10.5.0.0/16`, `10.5.0.1/16`, 1):                                                 `routes[1].prefix: 10.5.0.1/16 has bits behind`,
		strings.Replace(good, `10.5.0.0/16`, `10.0.1.3/32`, 1):                                                 `routes[1].prefix: 10.0.1.3/32 is port "sender"`,
		strings.Replace(good, `10.5.0.0/16`, `10.0.1.254/32`, 1):                                               `routes[1].prefix: 10.0.1.254/32 is the gateway`,
		`{"network":"network1","prefix":"10.0.1.3/32","remove":true}`:                                          `routes[1].prefix: 10.0.1.3/32 is port "sender"`,
		strings.Replace(good, `10.0.0.9`, `10.0.0.1`, 1):                                                       `routes[1].via.tunnel: 10.0.0.1 is this node`,
		strings.Replace(good, `"mplsoudp","label":17`, `"none"`, 1):                                            `routes[1].via.encapsulation: network1 is not reached without`,
		strings.Replace(good, `"via"`, `"viaa"`, 1):                                                            `unknown field "viaa"`,
		good + `,` + strings.Replace(good, `10.5`, `10.6`, 1) + `,` + strings.Replace(good, `10.5`, `10.7`, 1): `4 routes are more than the limit of 2; raise limits.routes`,
	} {
		changes, err := config.ParseChanges([]byte(`[` + strings.Replace(good, `10.5.0.0/16`, `10.0.1.4/32`, 1) + `,` + text + `]`))
		if err == nil {
			_, _, err = m.Change(rules, facts(), changes)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v\nwant %s", text, err, want)
		}
		if full := strings.Contains(want, "limit"); full != errors.Is(err, config.ErrFull) {
			t.Errorf("%s: full is not %t", text, full)
		}
	}
	if r := m.Lookup(1, netip.MustParseAddr("10.0.1.4")); m.Nexthops[r.Ref()].Dmac == 0 || m.RouteCount() != 1 || len(m.Nexthops) != 3 {
		t.Errorf("the route is %x, and there are %d routes, %d nexthops", uint64(r), m.RouteCount(), len(m.Nexthops))
	}
	if r := m.Lookup(core.FabricVRF, netip.MustParseAddr("10.0.1.4")); r != 0 {
		t.Errorf("the fabric has a route: %x", uint64(r))
	}
}

// TestWaysFull: nexthops that no route has any more take room until the image is made anew.
func TestWaysFull(t *testing.T) {
	m, rules := imageAndRules(t, parsed)
	elsewhere := func(i int) config.Change {
		return config.Change{Network: "network1", Prefix: netip.MustParsePrefix("10.5.0.0/16"), Via: &config.Via{
			Tunnel: netip.AddrFrom4([4]byte{10, 99, byte(i >> 8), byte(i)}), Encapsulation: config.MPLSoUDP, Label: 17,
		}}
	}
	for i := range core.MaxNexthops + 10 {
		next, plan, err := m.Change(rules, facts(), []config.Change{elsewhere(i)})
		if errors.Is(err, config.ErrFull) {
			if m, err = m.Refresh(rules, facts()); err != nil || len(m.Nexthops) != 4 {
				t.Fatalf("%d nexthops are left: %v", len(m.Nexthops), err)
			}
			next, plan, err = m.Change(rules, facts(), []config.Change{elsewhere(i)})
		}
		if err != nil {
			t.Fatalf("change %d: %v", i, err)
		}
		m = next
		m.Release(plan.Retired)
	}
}

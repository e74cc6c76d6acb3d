package config_test

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"windtunnel/vrouter/config"
)

// FuzzChanges: no list of changes makes the parser fail other than by an error, and what a running
// vRouter takes of it leads to the tables of a valid configuration that has the changes in it.
func FuzzChanges(f *testing.F) {
	for _, text := range []string{
		`[]`, `[[[[`, `[{"network":"network1","prefix":"10.0.1.4/32","remove":true}]`,
		`[{"network":"network1","prefix":"10.0.2.0/24","via":{"tunnel":"10.0.0.3","encapsulation":"mplsogre","label":17}},
		  {"network":"network1","prefix":"10.0.0.0/8","via":{"tunnel":"10.0.0.2","encapsulation":"vxlan","vni":5001,"mac":"02:00:00:00:00:09"}}]`,
		`[{"network":"network1","prefix":"10.0.1.4/32","via":{"tunnel":"10.0.0.2","encapsulation":"none"}}]`,
		`[{"network":"network1","prefix":"0.0.0.0/0","via":{"tunnel":"10.0.0.2","encapsulation":"mplsoudp","label":16}},
		  {"network":"network1","prefix":"0.0.0.0/0","remove":true}] x`,
		`[{"network":"network1","prefix":"10.0.1.9/32","via":{"ecmp":[{"port":"sender"},{"tunnel":"10.0.0.2","encapsulation":"mplsogre","label":17}]}},
		  {"network":"network1","prefix":"10.0.1.8/32","via":{"port":"sender"}},{"network":"network1","prefix":"10.0.2.0/24","via":{"network":"network2"}}]`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		changes, err := config.ParseChanges([]byte(text))
		if err != nil {
			return
		}
		c := parsed
		m, rules := imageAndRules(t, c)
		next, _, err := m.Change(rules, facts(), changes)
		if err != nil {
			return
		}
		for _, change := range changes {
			c.Routes = changed(c.Routes, change)
		}
		if err := c.Validate(); err != nil {
			t.Fatalf("%s was taken as a change, but not in a configuration: %v", text, err)
		}
		whole, err := c.Image(facts(), next)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := fmt.Sprint(seen(next)), fmt.Sprint(seen(whole)); got != want {
			t.Errorf("the changes led to\n%s\nnot\n%s", got, want)
		}
		for _, change := range changes { // which may be far from where seen looks
			at := change.Prefix.Addr()
			if got, want := found(next, at), found(whole, at); got != want {
				t.Errorf("the way to %s is %s, not %s", at, got, want)
			}
		}
		if next.RouteCount() != len(c.Routes) {
			t.Errorf("%d routes are counted, not %d", next.RouteCount(), len(c.Routes))
		}
	})
}

// found is the way to an address of the only network.
func found(m config.Image, to netip.Addr) string {
	r := m.Lookup(1, to)
	return fmt.Sprintf("label %d, /%d, %+v", r.Label(), r.PrefixBits(), m.Nexthops[r.Ref()])
}

// changed is the routes with a change made in them.
func changed(routes []config.Route, change config.Change) []config.Route {
	routes = slices.DeleteFunc(slices.Clone(routes), func(r config.Route) bool {
		return r.Network == change.Network && r.Prefix == change.Prefix
	})
	if change.Remove {
		return routes
	}
	return append(routes, config.Route{Network: change.Network, Prefix: change.Prefix, Via: *change.Via})
}

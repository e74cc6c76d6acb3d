package config_test

import (
	"net/netip"
	"testing"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
)

// TestPeers: the far ends of ways over IPv6, and what the configuration names, are known; others not. A
// change of a route makes its far end known, and an image that is made anew forgets what no route has.
func TestPeers(t *testing.T) {
	c := parsed
	c.Fabric.Address6 = netip.MustParseAddr("fd00:f::1")
	c.Fabric.Peers = []netip.Prefix{netip.MustParsePrefix("fd00:5::/48")}
	over := func(far, prefix string) config.Route {
		via := config.Via{Tunnel: netip.MustParseAddr(far), Encapsulation: config.MPLSoUDP, Label: 17}
		return config.Route{Network: "network1", Prefix: netip.MustParsePrefix(prefix), Via: via}
	}
	c.Routes = []config.Route{over("fd00:f::2", "10.2.0.0/16"), over("10.0.0.2", "10.3.0.0/16")}
	m, err := c.Image(facts(), config.Image{})
	if err != nil {
		t.Fatal(err)
	}
	known := func(when string, m config.Image, want ...string) {
		t.Helper()
		var got int
		for _, a := range []string{"fd00:f::1", "fd00:f::2", "fd00:f::3", "fd00:5::1", "fd00:6::1", "10.0.0.2"} {
			if m.Lookup(core.PeersVRF, netip.MustParseAddr(a)) != 0 {
				got++
			}
		}
		for _, a := range want {
			if m.Lookup(core.PeersVRF, netip.MustParseAddr(a)) == 0 {
				t.Errorf("%s: %s is not known", when, a)
			}
		}
		if got != len(want) {
			t.Errorf("%s: %d are known, not %q alone", when, got, want)
		}
	}
	known("at first", m, "fd00:f::2", "fd00:5::1")
	rules, err := c.Rules()
	if err != nil {
		t.Fatal(err)
	}
	other := over("fd00:f::3", "10.3.0.0/16").Via
	changes := []config.Change{
		{Network: "network1", Prefix: netip.MustParsePrefix("10.2.0.0/16"), Remove: true},
		{Network: "network1", Prefix: netip.MustParsePrefix("10.3.0.0/16"), Via: &other},
	}
	m, plan, err := m.Change(rules, facts(), changes)
	if err != nil {
		t.Fatal(err)
	}
	m.Release(plan.Retired)
	known("after a change", m, "fd00:f::2", "fd00:f::3", "fd00:5::1")
	if m, err = m.Refresh(rules, facts()); err != nil {
		t.Fatal(err)
	}
	known("made anew", m, "fd00:f::3", "fd00:5::1")
}

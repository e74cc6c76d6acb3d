package control

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
)

const several = `{"format":1,"name":"D-a",
 "fabric":{"interface":"wire0","address":"10.0.0.1"},
 "networks":[{"name":"network1","subnet":"10.0.1.0/24","gateway":"10.0.1.254","label":40},{"name":"network2","subnet":"10.0.2.0/24","gateway":"10.0.2.254"}],
 "ports":[{"name":"sender","interface":"v-sender","network":"network1","address":"10.0.1.3","mac":"02:00:00:00:01:03","label":16}],
 "routes":[{"network":"network1","prefix":"10.0.1.9/32","via":{"ecmp":[{"tunnel":"10.0.0.2","encapsulation":"mplsoudp","label":17},{"port":"sender"},{"tunnel":"10.0.0.9","encapsulation":"mplsoudp","label":18}]}},
           {"network":"network2","prefix":"10.0.1.0/24","via":{"network":"network1"}}]}`

// TestGroups: what the tools show of nexthops that lead on.
func TestGroups(t *testing.T) {
	c, err := config.Parse([]byte(several), "")
	if err != nil {
		t.Fatal(err)
	}
	a := &Agent{}
	w := wishOf(t, a, c)
	a.config, a.facts, a.image = w.config, w.facts, w.image
	var group, translate Nexthop
	for _, n := range a.Nexthops() {
		switch {
		case n.Type == "ecmp":
			group = n
		case n.Network == "network1":
			translate = n
		}
	}
	if translate.Type != "vrf-translate" || !strings.HasSuffix(translate.says(), ": vrf-translate to network1") {
		t.Errorf("%+v: %s", translate, translate.says())
	}
	var shares []float64
	for _, m := range group.Members {
		shares = append(shares, m.Share)
	}
	slices.Sort(shares)
	if len(shares) != 3 || shares[0] != 0 || shares[1] < 0.45 || shares[1]+shares[2] != 1 || !group.Resolved || !strings.HasSuffix(group.says(), ": ecmp over 3 ways") {
		t.Errorf("%+v: %s", group, group.says())
	}
	if groups, avoided := a.view().groups(); groups != 1 || avoided != 1 {
		t.Errorf("%d groups, %d ways avoided", groups, avoided)
	}
	rules, err := c.Rules()
	if err != nil {
		t.Fatal(err)
	}
	without, _, err := a.image.Change(rules, a.facts, []config.Change{{Network: "network1", Prefix: netip.MustParsePrefix("10.0.1.9/32"), Remove: true}})
	if err != nil {
		t.Fatal(err)
	}
	if groups, avoided := (view{c, without}).groups(); groups != 0 || avoided != 0 {
		t.Errorf("without a route to them, %d groups are counted, %d ways avoided", groups, avoided)
	}
	if labels := a.Labels(); !slices.Contains(labels, Label{Label: 40, Nexthop: translate.Nexthop, Network: "network1"}) || len(labels) != 2 {
		t.Errorf("labels: %+v", labels)
	}
	if m := (Member{Nexthop: 5, Label: 17, Share: 0.489}); m.Text() != "5 label 17 49%" {
		t.Errorf("a member is shown as %q", m.Text())
	}
	a.tellsWays(t)
}

// tellsWays: a trace names the network that the look-up goes on in, and the way that was chosen.
func (a *Agent) tellsWays(t *testing.T) {
	t.Helper()
	service := netip.MustParseAddr("10.0.1.9")
	leak, route := a.image.Lookup(2, service), a.image.Lookup(1, service)
	g := a.image.Groups[a.image.Nexthops[route.Ref()].Vif]
	to17 := slices.IndexFunc(g.Members[:], func(w uint64) bool { return core.Route(w).Label() == 17 })
	reply := a.explain(core.Trace{Ifindex: 2, Fabric: true, Steps: []core.Step{
		{Step: core.StepLabel, A: 40}, {Step: core.StepRoute, A: uint64(leak), B: 0x0a000109}, {Step: core.StepTranslate, A: 1},
		{Step: core.StepRoute, A: uint64(route), B: 0x0a000109}, {Step: core.StepQuoted}, {Step: core.StepMember, A: g.Members[to17], B: 7},
	}})
	var says []string
	for _, s := range reply.Steps {
		says = append(says, s.Step+" "+strings.TrimLeft(s.Says, "0123456789: "))
	}
	want := []string{
		"label is a label of this node", "nexthop vrf-translate to network1",
		"route .0.1.9 matches 10.0.1.0/24 in network1", "nexthop vrf-translate to network1",
		"route .0.1.9 matches 10.0.1.9/32 in network1", "nexthop ecmp over 3 ways",
		"quoted an ICMP error: it has the way of the flow that it is about",
		"member bucket 7 of 1024 leads to one of the ways",
		"nexthop tunnel to 10.0.0.2 as mplsoudp by wire0, MAC 02:00:00:00:00:02", "label is pushed",
	}
	if diff := cmp.Diff(want, says); diff != "" {
		t.Error(diff)
	}
}

package control

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
)

const node = `{"format":1,"name":"D-a",
 "fabric":{"interface":"wire0","address":"10.0.0.1"},
 "networks":[{"name":"network1","subnet":"10.0.1.0/24","gateway":"10.0.1.254"}],
 "ports":[{"name":"sender","interface":"v-sender","network":"network1","address":"10.0.1.3","mac":"02:00:00:00:01:03","label":16}],
 "routes":[{"network":"network1","prefix":"10.0.1.4/32","via":{"tunnel":"10.0.0.2","encapsulation":"mplsoudp","label":17}}]}`

// onPaper is an agent that has tables, and no kernel that they are in.
func onPaper(t *testing.T) *Agent {
	t.Helper()
	c, err := config.Parse([]byte(node), "")
	if err != nil {
		t.Fatal(err)
	}
	a := &Agent{past: make(map[string]Account)}
	w := wishOf(t, a, c)
	a.config, a.facts, a.image = w.config, w.facts, w.image
	return a
}

// wishOf is a configuration on a machine that has every interface, and knows one neighbour.
func wishOf(t *testing.T, a *Agent, c config.Config) wish {
	t.Helper()
	facts := config.Facts{
		FabricIfindex: 2, FabricMTU: 1500, Interfaces: make(map[string]config.Interface),
		Neighbours: map[netip.Addr]config.MAC{netip.MustParseAddr("10.0.0.2"): {2, 0, 0, 0, 0, 2}},
	}
	for i, p := range c.Ports {
		facts.Interfaces[p.Interface] = config.Interface{Ifindex: uint32(3 + i), MTU: 1500, Peer: true}
	}
	image, err := c.Image(facts, a.image)
	if err != nil {
		t.Fatal(err)
	}
	return wish{c, facts, image, config.Diff(a.image, image)}
}

func TestExplain(t *testing.T) {
	a := onPaper(t)
	route := uint64(a.image.Lookup(1, netip.MustParseAddr("10.0.1.4")))
	vif := core.Step{Step: core.StepVif, A: 1, B: 3}
	cases := []struct {
		name   string
		trace  core.Trace
		result string
		steps  []string
	}{
		{"into a tunnel", core.Trace{Ifindex: 3, TookOver: true, Steps: []core.Step{
			vif, {Step: core.StepRoute, A: route, B: 0x0a000104}, {Step: core.StepFits, A: 100, B: 1468},
			{Step: core.StepVerdict, A: uint64(slices.Index(core.OperationNames[:], "tunnel"))}, {Step: core.StepLeave, A: 2},
		}}, "tunnel", []string{
			"port sender: vif 1, v-sender of network1", "10.0.1.4 matches 10.0.1.4/32 in network1",
			"3: tunnel to 10.0.0.2 as mplsoudp by wire0, MAC 02:00:00:00:00:02", "17 is pushed", "100 bytes fit the way's MTU, 1468",
			"it gets the tunnel's headers", "by the fabric wire0",
		}},
		{"lost once", core.Trace{Ifindex: 3, Steps: []core.Step{
			vif, {Step: core.StepVerdict, A: 0, B: core.DropNoRoute}, {Step: core.StepLoss, A: core.DropNoRoute},
		}}, "drop", []string{"port sender: vif 1, v-sender of network1", "no_route: " + core.DropReasons[core.DropNoRoute].Says}},
		{"out of a tunnel", core.Trace{Ifindex: 2, Fabric: true, TookOver: true, Steps: []core.Step{
			{Step: core.StepOuter, A: 0x0a000002}, {Step: core.StepLabel, A: 16}, {Step: core.StepECN, A: 3, B: 2},
			{Step: core.StepVerdict, A: uint64(slices.Index(core.OperationNames[:], "decap"))}, {Step: core.StepLeave, A: 3, B: 1},
		}}, "decap", []string{
			"from 10.0.0.2", "16 is a label of this node", "2: encap by sender, MAC 02:00:00:00:01:03",
			"the outer header has 3, the inner 2 (RFC 6040)", "the tunnel's headers are taken off", "to port sender, straight into its namespace",
		}},
		{"in flow mode", core.Trace{Ifindex: 3, TookOver: true, Steps: []core.Step{
			{Step: core.StepFlow, A: 1}, {Step: core.StepFlow, A: 1, B: 1}, {Step: core.StepFlow, A: 1, B: 2}, {Step: core.StepFlow, A: 1, B: 3},
			{Step: core.StepVerdict, A: uint64(slices.Index(core.OperationNames[:], "encap"))}, {Step: core.StepLeave, A: 3, B: 1},
		}}, "encap", []string{
			"port sender: a flow that is known", "port sender: its policy lets a new flow begin", "port sender: it is no IP, and its policy allows what no rule is about",
			"port sender: ARP and neighbour discovery pass without it being asked", "it gets a new Ethernet header",
			"to port sender, straight into its namespace",
		}},
		{"not ours", core.Trace{Ifindex: 2, Fabric: true, Steps: []core.Step{
			{Step: core.StepVerdict, A: 1}, {Step: core.StepPass},
		}}, "pass", []string{"not for a port of this node: the host's stack has it"}},
		{"of another version", core.Trace{Ifindex: 9, Steps: []core.Step{{Step: 999, A: 1, B: 2}, {Step: core.StepVerdict, A: 99}, {Step: core.StepLoss, A: 999}}},
			"operation 99", []string{"999: 1, 2", ""}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			reply := a.explain(c.trace)
			var steps []string
			for _, s := range reply.Steps {
				steps = append(steps, s.Says)
			}
			if diff := cmp.Diff(c.steps, steps); diff != "" || reply.Result != c.result {
				t.Errorf("%s: %s", reply.Result, diff)
			}
			if (reply.Out != nil) != c.trace.TookOver {
				t.Errorf("out is %+v", reply.Out)
			}
		})
	}
}

// TestEffects: what somebody notices of a change is told, and no more.
func TestEffects(t *testing.T) {
	a := onPaper(t)
	c := a.config
	if got := a.changesTo(wishOf(t, a, c)); got.Changed || len(got.Effects) != 0 {
		t.Errorf("nothing: %+v", got)
	}
	c.Routes = slices.Clone(c.Routes)
	c.Routes[0].Via.Label = 18
	if got := a.changesTo(wishOf(t, a, c)); got.Routes.Counts.Changed != 1 || len(got.Effects) != 0 || got.Tables.Switched == 0 {
		t.Errorf("another label: %+v", got)
	}
	c.Routes[0].Via.Tunnel = netip.MustParseAddr("10.0.0.9")
	c.Ports = slices.Clone(c.Ports)
	c.Ports[0].Address = netip.MustParseAddr("10.0.1.33")
	want := []string{
		"port sender: its counters begin anew",
		"tunnel to 10.0.0.9: its MAC is not known yet; packets to it are dropped as unresolved until it answers ARP",
	}
	if diff := cmp.Diff(want, a.changesTo(wishOf(t, a, c)).Effects); diff != "" {
		t.Error(diff)
	}
	c.Ports, c.Routes = nil, nil
	want = []string{
		"port sender: packets from and to it are dropped from then on",
		"route network1 10.0.1.4/32: packets to it follow a shorter prefix, or are dropped as no_route",
	}
	if diff := cmp.Diff(want, a.changesTo(wishOf(t, a, c)).Effects); diff != "" {
		t.Error(diff)
	}
}

// TestScope: names that are not there are refused, with the nearest that is.
func TestScope(t *testing.T) {
	v := onPaper(t).view()
	for scope, want := range map[Scope]string{
		{}: "", {Network: "network1"}: "", {Port: "sender"}: "",
		{Network: "netwrok1"}: `there is no network "netwrok1"; did you mean "network1"?`,
		{Port: "sendr"}:       `there is no port "sendr"; did you mean "sender"?`,
	} {
		got := ""
		if err := v.check(scope); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%+v: %q, not %q", scope, got, want)
		}
	}
}

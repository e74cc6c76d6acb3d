package run

import (
	"strings"
	"testing"
	"time"

	"windtunnel/result"
	"windtunnel/scenario"
	"windtunnel/testbed"
)

// On two CPUs a node has one, over which no work can be spread: those cells have a doubt and no number, and the
// rest is a table within ten minutes.
func TestSpreadNeedsCPUs(t *testing.T) {
	p := planned(t, "converged-jumbo", small, Settings{Budget: 10 * time.Minute})
	for _, cell := range p.Cells {
		r := cell.Record
		spreads := !strings.Contains(r.Name, "-none-") && !strings.HasPrefix(r.Name, "lso-") && !strings.HasPrefix(r.Name, "requests-") && !strings.HasPrefix(r.Name, "team-") && !strings.HasPrefix(r.Name, "bond-")
		if spreads != strings.Contains(r.Skipped, "spreading work needs 2 CPUs a node") || !spreads && r.Skipped != "" {
			t.Errorf("%s: %q", r.Name, r.Skipped)
		}
	}
	if n := len(p.Runnable()); n != 20 || p.Times.BlocksPlanned < p.Times.MinimumBlocks {
		t.Errorf("%d cells, %+v", n, p.Times)
	}
	var kinds []string
	for _, d := range p.Doubts {
		kinds = append(kinds, d.Kind)
	}
	if got := strings.Join(kinds, " "); got != "queues spread" {
		t.Error(got)
	}
	for _, h := range p.Hypotheses {
		if (h.ID == "jumbo-helps" || h.ID == "fewer-cycles") != (h.NotMeasured == "") {
			t.Errorf("%s: %q", h.ID, h.NotMeasured)
		}
	}
	wide := planned(t, "converged-jumbo", large, Settings{Budget: 10 * time.Minute})
	if len(wide.Runnable()) != len(wide.Cells) || len(wide.Doubts) > 0 || wide.Times.BlocksPlanned < wide.Times.MinimumBlocks {
		t.Errorf("%d of %d cells, %v, %+v", len(wide.Runnable()), len(wide.Cells), wide.Doubts, wide.Times)
	}
}

// A bond needs a kernel that has bonds, and the same team by a route does not.
func TestBondsNeedBonding(t *testing.T) {
	without := small
	without.Missing = map[string]string{"bonding": "operation not supported"}
	for _, cell := range planned(t, "converged-jumbo", without, Settings{}).Cells {
		r := cell.Record
		if bond := strings.HasPrefix(r.Name, "bond-"); bond != strings.Contains(r.Skipped, "needs bonding: operation not supported") {
			t.Errorf("%s: %q", r.Name, r.Skipped)
		}
	}
}

// A team that is not told how is what the nodes' kernels have, and its record says what that was: another cell to who compares runs.
func TestATeamIsWhatKernelsHave(t *testing.T) {
	const text = `
suite: teams
nodes: {a: {}, b: {}}
traffic: {kind: stream}
cells:
  team: {path: {kind: team}, pairs: [{from: {container: s, on: a}, to: {container: r, on: b}}]}
`
	spec, err := scenario.Parse([]byte(text), "teams.yaml", Vocabulary())
	if err != nil {
		t.Fatal(err)
	}
	for by, missing := range map[string]map[string]string{"bond": nil, "route": {testbed.FeatureBonding: "operation not supported"}} {
		host := small
		host.Missing = missing
		p, err := MakePlan(spec, host, Settings{Budget: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		var said strings.Builder
		if err := Describe(&said, p); err != nil {
			t.Fatal(err)
		}
		if r := p.Cells[0].Record; r.Skipped != "" || r.PathOptions.Text("by") != by || !strings.Contains(said.String(), "its links are joined by a "+by) {
			t.Errorf("%v: %q\n%s", r.PathOptions, r.Skipped, said.String())
		}
		if fell := strings.Contains(said.String(), "doubt: a route over its links joins them, and not a bond (operation not supported)"); fell != (by == "route") {
			t.Errorf("%s: %s", by, said.String())
		}
	}
	b := twoHosts()
	for node, why := range map[string]string{"a": "", "b": "no"} {
		h := b.Nodes[node]
		h.Missing = map[string]string{testbed.FeatureBonding: why}
		b.Nodes[node] = h
	}
	if why := b.missing([]result.RunNode{{Name: "a"}, {Name: "b"}})[testbed.FeatureBonding]; why != "node b: no" {
		t.Errorf("%q", why)
	}
}

// A receive queue by destination is a program at tc.
func TestQueuesNeedTCX(t *testing.T) {
	old := small
	old.Missing = map[string]string{"tcx": "this is Linux 6.1"}
	for _, cell := range planned(t, "converged-jumbo", old, Settings{}).Cells {
		if r := cell.Record; r.Queueing != nil && r.Queueing.VMQ && r.Skipped == "" {
			t.Errorf("%s is measured without tcx", r.Name)
		}
	}
}

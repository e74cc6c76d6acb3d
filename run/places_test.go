package run

import (
	"strings"
	"testing"
	"time"

	"windtunnel/agent/proto"
	"windtunnel/scenario"
)

// placesSuite has three places, of which two are on one machine.
const placesSuite = `
suite: mine
nodes: {a: {exec: [one]}, b: {exec: [two]}, c: {exec: [three], address: "192.0.2.1:5201"}}
traffic: {kind: stream}
path: existing
cells:
  near: {pairs: [{from: a, to: b}]}
  far: {pairs: [{from: b, to: c}]}
  many: {requires: {cpus: 4}, pairs: [{from: a, to: b}]}
`

func placesPlan(t *testing.T, suite string) Plan {
	t.Helper()
	spec, err := scenario.Parse([]byte(suite), "s.yaml", Vocabulary())
	if err != nil {
		t.Fatal(err)
	}
	p, err := MakePlan(spec, small, Settings{Budget: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func address(device, prefix string, mtu int) proto.Address {
	return proto.Address{Device: device, Prefix: prefix, MTU: mtu}
}

func TestPlacesAreMet(t *testing.T) {
	p := placesPlan(t, placesSuite)
	if p.Builds() {
		t.Error("something would be built")
	}
	told := map[string]*proto.Place{
		"a": {Machine: "m", Stack: "1", CPUs: []int{0, 1}, Addresses: []proto.Address{address("docker0", "172.17.0.1/16", 1500), address("eth0", "10.0.0.1/24", 1450)}},
		"b": {Machine: "m", Stack: "2", CPUs: []int{0, 1}, Addresses: []proto.Address{address("docker0", "172.17.0.1/16", 1500), address("eth1", "10.0.9.2/24", 1500), address("eth0", "10.0.0.2/24", 1500)}},
		"c": {Machine: "n", Stack: "3", CPUs: []int{0}},
	}
	if err := p.Meet(told); err != nil {
		t.Fatal(err)
	}
	near := p.Cells[0]
	if near.Laid.ByPair[0] != "10.0.0.2" || near.Record.MTU.Endpoint != 1450 || near.Record.Skipped != "" {
		t.Errorf("near: %v %+v %s", near.Laid.ByPair, near.Record.MTU, near.Record.Skipped)
	}
	if nodes := near.Laid.Graph.Nodes; nodes[0].Devices[0] != "eth0" || nodes[1].Devices[0] != "eth0" {
		t.Errorf("near: %+v", nodes)
	}
	far := p.Cells[1]
	if listen, connect := far.Laid.Listen(far.Record.Pairs[0], 0, false), far.Laid.Connect(0, false, "x"); listen != "0.0.0.0:5201" || connect != "192.0.2.1:5201" {
		t.Errorf("far: %s, %s", listen, connect)
	}
	if says := p.Cells[2].Record.Skipped; !strings.Contains(says, "needs 4 CPUs") {
		t.Errorf("many: %q", says)
	}
	if !p.Nodes[0].Shared || !p.Nodes[1].Shared || p.Nodes[2].Shared {
		t.Errorf("%+v", p.Nodes)
	}
}

// TestWhatPlacesMayTell: an agent elsewhere may be anybody's.
func TestWhatPlacesMayTell(t *testing.T) {
	good := func() *proto.Place {
		return &proto.Place{CPUs: []int{0}, Addresses: []proto.Address{address("e", "10.0.0.1/24", 1500)}}
	}
	for name, c := range map[string]struct {
		b    *proto.Place
		says string
	}{
		"nothing":     {nil, "tells nothing"},
		"no CPUs":     {&proto.Place{}, "0 CPUs"},
		"many CPUs":   {&proto.Place{CPUs: make([]int, mostCPUs+1)}, "CPUs"},
		"CPU -1":      {&proto.Place{CPUs: []int{-1}}, "CPUs"},
		"bad address": {&proto.Place{CPUs: []int{0}, Addresses: []proto.Address{address("e", "\x1b[2J", 1500)}}, `\x1b`},
		"bad MTU":     {&proto.Place{CPUs: []int{0}, Addresses: []proto.Address{address("e", "10.0.0.1/24", -1)}}, "MTU -1"},
	} {
		p := placesPlan(t, placesSuite)
		if err := p.Meet(map[string]*proto.Place{"a": good(), "b": c.b, "c": good()}); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	p := placesPlan(t, placesSuite)
	if err := p.Meet(map[string]*proto.Place{"a": good(), "b": good(), "c": good()}); err != nil {
		t.Fatal(err)
	}
	if says := p.Cells[0].Record.Skipped; !strings.Contains(says, "no address that others could reach") {
		t.Errorf("b has a's address only, and: %q", says)
	}
}

func TestPathsAndPlacesRefused(t *testing.T) {
	for suite, says := range map[string]string{
		strings.Replace(placesSuite, "path: existing", "path: wire", 1):                             "runs already, and nothing is built there",
		strings.Replace(placesSuite, "a: {exec: [one]}", "a: {}", 1):                                "does not run yet",
		strings.Replace(placesSuite, "path: existing", "path: existing\nsegmentation: off", 1):      "not ours",
		strings.Replace(placesSuite, "kind: stream", "kind: frame", 1):                              "raw frames",
		strings.Replace(placesSuite, "{from: a, to: b}", "{from: a, to: {container: x, on: b}}", 1): "cannot reach the container x",
	} {
		spec, err := scenario.Parse([]byte(suite), "s.yaml", Vocabulary())
		if err == nil {
			_, err = MakePlan(spec, small, Settings{Budget: time.Minute})
		}
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("want %s: %v", says, err)
		}
	}
}

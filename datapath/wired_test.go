package datapath

import (
	"slices"
	"strings"
	"testing"

	"windtunnel/result"
	"windtunnel/testbed"
)

func laidWire(r Request) (Laid, error) {
	l, err := Begin("test", r)
	if err != nil {
		return Laid{}, err
	}
	if err := l.Wire(l.OnUnderlay); err != nil {
		return Laid{}, err
	}
	return l.Finish(1500)
}

func TestWireAsAsked(t *testing.T) {
	r := testRequest(WireNIC, 3)
	r.Wire.GRO, r.Wire.Steer, r.Wire.BitsPerSecond, r.Wire.Loss = "off", "sender", 1e9, 0.01
	laid, err := laidWire(r)
	if err != nil {
		t.Fatal(err)
	}
	if want := (result.WireSettings{BitsPerSecond: 1e9, Loss: 0.01, GRO: "off", Steer: "sender"}); laid.Wired == nil || *laid.Wired != want {
		t.Errorf("settings %+v", laid.Wired)
	}
	for i, end := range laid.Graph.Links[0].Ends {
		other := laid.Graph.Nodes[1-i]
		if end.BitsPerSecond != 1e9 || end.Loss != 0.01 || end.Offloads[testbed.GROJoins] || !end.Offloads[testbed.GRO] || !end.Threaded() || !slices.Equal(end.CPUs, other.CPUs) {
			t.Errorf("end %+v, and the other's CPUs are %v", end, other.CPUs)
		}
	}
	if laid, err := laidWire(testRequest(WireNIC, 3)); err != nil || laid.Wired != nil {
		t.Errorf("nothing was asked: %+v, %v", laid.Wired, err)
	}
}

func TestWireThatCannotBeAsAsked(t *testing.T) {
	for says, change := range map[string]func(*Request){
		"packets that a NIC's receiver joins": func(r *Request) { r.Wire.Kind, r.Wire.GRO = WireMemory, "off" },
		"without `segmentation: off`":         func(r *Request) { r.Segmentation, r.Wire.GRO = SegmentationOff, "on" },
	} {
		r := testRequest(WireNIC, 3)
		change(&r)
		if _, err := laidWire(r); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %s", err, says)
		}
	}
	l, err := Begin("test", Request{Cell: "X", Nodes: []testbed.Node{{Name: "a"}}, Wire: Wire{Kind: WireNIC, MTU: 1500, Loss: 0.5},
		Pairs: []result.Pair{{From: result.Place{Node: "a"}, To: result.Place{Node: "a"}}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Finish(1500); err == nil || !strings.Contains(err.Error(), "its ends are on one node") {
		t.Errorf("a node without a wire: %v", err)
	}
}

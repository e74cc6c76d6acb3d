package datapath

import (
	"net/netip"
	"strings"
	"testing"

	"windtunnel/result"
	"windtunnel/testbed"
)

func TestHostDevice(t *testing.T) {
	for container, want := range map[string]string{
		"sender":        "v-sender",
		"thirteen-byte": "v-thirteen-byte",
	} {
		if got := HostDevice(container); got != want {
			t.Errorf("%s: %s, want %s", container, got, want)
		}
	}
	one, other := HostDevice("a-very-long-container-1"), HostDevice("a-very-long-container-2")
	if one == other || len(one) > 15 || len(other) > 15 || !strings.HasPrefix(one, "v-a-very") {
		t.Errorf("%s and %s", one, other)
	}
}

func TestMAC(t *testing.T) {
	if got := MAC(1, netip.MustParseAddr("172.16.0.21")); got != "02:01:ac:10:00:15" {
		t.Error(got)
	}
}

func testRequest(kind string, cpus ...int) Request {
	nodes := []testbed.Node{{Name: "a", CPUs: []int{0, 1, 2}}, {Name: "b", CPUs: cpus}}
	return Request{
		Cell: "X", Nodes: nodes, Wire: Wire{Kind: kind, MTU: 1500},
		Pairs: []result.Pair{{From: result.Place{Node: "b"}, To: result.Place{Node: "a"}}},
	}
}

func TestWireQueues(t *testing.T) {
	for _, c := range []struct {
		cpus        []int
		asked, want int
	}{
		{[]int{3}, 0, 1}, {[]int{3, 4}, 0, 2}, {[]int{3, 4, 5, 6}, 0, 3}, {nil, 0, 1}, {[]int{3}, 4, 4},
	} {
		r := testRequest("nic", c.cpus...)
		r.Wire.Queues = c.asked
		l, err := Begin("test", r)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Wire(nil); err != nil {
			t.Fatal(err)
		}
		if got := l.Graph.Links[0].Ends[1].Queues; got != c.want {
			t.Errorf("%d queues for the CPUs %v and %d asked, want %d", got, c.cpus, c.asked, c.want)
		}
	}
}

// Wires have their ends in the graph's order, whatever the pairs' order.
func TestWireKinds(t *testing.T) {
	for kind, steering := range map[string]string{WireNIC: testbed.SteerThreaded, WireMemory: testbed.SteerRPS} {
		l, err := Begin("test", testRequest(kind, 3))
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Wire(l.OnUnderlay); err != nil {
			t.Fatal(err)
		}
		ends := l.Graph.Links[0].Ends
		if ends[0].Place != "a" || ends[1].Place != "b" || ends[0].Steering != steering || ends[1].Addresses[0] != "172.16.0.12/24" {
			t.Errorf("%s: %+v", kind, ends)
		}
		if gro := ends[0].Offloads[testbed.GRO]; gro != (kind == WireNIC) {
			t.Errorf("%s: gro %v", kind, gro)
		}
	}
}

func TestSegmentationOffLeavesNoDeviceOut(t *testing.T) {
	r := testRequest(WireNIC, 3)
	r.Pairs = []result.Pair{{From: result.Place{Node: "a", Container: "x"}, To: result.Place{Node: "b", Container: "y"}}}
	r.Segmentation = SegmentationOff
	l, err := Begin("test", r)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Wire(nil); err != nil {
		t.Fatal(err)
	}
	l.Bridge("a", 1500)
	l.Container(r.Pairs[0].From, Underlay, Host(Underlay, 21), 1500).Bridge = BridgeName("a")
	l.Container(r.Pairs[0].To, Underlay, Host(Underlay, 22), 1500)
	laid, err := l.Finish(1500)
	if err != nil {
		t.Fatal(err)
	}
	all := []map[string]bool{laid.Graph.Bridges[0].Offloads}
	for _, end := range laid.Graph.Interfaces() {
		all = append(all, end.Offloads)
		if end.Steering == testbed.SteerThreaded {
			t.Errorf("%s/%s is threaded without GRO", end.Place, end.Device)
		}
	}
	for _, offloads := range all {
		for _, name := range []string{testbed.TSO, testbed.GSO, testbed.GRO, testbed.UDPSeg} {
			if on, named := offloads[name]; on || !named {
				t.Errorf("%s is not off: %v", name, offloads)
			}
		}
	}
}

// A pair whose receiver is behind a published port binds to that port on any address, and its sender connects
// to another one.
func TestPublishedPairs(t *testing.T) {
	pair := result.Pair{From: result.Place{Node: "a"}, To: result.Place{Node: "b", Container: "c"}}
	plain := Laid{Addresses: map[string]string{"c": "10.0.0.2"}}
	if plain.Listen(pair, 0, false) != "10.0.0.2" || plain.Connect(0, true, "10.0.0.2:9") != "10.0.0.2:9" {
		t.Errorf("%s, %s", plain.Listen(pair, 0, false), plain.Connect(0, true, "10.0.0.2:9"))
	}
	published := Laid{Published: []Published{{Address: netip.MustParseAddr("127.0.0.1"), Port: 80, Beside: 81}}}
	if published.Listen(pair, 0, true) != "0.0.0.0:81" || published.Connect(0, false, "0.0.0.0:80") != "127.0.0.1:80" {
		t.Errorf("%s, %s", published.Listen(pair, 0, true), published.Connect(0, false, "0.0.0.0:80"))
	}
}

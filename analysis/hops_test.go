package analysis

import (
	"fmt"
	"strings"
	"testing"

	"windtunnel/result"
)

// A datagram load over a switch on the receiver's node that drops one in a hundred by name, and a full socket buffer: every
// packet that was sent is received or has a name, hop by hop.
func TestHopsAddUp(t *testing.T) {
	f := run(4, func(t *result.Trial) {
		p := &t.Pairs[0]
		p.Sender.Packets, p.Sender.Offered = 1000, &result.Offered{}
		p.Receiver.Packets = 980
		p.Receiver.Arrived = &result.Arrived{Expected: 1000, Lost: 20, SocketDrops: 10}
		a, b := t.Nodes["a"], t.Nodes["b"]
		a.Links = []result.LinkSample{{Place: "a", Device: "nic0", Role: result.RoleWire, TxPackets: 1000, RxPackets: 4}}
		b.Links = []result.LinkSample{
			{Place: "b", Device: "eth0", Role: result.RoleEndpoint, RxPackets: 990},
			{Place: "b", Device: "nic0", Role: result.RoleWire, RxPackets: 1000, TxPackets: 4},
		}
		b.Switches = []result.SwitchSample{
			{Switch: "vrouter@b", Received: 1004, Sent: 993, Drops: map[string]uint64{"no_route": 10, "never": 0}},
			{Switch: "silent@b", Error: "no socket"},
		}
		t.Nodes["a"], t.Nodes["b"] = a, b
	})
	if a := Of(f).Cells[0].Account; a == nil || *a != (Account{Expected: 1000, Received: 980, Lost: 20}) {
		t.Errorf("account %+v", a)
	}
	var got []string
	for _, h := range Of(f).Cells[0].Hops {
		got = append(got, fmt.Sprintf("%s %s %s: %g received, %g sent, %v", h.Node, h.Kind, h.Place, h.Received, h.Sent, h.Drops))
		if h.Kind == HopSwitch && h.Unaccounted() != 1 {
			t.Errorf("%g unaccounted", h.Unaccounted())
		}
	}
	want := []string{
		"a sender a: 0 received, 1000 sent, map[]",
		"a interface a nic0: 4 received, 1000 sent, map[]",
		"b interface b nic0: 1000 received, 4 sent, map[]",
		"b switch vrouter@b: 1004 received, 993 sent, map[no_route:10]",
		"b interface b eth0: 990 received, 0 sent, map[]",
		"b receiver b: 980 received, 0 sent, map[socket buffer:10]",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A course has every trial in the order of time, with those that do not count, and the extremes of its parts.
func TestCourse(t *testing.T) {
	f := run(4, func(t *result.Trial) {
		t.ElapsedSeconds = float64(10*t.Block + t.Order)
		if t.Cell == "A" && t.Block == 2 {
			t.Excluded = "steal"
		}
		t.Pairs[0].Receiver.Intervals = []result.Interval{
			{From: -0.1, To: 0, Bytes: 1}, {From: 0, To: 0.5, Bytes: 1000}, {From: 0.5, To: 1, Bytes: 3000}, {From: 1, To: 1.001, Bytes: 900},
		}
	})
	for i := range f.Trials {
		b := f.Trials[i].Nodes["b"]
		b.Intervals = []result.CPUInterval{{From: 0, To: 0.1, Busy: []float64{0.5, 1}}, {From: 0.1, To: 0.2}}
		f.Trials[i].Nodes["b"] = b
	}
	course := Of(f).Cells[0].Course
	if got := course[0].CPUs; len(got) != 1 || len(got["b"]) != 1 || got["b"][0] != (Part{0, 0.1, 75}) {
		t.Errorf("CPUs over time: %v", got)
	}
	if len(course) != 4 || course[1].Excluded != "steal" || course[2].Excluded != "" {
		t.Fatalf("%+v", course)
	}
	for i, m := range course {
		if m.Block != i+1 || !m.Known || m.Slowest != 16000 || m.Fastest != 48000 || len(m.Paces) != 2 || m.CPU["b"] != 70 {
			t.Errorf("%+v", m)
		}
	}
}

// TestRequestsBehindAreNotLost: over TCP nothing is, and what became of those that waited until the end is not known.
func TestRequestsBehindAreNotLost(t *testing.T) {
	asks := result.PairEnd{WindowSeconds: 1, Packets: 600, Latencies: map[string]result.Histogram{result.LatencyActual: {Count: 1000}},
		Arrived: &result.Arrived{Expected: 1000, Lost: 400, Behind: 400}}
	trials := []result.Trial{{Pairs: []result.PairSample{{Sender: asks, Receiver: result.PairEnd{WindowSeconds: 1, Packets: 600}}}}}
	if doubts := lossDoubts(Cell{}, trials); len(doubts) > 0 {
		t.Errorf("%+v", doubts)
	}
	if a := account(trials); a == nil || *a != (Account{Expected: 600, Received: 600}) {
		t.Errorf("%+v", a)
	}
	if share, _ := lossShare(Cell{}, trials[0]); share != 0 {
		t.Errorf("%g of the packets were lost", share)
	}
}

package result

import (
	"math"
	"strings"
	"testing"
)

var (
	across = Cell{Name: "B", Pairs: []Pair{{Place{Node: "a", Container: "s"}, Place{Node: "b", Container: "r"}}}}
	inside = Cell{Name: "C", Pairs: []Pair{{Place{Node: "a", Container: "s"}, Place{Node: "a", Container: "r"}}}}
)

// oneTrial sends 1 Gbit/s and one KiB a microsecond short of it; a is half busy on
// two CPUs, b is full on one.
func oneTrial() Trial {
	return Trial{
		Cell: "B", Block: 1,
		Pairs: []PairSample{{From: "s", To: "r",
			Sender:   PairEnd{WindowSeconds: 2, Bytes: 250_000_000, Connections: []Connection{{Retransmits: 3}, {Retransmits: 4}}},
			Receiver: PairEnd{WindowSeconds: 2, Bytes: 204_800_000}}},
		Nodes: map[string]NodeSample{
			"a": {WindowSeconds: 2, CPUs: []CPUSample{{Busy: 1}, {Busy: 1}},
				Links:  []LinkSample{{Role: RoleWire, TxPackets: 200, TxBytes: 300_000}, {Role: RoleInner, TxPackets: 999}},
				Stacks: []StackSample{{Place: "r", InPackets: 10, InBytes: 640_000}}},
			"b": {WindowSeconds: 2, CPUs: []CPUSample{{Busy: 2}}, Stacks: []StackSample{{Place: "r", InPackets: 10, InBytes: 15_000}, {Place: "b", InPackets: 1}}},
		},
	}
}

func TestValue(t *testing.T) {
	for _, c := range []struct {
		cell Cell
		m    Metric
		want float64
	}{
		{across, SentRate, 1e9},
		{across, ReceivedRate, 819_200_000},
		{across, "", 819_200_000},
		{across, CPUPercent("a"), 50},
		{across, CPUPercent("b"), 100},
		{across, SenderCost, 1e4},   // one CPU's time for 100,000 KiB a second
		{across, ReceiverCost, 1e4}, // the same
		{across, TogetherCost, 2e4},
		{inside, TogetherCost, 1e4},
		{across, WirePacketRate, 100},
		{across, WirePacketSize, 1500},
		{across, EndpointPacketSize, 1500},
		{inside, EndpointPacketSize, 64_000},
		{across, Retransmits, 7},
	} {
		got, err := c.cell.Value(oneTrial(), c.m)
		if err != nil || math.Abs(got-c.want) > 1e-9*c.want {
			t.Errorf("%s of %s: %g %v, want %g", c.m, c.cell.Name, got, err, c.want)
		}
	}
}

func TestValueThatIsMissing(t *testing.T) {
	for name, c := range map[string]struct {
		cell   Cell
		m      Metric
		change func(*Trial)
		says   string
	}{
		"no pair":      {across, ReceivedRate, func(t *Trial) { t.Pairs = nil }, "no pair"},
		"no window":    {across, SentRate, func(t *Trial) { t.Pairs[0].Sender.WindowSeconds = 0 }, "no window"},
		"dead end":     {across, SentRate, func(t *Trial) { t.Pairs[0].Sender = PairEnd{Error: "reset"} }, "reset"},
		"one node":     {inside, SenderCost, nil, "cannot be split"},
		"one node too": {inside, ReceiverCost, nil, "both ends run on node a"},
		"no wire":      {inside, WirePacketRate, nil, "no wire between"},
		"wire unknown": {across, WirePacketSize, func(t *Trial) { t.Nodes = nil }, "no link of the wire"},
		"wire silent":  {across, WirePacketSize, func(t *Trial) { t.Nodes["a"].Links[0].TxPackets = 0 }, "no packet"},
		"no node":      {across, CPUPercent("z"), nil, "node z was not sampled"},
		"cpu missing": {across, CPUPercent("b"), func(t *Trial) {
			t.Nodes["b"] = NodeSample{WindowSeconds: 1, Missing: map[string]string{"cpu": "no /proc"}}
		}, "no /proc"},
		"no cpu":        {across, ReceiverCost, func(t *Trial) { t.Nodes["b"] = NodeSample{WindowSeconds: 1} }, "CPUs of node b"},
		"received none": {across, SenderCost, func(t *Trial) { t.Pairs[0].Receiver.Bytes = 0 }, "nothing was received"},
		"no stack":      {across, EndpointPacketSize, func(t *Trial) { t.Nodes = nil }, "receiving stack"},
		"no tcp":        {across, Retransmits, func(t *Trial) { t.Pairs[0].Sender.Connections = nil }, "no TCP"},
		"unknown":       {across, "beauty", nil, "no metric"},
	} {
		trial := oneTrial()
		if c.change != nil {
			c.change(&trial)
		}
		if v, err := c.cell.Value(trial, c.m); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %g %v, want %q", name, v, err, c.says)
		}
	}
}

func TestCounted(t *testing.T) {
	trials := []Trial{
		{Cell: "A", Block: 1}, {Cell: "B", Block: 1, Excluded: "steal"}, {Cell: "B", Block: 1, Attempt: 2},
		{Cell: "A", Block: 2, Attempt: 1}, {Cell: "A", Block: 2, Attempt: 2}, {Cell: "A", Block: 3}, {Cell: "B", Block: 3},
	}
	a := Counted(trials, "A")
	if len(a) != 3 || a[1].Attempt != 2 {
		t.Errorf("counted %+v", a)
	}
	if n, why := Excluded(trials, "B"); n != 1 || why["steal"] != 1 {
		t.Errorf("excluded %d %v", n, why)
	}
	if n := Blocks(trials, []string{"A", "B"}); n != 2 {
		t.Errorf("%d whole blocks, want 2", n)
	}
}

func TestMetricWordsGoBothWays(t *testing.T) {
	for _, word := range MetricWords([]string{"a"}) {
		m, ok := MetricByWord(word)
		if !ok || m.Word() != word {
			t.Errorf("%s is %s is %s", word, m, m.Word())
		}
	}
	if got := (Ratio{Metric: CPUPercent("b"), Over: "B", Under: "A"}).Short(); got != "cpu.b: B/A" {
		t.Error(got)
	}
}

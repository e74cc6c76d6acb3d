package analysis

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"windtunnel/result"
	"windtunnel/stats"
)

// run makes a file of two cells of one pair each, over some blocks; change may
// alter each trial.
func run(blocks int, change func(*result.Trial)) result.File {
	pairs := []result.Pair{{From: result.Place{Node: "a"}, To: result.Place{Node: "b"}}}
	f := result.File{
		Run: result.Run{
			Nodes:  []result.RunNode{{Name: "a", CPUs: []int{0}}, {Name: "b", CPUs: []int{1}}},
			Ratios: []result.Ratio{{Over: "B", Under: "A"}},
			Plan:   result.Plan{Precision: 0.05},
		},
		Cells: []result.Cell{{Name: "A", Pairs: pairs}, {Name: "B", Pairs: pairs}},
		End:   &result.End{Why: "budget"},
	}
	for block := 1; block <= blocks; block++ {
		for order, cell := range []string{"A", "B"} {
			if block%2 == 0 {
				order = 1 - order
			}
			t := trial(cell, block, order+1)
			if change != nil {
				change(&t)
			}
			f.Trials = append(f.Trials, t)
		}
	}
	return f
}

func trial(cell string, block, order int) result.Trial {
	bytes := uint64(100_000_000 + 100_000*(block%3))
	if cell == "B" {
		bytes = bytes/2 + 50_000*uint64(block%2) - 25_000
	}
	end := result.PairEnd{WindowSeconds: 1, Bytes: bytes, Connections: []result.Connection{{Congestion: "cubic", BusySeconds: 1}}}
	node := func(busy float64) result.NodeSample {
		return result.NodeSample{WindowSeconds: 1, CPUSource: "idle-clock", CPUs: []result.CPUSample{{Busy: busy, Softirq: busy / 2}}}
	}
	return result.Trial{
		Cell: cell, Block: block, Order: order, WindowSeconds: 1,
		Pairs: []result.PairSample{{From: "a", To: "b", Sender: end, Receiver: end}},
		Nodes: map[string]result.NodeSample{"a": node(0.4), "b": node(0.7)},
	}
}

func kinds(doubts []result.Doubt) []string {
	var all []string
	for _, d := range doubts {
		all = append(all, strings.TrimPrefix(d.Cell+" "+d.Kind, " "))
	}
	slices.Sort(all)
	return all
}

// cpuSource has a trial's CPU times on node a be of a source.
func cpuSource(t *result.Trial, source string) {
	n := t.Nodes["a"]
	n.CPUSource = source
	t.Nodes["a"] = n
}

func TestDoubts(t *testing.T) {
	for name, c := range map[string]struct {
		blocks int
		change func(*result.Trial)
		file   func(*result.File)
		want   string
	}{
		"none":        {6, nil, nil, ""},
		"few":         {3, nil, nil, "few-blocks"},
		"simulated":   {6, nil, func(f *result.File) { f.Run.Simulated = true }, "simulated-nodes"},
		"shared":      {6, nil, func(f *result.File) { f.Run.Nodes[1].Shared = true }, "shared-cpus"},
		"interrupted": {6, nil, func(f *result.File) { f.End.Why = "interrupted" }, "interrupted"},
		"failed":      {6, nil, func(f *result.File) { f.End = &result.End{Why: "failed", Error: "no"} }, "failed"},
		"machine": {6, nil, func(f *result.File) {
			f.Run.Assumed = map[string]string{"cpus": "2", "link_bits_per_second": "1e10", "memory_bytes": "1", "other": "x"}
		}, "machine,machine"},
		"recorded": {6, nil, func(f *result.File) {
			f.Run.Doubts = []result.Doubt{{Kind: "steal", Says: "x"}}
			f.Cells[1].Doubts = []result.Doubt{{Kind: "mtu", Says: "y"}}
		}, "B mtu,steal"},
		"steal":                  {6, func(t *result.Trial) { t.Nodes["a"].CPUs[0].Steal = 0.03 }, nil, "A steal,B steal"},
		"tick":                   {6, func(t *result.Trial) { cpuSource(t, "tick") }, nil, "A cpu-tick,B cpu-tick"},
		"another system's times": {6, func(t *result.Trial) { cpuSource(t, "system-times") }, nil, "A cpu-tick,B cpu-tick"},
		"excluded": {7, func(t *result.Trial) {
			if t.Cell == "B" && t.Block == 2 {
				t.Excluded = "steal"
			}
		}, nil, "B excluded"},
		"window": {6, func(t *result.Trial) { t.WindowSeconds = 0.5 }, nil, "A short-window,B short-window"},
		"bbr": {6, func(t *result.Trial) {
			if t.Cell == "B" {
				t.Pairs[0].Sender.Connections = []result.Connection{{Congestion: "bbr"}}
			}
		}, nil, "congestion"},
		"worker": {6, func(t *result.Trial) {
			if t.Cell == "A" {
				t.Pairs[0].Receiver.Error = "connection reset"
			}
		}, nil, "A worker"},
		"away": {6, func(t *result.Trial) {
			if t.Cell == "A" && t.Block == 2 {
				t.Pairs[0].Sender.Offered = &result.Offered{AwaySeconds: 0.3, AwayWhy: "network is down"}
			}
		}, nil, "A away"},
		"bimodal": {10, func(t *result.Trial) {
			if t.Cell == "A" && t.Block%2 == 0 {
				t.Pairs[0].Receiver.Bytes *= 2
			}
		}, nil, "A bimodal"},
		"leak": {6, func(t *result.Trial) {
			n := t.Nodes["b"]
			n.Switches = []result.SwitchSample{{Switch: "vrouter@b", Received: 1000, Sent: 900, Drops: map[string]uint64{"no_route": 50}}}
			t.Nodes["b"] = n
		}, nil, "A unaccounted,B unaccounted"},
		"probe": {6, func(t *result.Trial) {
			n := t.Nodes["b"]
			n.Missing = map[string]string{"softnet": "not readable"}
			t.Nodes["b"] = n
		}, nil, "A missing,B missing"},
	} {
		file := run(c.blocks, c.change)
		if c.file != nil {
			c.file(&file)
		}
		if got := strings.Join(kinds(Of(file).Doubts), ","); got != c.want {
			t.Errorf("%s: doubts %q, want %q", name, got, c.want)
		}
	}
}

func TestMachineIsCompared(t *testing.T) {
	file := run(6, nil)
	file.Run.Simulated = true
	file.Run.Assumed = map[string]string{"cpus": "1", "link_bits_per_second": "1e10", "memory_bytes": "4294967296", "kernel.release": "4.4", "data_nic": "shared"}
	for i := range file.Run.Nodes {
		file.Run.Nodes[i].Fingerprint = result.Fingerprint{"memory.total": "16318468 kB", "kernel.release": "6.12"}
	}
	var got []string
	for _, d := range Of(file).Doubts {
		if d.Kind == "machine" {
			got = append(got, d.Says)
		}
	}
	want := []string{
		"the source's nodes had one NIC for data and management; here nothing but the load is on the wire",
		"the source had kernel.release 4.4; here node a has 6.12, node b has 6.12",
		"the source's link had 10 Gbit/s; here the CPUs are the only limit of the wire",
		"the source's nodes had 4.3 GB of memory; here the host of all nodes has 16.7 GB",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestEachHostIsCompared: of real hosts each has its own memory and link, and one may be as the source's.
func TestEachHostIsCompared(t *testing.T) {
	file := run(6, nil)
	file.Run.Assumed = map[string]string{"memory_bytes": "4294967296", "link_bits_per_second": "1e10", "data_nic": "separate"}
	for i, print := range []result.Fingerprint{{"memory.total": "4100000 kB", "nic.bits_per_second": "1e10"}, {"memory.total": "1000000 kB", "nic.bits_per_second": "1e9"}} {
		file.Run.Nodes[i].Host, file.Run.Nodes[i].Fingerprint = "ssh://h", print
	}
	var got []string
	for _, d := range Of(file).Doubts {
		if d.Kind == "machine" {
			got = append(got, d.Says)
		}
	}
	want := []string{"the source's link had 10 Gbit/s; here node b has 1 Gbit/s", "the source's nodes had 4.3 GB of memory; here node b has 1.0 GB"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestRecordedDoubtsAreNotDerivedAgain(t *testing.T) {
	file := run(6, nil)
	file.Run.Nodes[0].Shared = true
	file.Run.Doubts = []result.Doubt{{Kind: "shared-cpus", Says: "of a"}, {Kind: "shared-cpus", Says: "of b"}, {Kind: "few-blocks", Says: "the budget holds 3"}}
	if got := strings.Join(kinds(Of(file).Doubts), ","); got != "shared-cpus,shared-cpus" {
		t.Errorf("doubts %s", got)
	}
}

func TestReasonsAreCounted(t *testing.T) {
	if got, want := counts(map[string]int{"a": 1, "b": 5, "c": 1, "d": 1, "e": 2}), "b (5), e (2), a (1), others (2)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestDropsAreNamed(t *testing.T) {
	f := Of(run(5, func(t *result.Trial) {
		n := t.Nodes["b"]
		n.Links = []result.LinkSample{{Place: "b", Device: "wire0", RxDropped: 4}}
		n.Stacks = []result.StackSample{{Place: "b", InCsumErrors: 2}}
		n.Softnet.Dropped = 1
		n.Switches = []result.SwitchSample{{Switch: "vrouter@b", Drops: map[string]uint64{"no_route": 3, "ttl": 0}}}
		t.Nodes["b"] = n
	}))
	c, _ := f.Cell("A")
	for name, want := range map[string]float64{
		"b wire0 rx_dropped": 4, "b ip in_csum_errors": 2, "b softnet dropped": 1, "vrouter@b no_route": 3,
	} {
		if got := c.Drops[name]; got.Mean != want || got.N != 5 {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if len(c.Drops) != 4 {
		t.Errorf("drops %v", c.Drops)
	}
}

func hypothesis(low, high float64) result.Hypothesis {
	return result.Hypothesis{ID: "h", Holds: result.Predicate{All: []result.Comparison{{Ratio: result.Ratio{Over: "B", Under: "A"}, Low: &low, High: &high}}}}
}

func TestHypotheses(t *testing.T) {
	half := hypothesis(0.45, 0.55)
	parallel := half
	parallel.Parallelism = true
	unmet := half
	unmet.NotMeasured = "needs 8 CPUs"
	fullB := func(t *result.Trial) { t.Nodes["b"].CPUs[0].Busy = 0.98 }
	spareB := func(t *result.Trial) {
		n := t.Nodes["b"]
		n.CPUs = []result.CPUSample{{CPU: 0, Busy: 0.99}, {CPU: 1, Busy: 0.2}}
		t.Nodes["b"] = n
	}
	for name, c := range map[string]struct {
		h      result.Hypothesis
		blocks int
		change func(*result.Trial)
		want   stats.Judgement
		reason string
	}{
		"holds":                  {half, 6, nil, stats.Supported, ""},
		"does not":               {hypothesis(0.9, 1.1), 6, nil, stats.Refuted, ""},
		"crosses":                {hypothesis(0.5, 0.55), 6, nil, stats.Undecided, "both sides"},
		"few blocks":             {half, 4, nil, stats.Undecided, "4 of at least 5"},
		"no trials":              {half, 0, nil, stats.NotMeasured, "cell B failed"},
		"unmet":                  {unmet, 6, nil, stats.NotMeasured, "needs 8 CPUs"},
		"parallel":               {parallel, 6, nil, stats.Supported, ""},
		"parallel, node full":    {parallel, 6, fullB, stats.NotMeasured, "node b (receiver)"},
		"parallel, one CPU full": {parallel, 6, spareB, stats.Supported, ""},
		"full, not parallel":     {half, 6, fullB, stats.Supported, ""},
	} {
		file := run(c.blocks, c.change)
		file.Run.Hypotheses = []result.Hypothesis{c.h}
		got := Of(file).Hypotheses[0]
		if got.Verdict != c.want || !strings.Contains(got.Reason, c.reason) || (c.reason == "") != (got.Reason == "") {
			t.Errorf("%s: %s (%s), want %s (%s)", name, got.Verdict, got.Reason, c.want, c.reason)
		}
		if got.Published != stats.NotMeasured {
			t.Errorf("%s: published %s without figures", name, got.Published)
		}
	}
}

func TestPublishedFiguresAreAskedToo(t *testing.T) {
	file := run(6, nil)
	file.Cells[0].Published = map[result.Metric]float64{result.ReceivedRate: 1000}
	file.Cells[1].Published = map[result.Metric]float64{result.ReceivedRate: 900}
	file.Run.Hypotheses = []result.Hypothesis{hypothesis(0.45, 0.55)}
	f := Of(file)
	if h := f.Hypotheses[0]; h.Verdict != stats.Supported || h.Published != stats.Refuted {
		t.Errorf("%+v", h)
	}
	if r := f.Ratios[0]; r.Published == nil || *r.Published != 0.9 || r.PublishedVerdict != "10 % slower" {
		t.Errorf("%+v", r)
	}
}

func TestEvidenceIsRankedAndShort(t *testing.T) {
	f := Of(run(6, func(t *result.Trial) {
		if t.Cell != "B" {
			return
		}
		t.Nodes["b"].CPUs[0].Busy = 0.99
		t.Pairs[0].Sender.Connections = []result.Connection{{Congestion: "cubic", BusySeconds: 1, RwndLimitedSeconds: 0.8, Retransmits: 500}}
	}))
	e := f.Ratios[0].Evidence
	if len(e) == 0 || len(e) > mostEvidence {
		t.Fatalf("%d lines: %q", len(e), e)
	}
	if !strings.HasPrefix(e[0], "in B, CPU 0 of node b (receiver) was full: 99 % busy (softirq 35 %)") {
		t.Errorf("first: %s", e[0])
	}
	if all := strings.Join(e, "\n"); !strings.Contains(all, "TCP sent 500 segments again") || !strings.Contains(all, "80 % of the time in B") {
		t.Errorf("%s", all)
	}
}

// Whatever the blocks say, the sentence, the bounds and the hypothesis agree.
func TestVerdictsAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		factor := rapid.Float64Range(0.2, 5).Draw(t, "factor")
		noise := rapid.Float64Range(0, 0.5).Draw(t, "noise")
		file := run(rapid.IntRange(1, 12).Draw(t, "blocks"), func(tr *result.Trial) {
			if tr.Cell == "B" {
				tr.Pairs[0].Receiver.Bytes = uint64(1e8 * factor * (1 + noise*rapid.Float64Range(-1, 1).Draw(t, "n")))
			}
		})
		zero, one := 0.0, 1.0
		slower := hypothesis(zero, one)
		file.Run.Hypotheses = []result.Hypothesis{slower}
		f := Of(file)
		r, h := f.Ratios[0], f.Hypotheses[0]
		claims := strings.Contains(r.Verdict, "[")
		if claims != r.Estimate.Differs() {
			t.Fatalf("%s of %v", r.Verdict, r.Estimate)
		}
		if claims && (h.Verdict == stats.Supported) != strings.Contains(r.Verdict, "slower") {
			t.Fatalf("%s, yet B/A <= 1 is %s", r.Verdict, h.Verdict)
		}
		if !claims && h.Verdict != stats.Undecided && *r.Estimate.Low != 1 && *r.Estimate.High != 1 {
			t.Fatalf("%s, yet B/A <= 1 is %s", r.Verdict, h.Verdict)
		}
	})
}

func TestLine(t *testing.T) {
	file := run(6, nil)
	got := Line(file.Run.Ratios[0], Of(file).Ratios[0].Estimate)
	if !strings.HasPrefix(got, "B/A  0.50") || !strings.HasSuffix(got, "n=6") {
		t.Error(got)
	}
}

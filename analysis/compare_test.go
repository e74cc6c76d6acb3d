package analysis

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"windtunnel/result"
	"windtunnel/stats"
)

// aRun has cells of one load, each with a rate and so many trials of a spread.
func aRun(seed uint64, rates map[string]float64, trials int, spread float64) result.File {
	random := rand.New(rand.NewPCG(seed, 3))
	f := result.File{Run: result.Run{Suite: "s", ID: "r", Seed: seed, Wire: "nic", Simulated: true, Version: "v1",
		Nodes:  []result.RunNode{{Name: "a", CPUs: []int{0}, Fingerprint: result.Fingerprint{"cpu.model": "X", "cpu.generation": "family 25", "kernel.release": "6.1"}}},
		Ratios: []result.Ratio{{Metric: result.ReceivedRate, Over: "B", Under: "A"}, {Metric: result.ReceivedRate, Over: "C", Under: "A"}}},
		End: &result.End{Why: "precision"}}
	for _, name := range sortedKeys(rates) {
		f.Cells = append(f.Cells, result.Cell{Name: name, Path: "wire", Traffic: "stream", Wire: "nic", Load: result.Options{"streams": int64(1)},
			Pairs: []result.Pair{{From: result.Place{Node: "a"}, To: result.Place{Node: "b"}}}})
		for block := 1; block <= trials; block++ {
			bytes := uint64(rates[name] * math.Exp(spread*random.NormFloat64()))
			f.Trials = append(f.Trials, result.Trial{Cell: name, Block: block, WindowSeconds: 1, Pairs: []result.PairSample{{
				From: "a", To: "b", Sender: result.PairEnd{WindowSeconds: 1, Bytes: bytes}, Receiver: result.PairEnd{WindowSeconds: 1, Bytes: bytes}}}})
		}
	}
	return f
}

func three(rate float64) map[string]float64 {
	return map[string]float64{"A": 1e9 * rate, "B": 8e8 * rate, "C": 3e8 * rate}
}

func doubtKinds(doubts []result.Doubt) string {
	var all []string
	for _, d := range doubts {
		all = append(all, d.Kind)
	}
	return strings.Join(all, " ")
}

func TestGateBreaksOnlyBeyondItsLimit(t *testing.T) {
	before := aRun(1, three(1), 10, 0.01)
	for name, c := range map[string]struct {
		after result.File
		want  Gate
	}{
		"alike":             {aRun(2, three(1), 10, 0.01), GateHolds},
		"better by 20 %":    {aRun(2, three(1.2), 10, 0.01), GateHolds},
		"worse by 2 %":      {aRun(2, three(0.98), 10, 0.005), GateHolds},
		"worse by 5 %":      {aRun(2, three(0.95), 10, 0.01), GateUndecided},
		"worse by 12 %":     {aRun(2, three(0.88), 10, 0.01), GateBroken},
		"noise":             {aRun(2, three(0.9), 6, 0.3), GateUndecided},
		"too few trials":    {aRun(2, three(0.5), 4, 0.01), GateUnjudged},
		"nothing in common": {aRun(2, map[string]float64{"X": 1e9}, 10, 0.01), GateUnjudged},
	} {
		got := Compare(before, c.after, Comparison{Limit: 0.05})
		if got.Gate != c.want {
			t.Errorf("%s: %s, want %s: %+v", name, got.Gate, c.want, got.Cells)
		}
	}
}

// A figure of which less is better is worse when it grows.
func TestGateKnowsWhatIsWorse(t *testing.T) {
	low, high := 1.2, 1.3
	e := stats.Estimate{Estimate: 1.25, Low: &low, High: &high, N: 9}
	for m, want := range map[result.Metric]Gate{
		result.ReceivedRate: GateHolds, result.TogetherCost: GateBroken, result.Latency(result.LatencyIntended, "p99"): GateBroken,
		result.CPUPercent("a"): GateBroken, result.PacketsPerBusyCore: GateHolds, result.Loss: GateBroken,
	} {
		if got := gateOf(e, m, 0.05); got != want {
			t.Errorf("%s: %s, want %s", m, got, want)
		}
	}
}

func TestWhatForbidsAComparison(t *testing.T) {
	change := map[string]struct {
		change    func(*result.File)
		forbidden string // of the run
		cell      string // of cell A
		warns     string
	}{
		"CPU":          {func(f *result.File) { f.Run.Nodes[0].Fingerprint["cpu.model"] = "Y" }, "cpu.model of node a: from X to Y", "cpu.model", ""},
		"more CPUs":    {func(f *result.File) { f.Run.Nodes[0].CPUs = []int{0, 1} }, "CPUs of node a: from 1 to 2", "CPUs", ""},
		"wire":         {func(f *result.File) { f.Run.Wire = "memory" }, "wire: from nic to memory", "wire", ""},
		"hosts":        {func(f *result.File) { f.Run.Simulated = false }, "nodes: from simulated on one host", "nodes", ""},
		"kernel":       {func(f *result.File) { f.Run.Nodes[0].Fingerprint["kernel.release"] = "6.2" }, "", "", "kernel.release"},
		"mitigation":   {func(f *result.File) { f.Run.Nodes[0].Fingerprint["cpu.mitigation.x"] = "on" }, "", "", "cpu.mitigation.x"},
		"version":      {func(f *result.File) { f.Run.Version = "v2" }, "", "", "windtunnel"},
		"generation":   {func(f *result.File) { f.Run.Nodes[0].Fingerprint["cpu.generation"] = "family 26" }, "cpu.generation of node a: from family 25 to family 26", "cpu.generation", ""},
		"unknown CPU":  {func(f *result.File) { delete(f.Run.Nodes[0].Fingerprint, "cpu.model") }, "", "", "cpu.model"},
		"streams":      {func(f *result.File) { f.Cells[0].Load["streams"] = int64(4) }, "", "streams: from 1 to 4", ""},
		"a new option": {func(f *result.File) { f.Cells[0].Load["mss"] = int64(1000) }, "", "mss: from none to 1000", ""},
		"path":         {func(f *result.File) { f.Cells[0].Path = "bridge" }, "", "path: from wire to bridge", ""},
		"window":       {func(f *result.File) { setWindow(f, 3) }, "", "window: from 1 s to 3 s", ""},
		"failed":       {func(f *result.File) { f.Cells[0].Failed = "no room"; dropTrials(f, "A") }, "", "the second run did not measure it: no room", ""},
		"MTU":          {func(f *result.File) { f.Cells[0].MTU.Wire = 9000 }, "", "MTU of the wire", ""},
		"load beside":  {func(f *result.File) { f.Cells[0].Beside = "ping" }, "", "load beside: from none to ping", ""},
		"search":       {func(f *result.File) { f.Cells[0].Find = &result.Find{} }, "", "search: from none to {", ""},
		"queueing":     {func(f *result.File) { f.Cells[0].Queueing = &result.Queueing{} }, "", "queueing: from none to {", ""},
		"wire's rate":  {func(f *result.File) { f.Cells[0].Wired = &result.WireSettings{BitsPerSecond: 1e9} }, "", "settings of the wire: from none to a token bucket of 1000 Mbit/s", ""},
		"checksum":     {func(f *result.File) { f.Cells[0].Checksum = "software" }, "", "checksum: from none to software", ""},
		"a tool's": {func(f *result.File) {
			f.Run.Foreign = "iperf3 3.12"
			f.Run.Wire = "foreign"
			f.Cells[0].Path = "foreign"
		}, "", "", "measured by"},
		"a cell's gone": {func(f *result.File) { f.Cells[0].Name = "Z"; dropTrials(f, "A") }, "", "the second run has no such cell", ""},
	}
	for name, c := range change {
		before, after := aRun(1, three(1), 8, 0.01), aRun(2, three(1), 8, 0.01)
		c.change(&after)
		got := Compare(before, after, Comparison{Limit: 0.05})
		if !strings.Contains(got.Forbidden, c.forbidden) || (got.Forbidden == "") != (c.forbidden == "") {
			t.Errorf("%s: forbidden %q, want %q", name, got.Forbidden, c.forbidden)
		}
		if cell := got.Cells[0]; !strings.Contains(cell.Reason, c.cell) || (cell.Reason == "") != (c.cell == "") {
			t.Errorf("%s: cell %q, want %q", name, cell.Reason, c.cell)
		}
		if got.Cells[0].Reason != "" && !strings.Contains(doubtKinds(got.Doubts), "not-compared") {
			t.Errorf("%s: no doubt says that a cell was not compared: %v", name, got.Doubts)
		}
		warned := false
		for _, d := range got.Differences {
			warned = warned || d.Effect == Warns && d.What == c.warns
		}
		if c.warns != "" && !warned {
			t.Errorf("%s: no warning of %s: %v", name, c.warns, got.Differences)
		}
	}
}

// A figure that was asked for is compared, or a doubt says that there is none.
func TestFigureThatNoCellHasIsNamed(t *testing.T) {
	p99 := result.Latency(result.LatencyIntended, "p99")
	got := Compare(aRun(1, three(1), 10, 0.01), aRun(2, three(1), 10, 0.01), Comparison{Limit: 0.05, Metrics: []result.Metric{result.ReceivedRate, p99}})
	if !slices.ContainsFunc(got.Doubts, func(d result.Doubt) bool { return d.Kind == "no-figure" && strings.HasPrefix(d.Says, "latency.p99:") }) {
		t.Errorf("latency was asked for and no cell has one: %s %v", got.Gate, got.Doubts)
	}
	if strings.Contains(doubtKinds(Compare(aRun(1, three(1), 10, 0.01), aRun(2, three(1), 10, 0.01), Comparison{}).Doubts), "no-figure") {
		t.Error("a doubt of figures that nobody asked for")
	}
}

func setWindow(f *result.File, seconds float64) {
	for i := range f.Trials {
		if f.Trials[i].Cell == "A" {
			f.Trials[i].WindowSeconds = seconds
		}
	}
}

func dropTrials(f *result.File, cell string) {
	var kept []result.Trial
	for _, t := range f.Trials {
		if t.Cell != cell {
			kept = append(kept, t)
		}
	}
	f.Trials = kept
}

// A machine that became slower as a whole is suspected before the paths are.
func TestCommonShift(t *testing.T) {
	shifted := Compare(aRun(1, three(1), 10, 0.005), aRun(2, three(0.9), 10, 0.005), Comparison{})
	if !strings.Contains(doubtKinds(shifted.Doubts), "common-shift") || shifted.Ratios[0].Change.Differs() {
		t.Errorf("all cells 10 %% slower: %v, %v", shifted.Doubts, shifted.Ratios)
	}
	one := three(1)
	one["B"] *= 0.9
	single := Compare(aRun(1, three(1), 10, 0.005), aRun(2, one, 10, 0.005), Comparison{})
	if strings.Contains(doubtKinds(single.Doubts), "common-shift") || !single.Ratios[0].Change.Differs() || single.Ratios[1].Change.Differs() {
		t.Errorf("one cell slower: %v, %v", single.Doubts, single.Ratios)
	}
}

// Of pairs of runs of the same suite at most 5 % have a difference anywhere, and none breaks a gate that is wider than the noise.
func TestFalseDifferencesOfSuites(t *testing.T) {
	const pairs = 200
	claimed, broken := 0, 0
	for i := range uint64(pairs) {
		c := Compare(aRun(2*i+1000, three(1), 8, 0.03), aRun(2*i+1001, three(1), 8, 0.03), Comparison{Limit: 0.05})
		any := false
		for _, cell := range c.Cells {
			for _, f := range cell.Figures {
				any = any || f.Ratio.Differs()
			}
		}
		for _, r := range c.Ratios {
			any = any || r.Change.Differs()
		}
		if any {
			claimed++
		}
		if c.Gate == GateBroken {
			broken++
		}
	}
	t.Logf("of %d pairs of the same suite %d claim a difference, %d break a gate of 5 %%", pairs, claimed, broken)
	if claimed > pairs/20 || broken > 0 {
		t.Errorf("%d of %d pairs claim a difference, %d break a gate", claimed, pairs, broken)
	}
}

func TestSameRunIsNamed(t *testing.T) {
	c := Compare(aRun(1, three(1), 8, 0.01), aRun(1, three(1), 8, 0.01), Comparison{Limit: 0.05})
	if !strings.Contains(doubtKinds(c.Doubts), "same-run") || c.Gate != GateHolds {
		t.Errorf("%s %v", c.Gate, c.Doubts)
	}
}

// TestSearchedRatesAreOfTheFamily: the more is compared, the wider their bounds.
func TestSearchedRatesAreOfTheFamily(t *testing.T) {
	searched := func(seed uint64, cells int, rate float64) result.File {
		rates := map[string]float64{}
		for i := range cells {
			rates[string(rune('A'+i))] = 1e9
		}
		f := aRun(seed, rates, 8, 0.01)
		for _, c := range f.Cells {
			low, high := rate*0.98, rate*1.02
			f.Searches = append(f.Searches, result.Search{Cell: c.Name, Unit: result.PacketsPerSecond, Goals: []result.SearchGoal{{}},
				Found: []result.SearchResult{{Regular: true, Rate: result.Figure{Mean: rate, Low: &low, High: &high, N: 9}}}})
		}
		return f
	}
	reach := func(cells int) float64 {
		c := Compare(searched(1, cells, 1e6), searched(2, cells, 0.95e6), Comparison{Limit: 0.01})
		if c.Family < cells || c.Cells[0].Figures[0].Metric != result.FoundRate {
			t.Fatalf("%d cells: a family of %d, %+v", cells, c.Family, c.Cells[0].Figures)
		}
		return c.Cells[0].Figures[0].Ratio.HalfWidth()
	}
	if one, many := reach(1), reach(20); !(many > 1.3*one) {
		t.Errorf("the bounds of one of 20 rates reach %.4f, that of one %.4f", many, one)
	}
}

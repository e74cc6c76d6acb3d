package report

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"windtunnel/analysis"
	"windtunnel/result"
)

var update = flag.Bool("update", false, "write the goldens anew")

// golden compares a report with the file of its case.
func golden(t *testing.T, name, format string, m *maker) {
	t.Helper()
	var got bytes.Buffer
	if err := Write(format, &got, analysis.Of(m.file), Options{}); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	goldenText(t, name, format, got.String())
}

func checkWidth(t *testing.T, name, text string, width int) {
	t.Helper()
	for _, s := range strings.Split(text, "\n") {
		if n := utf8.RuneCountInString(s); n > width {
			t.Errorf("%s: a line of %d columns: %s", name, n, s)
		}
	}
}

func normal() *maker {
	return contrail().trials("A", 1, 7, raw).trials("B", 1, 7, containers).trials("D", 1, 7, overlay).ended("precision")
}

// searched has a cell with a search, one whose generator was the limit, and one for which nothing was found.
func searched() *maker {
	m := contrail().trials("A", 1, 7, raw).trials("B", 1, 7, containers)
	goals := []result.SearchGoal{
		{ExceedRatio: 0.5, FinalTrialSeconds: 0.5, DurationSumSeconds: 3, InitialTrialSeconds: 0.25, Width: 0.005, LargestIntervalPercent: 2},
		{LossRatio: 0.005, ExceedRatio: 0.5, FinalTrialSeconds: 0.5, DurationSumSeconds: 3, InitialTrialSeconds: 0.25, Width: 0.005, LargestIntervalPercent: 2},
	}
	trials := []result.SearchTrial{{Load: 1e6, Seconds: 0.25}, {Load: 9e5, Seconds: 0.5}, {Load: 9e5, Seconds: 0.5}}
	s := result.Search{Method: "mlrsearch", Unit: "packets/s", MinLoad: 1e3, MaxLoad: 1e7, BudgetSeconds: 60, Goals: goals, Trials: trials,
		TrafficSeconds: 8.5, SpentSeconds: 21.25, Ended: "goals", Durations: "as asked for"}
	one, other, none := s, s, s
	one.Cell, other.Cell, none.Cell = "A", "B", "D"
	rate := result.Figure{Mean: 901234.5, Low: number(899000), High: number(903500), N: 24}
	found := result.SearchResult{Regular: true, LowerBound: 899000, UpperBound: 903500, ConditionalThroughput: 899000, Rate: rate, Basis: "bounds",
		Limit: result.Limit{Verdict: result.PathLimited, Says: "4 trials at 9.035e+05 per second lost more than 0 %"}}
	one.Found = []result.SearchResult{found, found}
	one.Latencies = []result.SearchLatency{
		{Share: 0.1, Load: 90123.45, Seconds: map[string]result.Figure{"p50": {Mean: 12e-6, N: 1000}, "p99": {Mean: 80e-6, N: 1000}}},
		{Share: 0.5, Load: 450617.25, Reason: "the requests beside the load were never answered"},
	}
	one.Doubts = []result.Doubt{{Kind: "bimodal", Says: "the path has two modes"}}
	least := result.SearchResult{Why: "there is no upper bound: the generator reaches no higher load", LowerBound: 5e6, ConditionalThroughput: 5e6,
		Rate: result.Figure{Mean: 5e6, Low: number(5e6), N: 20}, Basis: "bounds", Limit: result.Limit{Verdict: result.GeneratorLimited, Says: "the generator reached 5e+06 per second at most"}}
	other.Found, other.GeneratorLimit = []result.SearchResult{least, least}, 5e6
	nothing := result.SearchResult{Why: "there is no lower bound: even the smallest load did not meet the goal", UpperBound: 1e3,
		Rate: result.Missing("no load met the goal"), Limit: result.Limit{Verdict: result.PathLimited, Says: "3 trials lost more"}}
	none.Found = []result.SearchResult{nothing, nothing}
	m.file.Searches = []result.Search{one, other, none}
	return m.ended("precision")
}

// timed has a cell whose frames told their latency, and one whose frames did not.
func timed() *maker {
	m := contrail().trials("A", 1, 7, raw).trials("B", 1, 7, containers)
	m.file.Latencies = []result.LatencyAt{
		{Cell: "A", Unit: "packets/s", At: result.SearchLatency{Share: 0.5, Load: 1.25e6, LossRatio: 0.0004, Seconds: map[string]result.Figure{
			"p50": {Mean: 9.5e-6, N: 1000}, "p90": {Mean: 18e-6, N: 1000}, "p99": {Mean: 130e-6, N: 1000}, "max": {Mean: 2.1e-3, N: 1000}}}},
		{Cell: "B", Unit: "packets/s", At: result.SearchLatency{Share: 0.5, Load: 3e5, Reason: "the load measures no latency"}},
	}
	return m.ended("precision")
}

// explained has suspects of one ratio: one as in the other cell, one changed in both, one that does nothing, one that
// widens the gap, one that was not tried, and one whose cell failed.
func explained() *maker {
	m := contrail().trials("A", 1, 9, raw).trials("B", 1, 9, containers).trials("D", 1, 9, overlay)
	gap := result.Ratio{Metric: result.ReceivedRate, Over: "D", Under: "B"}
	m.file.Run.Why = &result.Why{Ratio: gap, Untested: []result.Untested{{Factor: "steering", Reason: "a node has one CPU, which does all of its work"}}}
	for _, c := range []struct {
		of, factor, says string
		both             bool
		megabits         float64
	}{
		{"D", "encapsulation", "encapsulation none, as in B", false, 6000},
		{"D", "gro", "GRO off in both", true, 1100}, {"B", "gro", "GRO off in both", true, 1500},
		{"D", "message", "messages of 128 KiB in both", true, 3100}, {"B", "message", "messages of 128 KiB in both", true, 7600},
		{"D", "mtu", "a wire of MTU 9000 in both", true, 4000}, {"B", "mtu", "a wire of MTU 9000 in both", true, 15000},
		{"D", "tso", "TSO off at the endpoints in both", true, 0},
	} {
		name := c.of + "+" + c.factor
		m.cell(result.Cell{Name: name, Says: c.of + ": " + c.says, Path: "bridge", Pairs: inContainers,
			Intervention: &result.Intervention{Ratio: gap, Of: c.of, Factor: c.factor, Both: c.both, Says: c.says}})
		if c.megabits == 0 {
			m.file.Cells[len(m.file.Cells)-1].Failed = "switching the offloads of eth0: operation not supported"
			continue
		}
		l := overlay
		l.megabits, l.drops = c.megabits, nil
		m.trials(name, 1, 9, l)
	}
	return m.ended("budget")
}

func TestRecovered(t *testing.T) {
	var got bytes.Buffer
	if err := Recovered(&got, analysis.Of(explained().file), Options{}); err != nil {
		t.Fatal(err)
	}
	goldenText(t, "explained-short", "text", got.String())
	if err := Recovered(&got, analysis.Of(normal().file), Options{}); err == nil || !strings.Contains(err.Error(), "windtunnel explain") {
		t.Errorf("a run without suspects: %v", err)
	}
	if err := Recovered(fullDisk{}, analysis.Of(explained().file), Options{}); err == nil {
		t.Error("a full disk is no error")
	}
}

// TestExplanations has those of all of a run's ratios, each in about ten lines.
func TestExplanations(t *testing.T) {
	for name, m := range map[string]*maker{
		"normal": normal(), "one-block": oneBlock(), "failed-cell": failedCell(), "nothing-usable": nothingUsable(), "undecided": undecided(), "kinds": otherKinds(),
	} {
		f := analysis.Of(m.file)
		var all bytes.Buffer
		for _, r := range f.Ratios {
			var got bytes.Buffer
			if err := Explain(&got, f, r.Ratio.Short(), Options{}); err != nil {
				t.Fatal(err)
			}
			if lines := strings.Count(got.String(), "\n"); lines > 20 {
				t.Errorf("%s, %s: %d lines", name, r.Ratio.Short(), lines)
			}
			all.WriteString(got.String() + "\n")
		}
		goldenText(t, "explain-"+name, "text", all.String())
	}
	if err := CheckExplained(analysis.Of(normal().file), "B/Z"); err == nil || !strings.Contains(err.Error(), "B/Z") {
		t.Error(err)
	}
}

func oneBlock() *maker {
	return contrail().trials("A", 1, 1, raw).trials("B", 1, 1, containers).trials("D", 1, 1, overlay).ended("budget")
}

func failedCell() *maker {
	m := contrail().trials("A", 1, 6, raw).trials("B", 1, 6, containers).ended("budget")
	m.file.Cells[2].Failed = "loading the vRouter's programs: permission denied"
	return m
}

func skippedCell() *maker {
	m := contrail().trials("A", 1, 6, raw).trials("B", 1, 6, containers).ended("budget")
	m.file.Cells[2].Skipped = "needs tcx (kernel 6.6), and this kernel is 5.15"
	m.file.Run.Hypotheses[2].NotMeasured = "needs tcx (kernel 6.6), and this kernel is 5.15"
	return m
}

func nothingUsable() *maker {
	m := contrail().trials("A", 1, 2, raw).trials("B", 1, 2, containers).trials("D", 1, 2, overlay).ended("failed")
	m.file.End.Error = "node b went away"
	for i := range m.file.Trials {
		m.file.Trials[i].Excluded = "steal over 5 %"
	}
	return m
}

// undecided has two cells that do not differ, and much noise.
func undecided() *maker {
	m := newRun().ratio("B", "A", "").
		cell(result.Cell{Name: "A", Says: "raw", Path: "wire", Pairs: onNodes}).
		cell(result.Cell{Name: "B", Says: "raw again", Path: "wire", Pairs: onNodes}).
		hypothesis("same", "the same path gives the same", "B/A within 1% of 1", between("B", "A", result.ReceivedRate, number(0.99), number(1.01)))
	for block, factor := range []float64{1, 1.04, 0.97, 1.02, 0.96, 1.01} {
		a, b := raw, raw
		b.megabits *= factor
		m.trials("A", block+1, block+1, a).trials("B", block+1, block+1, b)
	}
	return m.ended("budget")
}

func colocated() *maker {
	return contrail().
		cell(result.Cell{Name: "C", Says: "colocated containers", Path: "bridge", Pairs: onOneNode, Published: published(1956.786, 1948.824, 57.098, 0)}).
		ratio("C", "B", "").ratio("C", "B", result.ReceiverCost).
		trials("A", 1, 5, raw).trials("B", 1, 5, containers).trials("D", 1, 5, overlay).
		trials("C", 1, 5, load{megabits: 14000, busyA: 0.99, busyB: 0.01, inBytes: 60000}).ended("budget")
}

func severalPairs() *maker {
	m := newRun().ratio("C", "B", "").
		cell(result.Cell{Name: "B", Says: "one pair", Path: "bridge", Pairs: inContainers}).
		cell(result.Cell{Name: "C", Says: "two pairs", Path: "bridge", Pairs: twoPairs}).
		hypothesis("per-adapter", "throughput is bound per virtual adapter", "C/B within 10% of 2", between("C", "B", result.ReceivedRate, number(1.8), number(2.2)))
	m.file.Run.Hypotheses[0].Parallelism = true
	half := containers
	half.megabits /= 2
	return m.trials("B", 1, 6, containers).trials("C", 1, 6, half).ended("precision")
}

// mesh has every pair of three nodes, and two senders into one.
func mesh() *maker {
	a, b, c := result.Place{Node: "a"}, result.Place{Node: "b"}, result.Place{Node: "c"}
	m := newRun().ratio("into-one", "every", "").
		cell(result.Cell{Name: "every", Says: "every pair", Path: "wire", Pairs: []result.Pair{{From: a, To: b}, {From: a, To: c}, {From: b, To: a}, {From: b, To: c}, {From: c, To: a}, {From: c, To: b}}}).
		cell(result.Cell{Name: "into-one", Says: "two into one", Path: "wire", Pairs: []result.Pair{{From: b, To: a}, {From: c, To: a}}})
	m.file.Run.Nodes = append(m.file.Run.Nodes, result.RunNode{Name: "c", CPUs: []int{1}, Shared: true})
	return m.trials("every", 1, 6, raw).trials("into-one", 1, 6, containers).ended("precision")
}

func killedRun() *maker {
	m := contrail().trials("A", 1, 6, raw).trials("B", 1, 6, containers).trials("D", 1, 5, overlay)
	m.file.Doubts = []result.Doubt{{Kind: "no-end", Says: "the run did not end by itself (killed?): it has the trials up to there"}}
	return m
}

// longNames has more text than a line holds, and markup in it.
func longNames() *maker {
	m := normal()
	m.file.Run.Asks = strings.Repeat("A long question with | pipes and *stars* ", 5)
	m.file.Cells[0].Says = strings.Repeat("a name without an end ", 4)
	m.file.Cells[1].Says = "<script>alert(1)</script> `code` [link](http://example.org)"
	m.file.Run.Command = []string{"windtunnel", "run", "it's a suite.yaml", "--seed", "7"}
	return m
}

// oneCPU has cells that fill the receiver's CPU, of which one could not be measured below it.
func oneCPU() *maker {
	m := normal()
	half := raw
	half.megabits, half.busyA, half.busyB = 2480, 0.2, 0.25
	dear := half
	dear.busyB = 0.8
	at := contrail().trials("A", 1, 5, half).trials("D", 1, 5, dear).file.Trials
	for i := range at {
		m.file.Equal = append(m.file.Equal, result.EqualRate{Cell: at[i].Cell, BitsPerSecond: 2.48e9, Share: 0.8, Trial: &at[i],
			Ceiling: result.Ceiling{Kind: result.CeilingCPU, Node: "b"}})
	}
	m.file.Equal = append(m.file.Equal, result.EqualRate{Cell: "B", Reason: "the worker did not report", Ceiling: result.Ceiling{Kind: result.CeilingCPU, Node: "b"}})
	return m
}

func noRatios() *maker {
	m := normal()
	m.file.Run.Ratios, m.file.Run.Hypotheses = nil, nil
	m.file.Cells[2].Segmentation = "off"
	return m
}

func TestGoldens(t *testing.T) {
	for name, m := range map[string]*maker{
		"skipped-cell": skippedCell(), "colocated": colocated(), "several-pairs": severalPairs(), "killed-run": killedRun(), "long-names": longNames(),
	} {
		golden(t, name, "text", m)
	}
	for name, m := range map[string]*maker{
		"normal": normal(), "one-block": oneBlock(), "failed-cell": failedCell(), "nothing-usable": nothingUsable(), "undecided": undecided(), "kinds": otherKinds(),
	} {
		for _, format := range Formats() {
			golden(t, name, format.Name, m)
		}
	}
	for name, m := range map[string]*maker{"long-names": longNames(), "mesh": mesh(), "several-pairs": severalPairs()} {
		golden(t, name, "html", m)
	}
	golden(t, "no-ratios", "text", noRatios())
	for _, format := range []string{"text", "md", "json", "csv"} {
		golden(t, "mesh", format, mesh())
	}
	for _, format := range []string{"text", "json", "html"} {
		golden(t, "one-cpu", format, oneCPU())
	}
	golden(t, "skipped-cell", "csv", skippedCell())
	golden(t, "searched", "text", searched())
	golden(t, "explained", "text", explained())
	golden(t, "explained", "json", explained())
	golden(t, "searched", "md", searched())
	golden(t, "timed", "text", timed())
	golden(t, "long-names", "md", longNames())
	golden(t, "colocated", "json", colocated())
}

func TestNoFormatLetsATerminalBeAttacked(t *testing.T) {
	hostile := "\x1b[2J\u202eevil\x07\u009b31m"
	m := normal()
	m.file.Run.Suite, m.file.Run.Asks = "\x1b]0;title\x07", hostile
	for i := range m.file.Cells {
		m.file.Cells[i].Says += hostile
		m.file.Cells[i].Topology, m.file.Cells[i].Configuration = hostile, hostile
	}
	m.file.Run.Command = []string{"windtunnel", hostile}
	read := throughFile(t, m)
	for _, f := range Formats() {
		var got bytes.Buffer
		if err := Write(f.Name, &got, analysis.Of(read), Options{}); err != nil {
			t.Fatal(err)
		}
		for _, r := range got.String() {
			if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
				t.Fatalf("%s has %q:\n%s", f.Name, r, got.String())
			}
		}
	}
}

// throughFile writes the records and reads them back, as a report does.
func throughFile(t testing.TB, m *maker) result.File {
	t.Helper()
	read, err := result.Read(runFolder(t, m))
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// runFolder writes the records as a run does.
func runFolder(t testing.TB, m *maker) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	w, err := result.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	errs := []error{w.Run(m.file.Run)}
	for _, c := range m.file.Cells {
		errs = append(errs, w.Cell(c))
	}
	for _, trial := range m.file.Trials {
		errs = append(errs, w.Trial(trial))
	}
	if m.file.End != nil {
		errs = append(errs, w.End(*m.file.End))
	}
	if err := errors.Join(append(errs, w.Close())...); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestNarrowTerminal(t *testing.T) {
	for _, width := range []int{60, 80} {
		var got bytes.Buffer
		if err := Write("text", &got, analysis.Of(normal().file), Options{Width: width}); err != nil {
			t.Fatal(err)
		}
		checkWidth(t, fmt.Sprint("at ", width), got.String(), width)
	}
}

// TestVerdictsAreWhole: half a word tells nothing.
func TestVerdictsAreWhole(t *testing.T) {
	for _, width := range []int{80, 100} {
		var got bytes.Buffer
		if err := Write("text", &got, analysis.Of(searched().file), Options{Width: width}); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(got.String(), "  "+result.GeneratorLimited+"\n"); n != 2 || strings.Contains(got.String(), "-limit…") {
			t.Errorf("width %d: the verdict stands whole %d times:\n%s", width, n, got.String())
		}
		checkWidth(t, fmt.Sprint("at ", width), got.String(), width)
	}
}

func TestColorOnlyWhenAsked(t *testing.T) {
	for _, color := range []bool{false, true} {
		var got bytes.Buffer
		if err := Write("text", &got, analysis.Of(normal().file), Options{Color: color}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(got.String(), "\x1b[") != color {
			t.Errorf("color %v:\n%s", color, got.String())
		}
	}
}

func TestUnknownFormatNamesTheNearest(t *testing.T) {
	for word, want := range map[string]string{
		"jsn": "did you mean `json`", "markdown": "valid: text, md", "txt": "did you mean `text`", "JSON": "did you mean `json`",
	} {
		err := Write(word, &bytes.Buffer{}, analysis.Findings{}, Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", word, err)
		}
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestWriteErrorsAreTold(t *testing.T) {
	for _, f := range Formats() {
		if err := Write(f.Name, fullDisk{}, analysis.Of(layered().file), Options{}); err == nil {
			t.Errorf("%s: no error", f.Name)
		}
	}
}

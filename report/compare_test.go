package report

import (
	"bytes"
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"windtunnel/analysis"
	"windtunnel/result"
)

// later is a run that was made after another.
func (m *maker) later() *maker {
	m.file.Run.ID, m.file.Run.StartedAt, m.file.Run.Seed = "20260203-040506-contrail-windows", "2026-02-03T04:05:06Z", 43
	return m
}

// slower are trials whose blocks have other noise, and whose cell B lost a tenth.
func slower(first, last int) *maker {
	b, d := containers, overlay
	b.megabits *= 0.88
	d.megabits *= 0.99
	m := contrail().trials("A", first, last, raw).trials("B", first, last, b).trials("D", first, last, d).ended("precision").later()
	for _, n := range m.file.Run.Nodes {
		n.Fingerprint["kernel.release"] = "6.13.0"
	}
	return m
}

var comparisons = map[string]func() (before, after *maker){
	"normal":    func() (*maker, *maker) { return normal(), slower(20, 27) },
	"one-block": func() (*maker, *maker) { return normal(), slower(20, 20) },
	"failed-cell": func() (*maker, *maker) {
		return normal(), failedCell().later()
	},
	"nothing-comparable": func() (*maker, *maker) {
		m := slower(20, 27)
		m.file.Run.Nodes[1].Fingerprint = result.Fingerprint{"kernel.release": "6.12.1", "cpu.model": "one"}
		n := normal()
		n.file.Run.Nodes[1].Fingerprint = result.Fingerprint{"kernel.release": "6.12.1", "cpu.model": "another"}
		return n, m
	},
	"undecided": func() (*maker, *maker) {
		after := undecided().later()
		for i := range after.file.Trials {
			p := &after.file.Trials[i].Pairs[0].Receiver
			p.Bytes = uint64(float64(p.Bytes) * 0.95)
		}
		return undecided(), after
	},
	"kinds": func() (*maker, *maker) { return otherKinds(), otherKinds().later() },
}

func TestComparedGoldens(t *testing.T) {
	for name, make := range comparisons {
		before, after := make()
		c := analysis.Compare(before.file, after.file, analysis.Comparison{Limit: 0.05})
		for _, format := range ComparedFormats() {
			var got bytes.Buffer
			if err := WriteCompared(format, &got, c, Options{}); err != nil {
				t.Fatal(err)
			}
			goldenText(t, "compare-"+name, format, got.String())
		}
	}
}

// goldenText compares a text with the file of its case.
func goldenText(t *testing.T, name, format, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+"."+format)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got, -update writes it anew):\n%s", file, d)
	}
	if format == "text" {
		checkWidth(t, name, got, widest)
	}
}

// A gate that holds is not told of what it could not judge.
func TestGateTellsWhatItPassedOver(t *testing.T) {
	cell := func(reason string, gates ...analysis.Gate) analysis.ComparedCell {
		c := analysis.ComparedCell{Reason: reason}
		for _, g := range gates {
			c.Figures = append(c.Figures, analysis.ComparedFigure{Gate: g})
		}
		return c
	}
	for want, cells := range map[string][]analysis.ComparedCell{
		"holds: no figure is worse by 5 %":                                                                           {cell("", analysis.GateHolds)},
		"holds: no figure that could be judged is worse by 5 %; 1 figure has no interval":                            {cell("", analysis.GateHolds, analysis.GateUnjudged)},
		"holds: no figure that could be judged is worse by 5 %; 2 figures have no interval; 1 cell was not compared": {cell("", analysis.GateHolds, analysis.GateUnjudged, analysis.GateUnjudged), cell("it failed")},
		"holds: no figure that could be judged is worse by 5 %; 2 cells were not compared":                           {cell("", analysis.GateHolds), cell("it failed"), cell("it failed")},
	} {
		if got := gateSentence(analysis.Compared{Limit: 0.05, Gate: analysis.GateHolds, Cells: cells}); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// Whatever names a run file has, no format of a comparison is broken by them.
func TestHostileNamesInComparisons(t *testing.T) {
	hostile := "\x1b[2J</td><script>alert(1)</script> | `x` ]]>&\"'"
	m, n := normal(), slower(20, 27)
	for _, run := range []*maker{m, n} {
		run.file.Run.Suite, run.file.Run.Asks = hostile, hostile
		for i := range run.file.Cells {
			run.file.Cells[i].Says = hostile
		}
		run.file.Run.Nodes[0].Fingerprint[hostile] = run.file.Run.ID
	}
	c := analysis.Compare(throughFile(t, m), throughFile(t, n), analysis.Comparison{Limit: 0.05})
	for _, format := range ComparedFormats() {
		var got bytes.Buffer
		if err := WriteCompared(format, &got, c, Options{}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(got.String(), "\x1b") || format != "json" && format != "text" && strings.Contains(got.String(), "<script>") {
			t.Errorf("%s:\n%s", format, got.String())
		}
		if format == "junit" {
			if err := xml.Unmarshal(got.Bytes(), new(junitSuites)); err != nil {
				t.Errorf("%v:\n%s", err, got.String())
			}
		}
	}
}

// Whatever a run file holds that can be read, it is compared and has a history.
func FuzzCompared(f *testing.F) {
	whole, err := os.ReadFile(filepath.Join(runFolder(f, oneBlock()), result.FileName))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add([]byte(`{"record":"run","format":1,"foreign":"x","nodes":[{"name":"a"},{"name":"a"}],"ratios":[{"over":"A","under":"A"}]}
{"record":"cell","cell":"A","traffic":"ping","load":{"x":[1]},"published":{}}
{"record":"trial","cell":"A","block":1,"pairs":[{"receiver":{"window_seconds":1e-300,"bytes":18446744073709551615}}]}
`))
	other := normal().file
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := result.Decode(bytes.NewReader(text))
		if err != nil {
			return
		}
		for _, before := range []result.File{file, other} {
			c := analysis.Compare(before, file, analysis.Comparison{Limit: 0.05})
			for _, format := range ComparedFormats() {
				if err := WriteCompared(format, &bytes.Buffer{}, c, Options{}); err != nil {
					t.Fatal(err)
				}
			}
		}
		h := analysis.HistoryOf("s", []analysis.Past{analysis.PastOf("a", other), analysis.PastOf("b", file), analysis.PastOf("c", file)}, nil)
		for _, format := range HistoryFormats() {
			if err := WriteHistory(format, &bytes.Buffer{}, h, Options{}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A summary stays within what GitHub takes, and says what it left out.
func TestSummaryIsBounded(t *testing.T) {
	c := analysis.Compared{Limit: 0.05, Gate: analysis.GateHolds}
	for range 20_000 {
		c.Cells = append(c.Cells, analysis.ComparedCell{Name: strings.Repeat("n", 1000), Reason: strings.Repeat("r", 50), Differences: []analysis.Difference{{What: "streams"}}})
		c.Doubts = append(c.Doubts, result.Doubt{Kind: "x", Says: strings.Repeat("<", 5000)})
	}
	c.Before.Suite, c.Before.ID, c.Doubts[0].Says = strings.Repeat("|", 1<<20), strings.Repeat("<", 1<<20), strings.Repeat("d", 2<<20)
	var got bytes.Buffer
	if err := WriteCompared("github", &got, c, Options{}); err != nil {
		t.Fatal(err)
	}
	if got.Len() > 1<<20 || !strings.Contains(got.String(), "more rows do not fit") {
		t.Errorf("%d bytes", got.Len())
	}
}

func TestUnknownComparedFormatNamesTheNearest(t *testing.T) {
	if err := WriteCompared("junt", &bytes.Buffer{}, analysis.Compared{}, Options{}); err == nil || !strings.Contains(err.Error(), "`junit`") {
		t.Error(err)
	}
	for _, format := range ComparedFormats() {
		if err := WriteCompared(format, fullDisk{}, analysis.Compared{}, Options{}); err == nil {
			t.Errorf("%s: a full disk is no error", format)
		}
	}
}

// TestNoCheckMarkForWhatWasNotMeasured: a gate that holds of all other cells is no success, unless what is missing could be
// measured in neither run.
func TestNoCheckMarkForWhatWasNotMeasured(t *testing.T) {
	whole := func() *maker { return normal().later() }
	for name, c := range map[string]struct {
		before, after *maker
		want          string
	}{
		"all":               {normal(), whole(), "## ✅ "},
		"it failed":         {normal(), failedCell().later(), "## ⚠️ "},
		"skipped in one":    {normal(), skippedCell().later(), "## ⚠️ "},
		"skipped in both":   {skippedCell(), skippedCell().later(), "## ✅ "},
		"failed in both":    {failedCell(), failedCell().later(), "## ⚠️ "},
		"nothing was gated": {nothingUsable(), whole(), "## ⚠️ "},
	} {
		var got bytes.Buffer
		compared := analysis.Compare(c.before.file, c.after.file, analysis.Comparison{Limit: 0.1})
		if err := WriteCompared("github", &got, compared, Options{}); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(got.String(), c.want) || strings.Contains(got.String(), "[!TIP]") != strings.Contains(c.want, "✅") {
			t.Errorf("%s: want %q of\n%s", name, c.want, got.String())
		}
	}
}

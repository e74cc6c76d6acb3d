package bench

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func series(ratio float64) (ours, peer []float64) {
	for i := range 10 {
		noise := 1 + 0.002*float64(i%3)
		ours, peer = append(ours, ratio*noise), append(peer, 1)
	}
	return ours, peer
}

func TestVerdict(t *testing.T) {
	cases := map[string]struct {
		ratio float64
		goal  Goal
		want  string
	}{
		"rate well above":  {1.00, Goal{Ratio: 0.95}, Holds},
		"rate at the goal": {0.949, Goal{Ratio: 0.95}, Level},
		"rate short":       {0.80, Goal{Ratio: 0.95}, Missed},
		"cost well below":  {0.90, Goal{Ratio: 1.05, AtMost: true}, Holds},
		"cost above":       {1.20, Goal{Ratio: 1.05, AtMost: true}, Missed},
		"parity":           {0.998, Goal{Ratio: 1}, Holds},
		"short of parity":  {0.95, Goal{Ratio: 1}, Missed},
		"cost at parity":   {0.999, Goal{Ratio: 1, AtMost: true}, Holds},
		"cost over parity": {1.05, Goal{Ratio: 1, AtMost: true}, Missed},
	}
	for name, c := range cases {
		ours, peer := series(c.ratio)
		got := (&Comparison{Goal: c.goal, Ours: ours, Peer: peer}).Verdict()
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	if got := (&Comparison{Goal: Goal{Ratio: 1}, Ours: []float64{2}, Peer: []float64{1}}).Verdict(); got != Level {
		t.Errorf("one pair: %s", got)
	}
}

// TestParityNeedsItsMedian has a wide interval that reaches 1 beside a median that
// does not.
func TestParityNeedsItsMedian(t *testing.T) {
	c := Comparison{Goal: Goal{Ratio: 1}}
	for _, ratio := range []float64{0.9, 0.91, 0.9, 0.92, 0.91, 1.3, 0.9, 1.3} {
		c.Add(ratio, 1)
	}
	if got := c.Verdict(); got != Level {
		t.Errorf("got %s with %s", got, c.Row())
	}
}

func TestSectionsReplaceTheirOwn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "RESULTS.md")
	for _, s := range []Section{{Title: "one", Says: "first-text"}, {Title: "two", Says: "other"}, {Title: "one", Says: "second-text"}, {Title: "two", Says: "other"}} {
		if err := s.Write(path); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got := string(b)
	if strings.Contains(got, "first-text") || strings.Count(got, "## one") != 1 || strings.Count(got, "## two") != 1 || strings.Index(got, "second-text") > strings.Index(got, "other") {
		t.Errorf("got\n%s", got)
	}
	if strings.Contains(got, "\n\n\n") || !strings.Contains(got, "\n\n## two") {
		t.Errorf("blank lines are off:\n%q", got)
	}
}

func TestRowsWithoutAVerdict(t *testing.T) {
	missing := Comparison{What: "flows", Goal: Goal{Ratio: 0.6}, Why: "there is no flow mode"}
	if got, want := missing.Row(), "| flows | not measured: there is no flow mode | 0 | >= 0.60 | not measured |"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	ours, peer := series(1.5)
	cost := Comparison{What: "a switch", Ours: ours, Peer: peer}
	if row := cost.Row(); !strings.HasSuffix(row, "| 10 | - | - |") {
		t.Error(row)
	}
	if !Decided([]*Comparison{&missing, &cost}) {
		t.Error("more rounds would change neither")
	}
	if text := (Section{More: []Table{Costs([]*Comparison{&cost})}}).text(); !strings.Contains(text, "What each switch costs:") {
		t.Error(text)
	}
}

// TestLimits: what falls short has its reason, those with the same one together; what does not, has none.
func TestLimits(t *testing.T) {
	row := func(what, limit string, ratio, goal float64) *Comparison {
		ours, peer := series(ratio)
		return &Comparison{What: what, Goal: Goal{Ratio: goal}, Ours: ours, Peer: peer, Limit: limit}
	}
	s := Section{Comparisons: []*Comparison{
		row("first", "the memory", 0.5, 1.5), row("reached", "no reason to say", 2, 1.5), row("second", "the copy", 0.5, 1.5), row("third", "the memory", 0.5, 2),
		{What: "elsewhere", Goal: Goal{Ratio: 1}, Why: "there is no such thing", Limit: "no figure, no reason"},
		{What: "without bounds", Goal: Goal{Ratio: 1.5}, Ours: []float64{1.2}, Peer: []float64{1}, Limit: "the copy"},
		{What: "a good one without", Goal: Goal{Ratio: 1.5}, Ours: []float64{1.6}, Peer: []float64{1}, Limit: "no reason to say"},
	}}
	want := "\nWhat keeps ratios from their goals:\n\n- **first; third.** the memory\n- **second; without bounds.** the copy\n"
	if text := s.text(); !strings.HasSuffix(text, want) {
		t.Errorf("got\n%s\nwant at its end\n%s", text, want)
	}
	if text := (Section{Comparisons: s.Comparisons[1:2]}).text(); strings.Contains(text, "keeps") {
		t.Error(text)
	}
	s.More = []Table{{Says: "Elsewhere", Rows: []*Comparison{row("first", "the memory", 0.4, 1.5), row("fourth", "the memory", 0.4, 1.5)}}, {Says: "Of nothing"}}
	want = strings.Replace(want, "first; third.", "first; third; fourth.", 1)
	if text := s.text(); !strings.HasSuffix(text, want) || !strings.Contains(text, "\n\nElsewhere:\n\n| what |") || strings.Contains(text, "Of nothing") {
		t.Errorf("got\n%s\nwant at its end\n%s", text, want)
	}
}

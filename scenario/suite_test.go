package scenario

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// parse reads a suite that must be valid.
func parse(t testing.TB, text string) Spec {
	t.Helper()
	spec, err := Parse([]byte(text), "s.yaml", words())
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return spec
}

// TestWhole compares a suite that has every key with the Spec that it becomes.
func TestWhole(t *testing.T) {
	text, err := os.ReadFile("testdata/whole.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got := asJSON(t, parse(t, string(text)))
	const golden = "testdata/whole.json"
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func asJSON(t testing.TB, spec Spec) []byte {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(spec); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestBeside: the load beside the traffic inherits like it, and goes with `none`.
func TestBeside(t *testing.T) {
	spec := parse(t, head+`
beside: {kind: datagram, packets: 1k/s}
cells:
  A: {path: wire, pairs: [{from: a, to: b}]}
  B: {like: A, beside: {packets: 2.5kpps}}
  C: {like: B, beside: none}
`)
	want := []struct {
		kind string
		rate float64
	}{{"datagram", 1000}, {"datagram", 2500}, {"", 0}}
	for i, w := range want {
		cell := spec.Cells[i]
		if cell.Beside != w.kind || cell.BesideLoad.Float("packets") != w.rate || (cell.BesideLoad == nil) != (w.kind == "") {
			t.Errorf("%s has %q %v beside it, want %v", cell.Name, cell.Beside, cell.BesideLoad, w)
		}
	}
}

func TestQueries(t *testing.T) {
	spec := parse(t, head+`
cells:
  A: {path: wire, pairs: [{from: a, to: b}]}
  B: {like: A}
  C: {like: A, pairs: [{from: {container: x, on: b}, to: {container: y, on: b}}]}
ratios: [B/A, C/A]
hypotheses:
  - {id: one, says: it, holds: B/A <= 1}
  - {id: two, says: it, holds: B/A <= 1 and C/B >= 1}
`)
	if _, ok := spec.Cell("D"); ok {
		t.Error("there is a cell D")
	}
	if c, ok := spec.Cell("C"); !ok || !cmp.Equal(c.Nodes(), []string{"b"}) {
		t.Errorf("C stands on %v", c.Nodes())
	}
	if got := len(spec.AllRatios()); got != 3 {
		t.Errorf("%d ratios in all", got)
	}
	only, err := spec.Only([]string{"B", "A"})
	if err != nil || !cmp.Equal(only.CellNames(), []string{"A", "B"}) || len(only.Ratios) != 1 || len(only.Hypotheses) != 1 {
		t.Errorf("only A and B: %v, %v", only, err)
	}
	if len(spec.Cells) != 3 || len(spec.Ratios) != 2 || len(spec.Hypotheses) != 2 {
		t.Error("the whole suite changed with it")
	}
	only, err = spec.Only([]string{"[AB]*", "C"})
	if err != nil || !cmp.Equal(only.CellNames(), []string{"A", "B", "C"}) {
		t.Errorf("by patterns: %v, %v", only.CellNames(), err)
	}
	for _, none := range []string{"D*", "[", ""} {
		if _, err := spec.Only([]string{none}); err == nil {
			t.Errorf("the pattern %q names cells", none)
		}
	}
	_, err = spec.Only([]string{"A", "BB"})
	if want := "suite s: unknown cell `BB`; did you mean `B`? (valid: A, B, C)"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

package scenario

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/txtar"
)

// FuzzParse reads whatever it is given. It must not panic nor take long; every
// error must name a place in the text; and what is accepted must be whole.
func FuzzParse(f *testing.F) {
	for _, text := range seeds(f) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		start := time.Now()
		spec, err := Parse(text, "s.yaml", words())
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("took %s", took)
		}
		if err != nil {
			checkErrors(t, text, err)
		} else {
			checkSpec(t, spec)
		}
		again, err2 := Parse(text, "s.yaml", words())
		if (err == nil) != (err2 == nil) || err != nil && err.Error() != err2.Error() {
			t.Errorf("first %v, then %v", err, err2)
		} else if err == nil && !bytes.Equal(asJSON(t, spec), asJSON(t, again)) {
			t.Error("the same text gave two suites")
		}
	})
}

// seeds are the shipped suites, the whole one, and every wrong one.
func seeds(t testing.TB) [][]byte {
	t.Helper()
	files, err := filepath.Glob("../suites/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no shipped suites: %v", err)
	}
	var all [][]byte
	for _, file := range append(files, "testdata/whole.yaml") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text)
	}
	archive, err := txtar.ParseFile("testdata/errors.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(archive.Files); i += 2 {
		all = append(all, []byte(unescaped(string(archive.Files[i].Data))))
	}
	return all
}

func checkErrors(t *testing.T, text []byte, err error) {
	t.Helper()
	var all *Errors
	if !errors.As(err, &all) || len(all.All) == 0 || len(all.All) > maxErrors {
		t.Fatalf("not a list of errors: %v", err)
	}
	lines := strings.Split(string(plainLines(text)), "\n")
	for _, e := range all.All {
		if e.Line < 1 || e.Line > len(lines)+1 || e.Column < 1 {
			t.Errorf("no such place: %v", e)
		} else if e.Line <= len(lines) && e.Column > utf8.RuneCountInString(lines[e.Line-1])+2 {
			t.Errorf("the line ends before: %v", e)
		}
		if e.Says == "" || strings.ContainsAny(e.Says, "\n\r\t\x1b") {
			t.Errorf("not one line: %q", e.Says)
		}
	}
}

func checkSpec(t *testing.T, spec Spec) {
	t.Helper()
	if spec.Suite == "" || len(spec.Nodes) == 0 || len(spec.Cells) == 0 || len(spec.Cells) > maxCells {
		t.Errorf("not whole: %d nodes, %d cells", len(spec.Nodes), len(spec.Cells))
	}
	vocab := words()
	for _, c := range spec.Cells {
		_, path := vocab.Paths[c.Path]
		_, kind := vocab.Kinds[c.Traffic]
		if !path || !kind || len(c.Pairs) == 0 || c.Wire.MTU < minMTU || c.Wire.MTU > maxMTU {
			t.Errorf("not whole: %+v", c)
		}
	}
	for _, ratio := range spec.AllRatios() {
		_, over := spec.Cell(ratio.Over)
		_, under := spec.Cell(ratio.Under)
		if !over || !under || ratio.Over == ratio.Under {
			t.Errorf("a ratio of nothing: %v", ratio)
		}
	}
}

package result

import (
	"errors"
	"runtime"
	"strings"
	"testing"
)

const runAndCell = `{"record":"run","format":1}` + "\n" + `{"record":"cell","cell":"A"}` + "\n"

// A line whose few bytes would become very many records is refused before it is decoded.
func TestReaderBoundsWhatALineBecomes(t *testing.T) {
	for name, element := range map[string]string{"empty records": "{},", "numbers": "0,", "nothing": "null,", "lists": "[],"} {
		line := `{"record":"trial","cell":"A","block":1,"pairs":[` + strings.TrimSuffix(strings.Repeat(element, maxLine/len(element)-100), ",") + "]}\n"
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Decode(strings.NewReader(runAndCell + line))
		runtime.ReadMemStats(&after)
		if err == nil || !strings.HasPrefix(err.Error(), "line 3: ") || !strings.Contains(err.Error(), "a line may have") {
			t.Errorf("%s: %.100v", name, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 64<<20 {
			t.Errorf("%s: a line of %d bytes took %d", name, len(line), took)
		}
	}
}

func TestReaderBoundsAllPairs(t *testing.T) {
	d := decoder{file: &File{}, cells: map[string]bool{"A": true}, pairs: maxPairs - 1}
	line := []byte(`{"record":"trial","cell":"A","block":1,"pairs":[{}]}`)
	if err := d.trial(line); err != nil {
		t.Error(err)
	}
	if err := d.trial(line); err == nil || !strings.Contains(err.Error(), "pairs in all trials") {
		t.Error(err)
	}
}

// TestWriterBoundsWhatARunHas: neither a record nor a file is written that no reader takes, and the end is, still.
func TestWriterBoundsWhatARunHas(t *testing.T) {
	many := Trial{Cell: "A", Block: 1, Pairs: []PairSample{{Receiver: PairEnd{Intervals: make([]Interval, MaxLineValues)}}}}
	small := Trial{Cell: "A", Block: 1, Nodes: map[string]NodeSample{"a": {CPUs: make([]CPUSample, 8)}}}
	for name, c := range map[string]struct {
		was   Writer
		trial Trial
		says  string
	}{
		"a record": {Writer{}, many, "may have"},
		"values":   {Writer{values: maxValues - 10}, small, "at most 33554432 values"},
		"bytes":    {Writer{kept: maxKept - 10}, small, "512 MiB"},
		"room":     {Writer{values: maxValues / 2, kept: maxKept / 2}, small, ""},
	} {
		dir := t.TempDir()
		w, err := Create(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		if err := errors.Join(w.Run(Run{}), w.Cell(Cell{Name: "A"})); err != nil {
			t.Fatal(err)
		}
		w.values, w.kept = c.was.values, c.was.kept
		if err := w.Trial(c.trial); (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v; it should say %q", name, err, c.says)
		}
		if err := w.End(End{Why: "failed"}); err != nil {
			t.Errorf("%s: the end: %v", name, err)
		}
		if f, err := Read(dir); err != nil || f.End == nil {
			t.Errorf("%s: it is read as %v, %v", name, f.End, err)
		}
	}
}

package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// full has every field of every record set, so that a field that does not survive
// the trip is seen.
func full() File {
	var f File
	fill(reflect.ValueOf(&f).Elem())
	f.Run.Record, f.Run.Format = RecordRun, Format
	f.Cells[0].Record, f.Cells[0].Topology = RecordCell, "a--b\n"
	s := &f.Searches[0]
	s.Record, s.Cell = RecordSearch, f.Cells[0].Name
	s.Found[0].Rate.Reason, s.Found[0].Reached.Reason = "", "" // a figure has a number or a reason
	s.Latencies[0].Seconds = map[string]Figure{"p50": s.Found[0].Rate}
	f.Trials[0].Record, f.Trials[0].Cell = RecordTrial, f.Cells[0].Name
	f.Profiles[0] = Profile{Record: RecordProfile, Cell: f.Cells[0].Name, Block: 1, Attempt: 1, Node: "x", WindowSeconds: 1, PeriodSeconds: 0.001, CPUs: []int{1},
		Taken: 7, Lost: 2, Cut: 1, Names: []string{"x"}, Tasks: []ProfileTask{{Name: "x", Whose: OfCell, Frames: []ProfileFrame{{-1, 0, 2}, {0, 0, 3}}}}}
	e := &f.Equal[0]
	e.Record, e.Cell, e.Trial.Cell = RecordEqual, f.Cells[0].Name, f.Cells[0].Name
	l := &f.Latencies[0]
	l.Record, l.Cell, l.At.Seconds = RecordLatency, f.Cells[0].Name, s.Latencies[0].Seconds
	for i := range e.Trial.Pairs {
		e.Trial.Pairs[i].flatten()
	}
	for i := range f.Trials[0].Pairs {
		f.Trials[0].Pairs[i].flatten()
	}
	f.End.Record = RecordEnd
	f.Unknown, f.Doubts = map[string]int{}, nil
	return f
}

func fill(v reflect.Value) { fillWithin(v, 3) }

// fillWithin goes so many pointers deep: a PairEnd may hold another one.
func fillWithin(v reflect.Value, depth int) {
	fill := func(v reflect.Value) { fillWithin(v, depth) }
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int:
		v.SetInt(3)
	case reflect.Uint64:
		v.SetUint(math.MaxUint64)
	case reflect.Float64:
		v.SetFloat(0.1)
	case reflect.Interface:
		v.Set(reflect.ValueOf(131072.0)) // as JSON has it
	case reflect.Pointer:
		if depth > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fillWithin(v.Elem(), depth-1)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Array: // of numbers, which are set by whoever knows them
	default:
		panic("a record has a field of kind " + v.Kind().String())
	}
}

// write makes a run's folder of a file.
func write(t *testing.T, f File) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "runs", "one")
	w, err := Create(dir)
	errs := []error{err, w.Run(f.Run)}
	for _, c := range f.Cells {
		errs = append(errs, w.Cell(c))
	}
	for _, s := range f.Searches {
		errs = append(errs, w.Search(s))
	}
	for _, trial := range f.Trials {
		errs = append(errs, w.Trial(trial))
	}
	for _, p := range f.Profiles {
		errs = append(errs, w.Profile(p))
	}
	for _, e := range f.Equal {
		errs = append(errs, w.EqualRate(e))
	}
	for _, l := range f.Latencies {
		errs = append(errs, w.Latency(l))
	}
	if f.End != nil {
		errs = append(errs, w.End(*f.End))
	}
	if err := errors.Join(append(errs, w.Close())...); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestRoundTrip(t *testing.T) {
	want := full()
	dir := write(t, want)
	for _, path := range []string{dir, filepath.Join(dir, FileName)} {
		got, err := Read(path)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", path, d)
		}
	}
}

func TestCreateRefusesAFolderThatHoldsSomething(t *testing.T) {
	dir := t.TempDir()
	if w, err := Create(dir); err != nil {
		t.Fatal("an empty folder:", err)
	} else if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(dir); err == nil || !strings.Contains(err.Error(), FileName) {
		t.Errorf("a folder with a run: %v", err)
	}
	if _, err := Create(filepath.Join(dir, FileName, "below")); err == nil {
		t.Error("a folder under a file: no error")
	}
}

func TestFullDisk(t *testing.T) {
	disk, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full here:", err)
	}
	w := &Writer{file: disk}
	first := w.Trial(Trial{})
	if first == nil || !strings.Contains(first.Error(), "no space left") {
		t.Errorf("got %v", first)
	}
	if again := w.End(End{}); !errors.Is(again, first) {
		t.Errorf("a write after it: %v", again)
	}
}

// TestFullDiskFromTheBeginning: a run of which nothing could be kept leaves nothing, and does not say that its records are kept.
func TestFullDiskFromTheBeginning(t *testing.T) {
	there := t.TempDir()
	for name, dir := range map[string]string{"a folder that was there": there, "one that was made": filepath.Join(t.TempDir(), "run")} {
		w, err := Create(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.fail(0, errors.New("no space left on device")); !strings.Contains(err.Error(), "nothing of this run") {
			t.Errorf("%s: %v", name, err)
		}
		if err := w.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if entries, err := os.ReadDir(dir); len(entries) > 0 || os.IsNotExist(err) != (dir != there) {
			t.Errorf("%s: %v, %v", name, entries, err)
		}
	}
}

func TestHalfALineIsTakenBack(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Run(full().Run); err != nil {
		t.Fatal(err)
	}
	if _, err := w.file.WriteString(`{"record":"tri`); err != nil {
		t.Fatal(err)
	}
	if err := w.fail(14, errors.New("no space left on device")); err == nil {
		t.Fatal("no error")
	}
	f, err := Read(dir)
	if err != nil || len(f.Doubts) != 1 || f.Doubts[0].Kind != "no-end" {
		t.Errorf("%v %v", f.Doubts, err)
	}
}

func TestARecordThatCannotBeEncoded(t *testing.T) {
	w, err := Create(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Trial(Trial{WindowSeconds: math.NaN()}); err == nil {
		t.Error("NaN was written")
	}
	if err := w.Trial(Trial{Excluded: strings.Repeat("x", maxLine)}); err == nil {
		t.Error("a line that no reader takes was written")
	}
}

const (
	runLine   = `{"record":"run","format":1,"suite":"s"}`
	cellLine  = `{"record":"cell","cell":"A"}`
	trialLine = `{"record":"trial","cell":"A","block":1}`
	endLine   = `{"record":"end","why":"budget"}`
)

func TestDecodeWhatARunLeaves(t *testing.T) {
	for name, c := range map[string]struct {
		text   string
		trials int
		doubts string
	}{
		"whole":           {runLine + "\n" + cellLine + "\n" + trialLine + "\n" + endLine + "\n", 1, ""},
		"no last newline": {runLine + "\n" + cellLine + "\n" + trialLine + "\n" + endLine, 1, ""},
		"killed":          {runLine + "\n" + cellLine + "\n" + trialLine + "\n", 1, "no-end"},
		"cut off":         {runLine + "\n" + cellLine + "\n" + trialLine + "\n" + trialLine[:20], 1, "cut-off no-end"},
		"no trial yet":    {runLine + "\n", 0, "no-end"},
		"unknown record":  {runLine + "\n" + `{"record":"weather","of":"today"}` + "\n" + endLine + "\n", 0, ""},
		"unknown field":   {`{"record":"run","format":1,"color":"red"}` + "\n" + endLine + "\n", 0, ""},
		"empty lines":     {runLine + "\n\n" + endLine + "\n\n", 0, ""},
	} {
		f, err := Decode(strings.NewReader(c.text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var kinds []string
		for _, d := range f.Doubts {
			kinds = append(kinds, d.Kind)
		}
		if len(f.Trials) != c.trials || strings.Join(kinds, " ") != c.doubts {
			t.Errorf("%s: %d trials, doubts %v", name, len(f.Trials), kinds)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	searchLine := func(cell string) string { return `{"record":"search","cell":"` + cell + `"}` + "\n" }
	for name, c := range map[string]struct{ text, says string }{
		"stray search":    {runLine + "\n" + searchLine("A"), `cell "A"`},
		"two searches":    {runLine + "\n" + cellLine + "\n" + searchLine("A") + searchLine("A"), "a second search"},
		"no results":      {runLine + "\n" + cellLine + "\n" + `{"record":"search","cell":"A","goals":[{}]}` + "\n", "1 goals and 0 results"},
		"nothing":         {"", "empty"},
		"not a run":       {`{"record":"cell","cell":"A"}` + "\n", "line 1: the first record"},
		"no JSON":         {"hello\n", "line 1: not a record"},
		"cut at once":     {runLine[:9], "line 1"},
		"newer":           {`{"record":"run","format":2}` + "\n", "newer windtunnel"},
		"no format":       {`{"record":"run"}` + "\n", "format 0"},
		"two runs":        {runLine + "\n" + runLine + "\n", "line 2: a second run"},
		"broken middle":   {runLine + "\n" + `{"record":` + "\n" + endLine + "\n", "line 2: not a record"},
		"wrong type":      {runLine + "\n" + `{"record":"cell","cell":7}` + "\n", "line 2"},
		"nameless cell":   {runLine + "\n" + `{"record":"cell"}` + "\n", "without a name"},
		"same cell":       {runLine + "\n" + cellLine + "\n" + cellLine + "\n", "line 3: cell A is there twice"},
		"stray trial":     {runLine + "\n" + trialLine + "\n", `cell "A"`},
		"block 0":         {runLine + "\n" + cellLine + "\n" + `{"record":"trial","cell":"A"}` + "\n", "block 0"},
		"long line":       {runLine + "\n" + strings.Repeat("x", maxLine+2), "line 2: longer than"},
		"many cells":      {runLine + "\n" + manyCells(), "more than 10000 cells"},
		"deep nesting":    {strings.Repeat("[", 1<<20) + "\n", "line 1"},
		"after empty one": {runLine + "\n\n" + "hello\n", "line 3"},
	} {
		_, err := Decode(strings.NewReader(c.text))
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %.200v, want %q", name, err, c.says)
		}
	}
}

func manyCells() string {
	var b strings.Builder
	for i := range maxCells + 1 {
		line, _ := json.Marshal(Cell{Record: RecordCell, Name: strings.Repeat("x", i%50) + string(rune('0'+i%10)) + strings.Repeat("y", i/50)})
		b.Write(line)
		b.WriteByte('\n')
	}
	return b.String()
}

func TestTextsAreCleaned(t *testing.T) {
	hostile := "a\x1b[31m\u009b2J\u202eb\x00\u200b\nc"
	f := full()
	f.Cells[0].Says, f.Cells[0].Topology, f.Cells[0].Configuration = hostile, hostile, hostile
	f.Cells[0].Layout = map[string]string{hostile: hostile}
	f.Cells[0].Load = Options{hostile: []any{hostile, map[string]any{hostile: hostile}}}
	f.Run.Command = []string{hostile}
	got, err := Read(write(t, f))
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(got); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{`\u001b`, "\u009b", "\u202e", `\u0000`, "\u200b"} {
		if strings.Contains(text.String(), bad) {
			t.Errorf("%q is left in %s", bad, text.String())
		}
	}
	if !strings.Contains(got.Cells[0].Topology, "\nc") || !strings.Contains(got.Cells[0].Configuration, "\nc") || strings.Contains(got.Cells[0].Says, "\n") {
		t.Errorf("line ends: %q %q", got.Cells[0].Topology, got.Cells[0].Says)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(runLine + "\n" + cellLine + "\n" + trialLine + "\n" + endLine))
	f.Add([]byte(runLine + "\n" + `{"record":"cell","cell":"\u001b","load":{"a":[null,{"b":1e999}]}}`))
	f.Add([]byte(`{"record":"run","format":1,"nodes":[{"fingerprint":{"":""}}],"ratios":[{}],"hypotheses":[{"holds":{"all":[{}]}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := Decode(bytes.NewReader(text))
		if err != nil {
			return
		}
		for _, c := range file.Cells {
			for _, trial := range file.Trials {
				for _, m := range []Metric{ReceivedRate, SentRate, SenderCost, TogetherCost, WirePacketSize, EndpointPacketSize, Retransmits, CPUPercent("a")} {
					_, _ = c.Value(trial, m)
				}
			}
		}
		if _, err := json.Marshal(file.Run); err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
	})
}

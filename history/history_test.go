package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"windtunnel/analysis"
	"windtunnel/result"
)

// writeRun writes a run of one cell with two trials.
func writeRun(t testing.TB, dir, name, suite string, day int, megabits float64) {
	t.Helper()
	w, err := result.Create(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	errs := []error{w.Run(result.Run{Suite: suite, ID: name, StartedAt: fmt.Sprintf("2026-01-%02dT00:00:00Z", day), Wire: "nic",
		Nodes:  []result.RunNode{{Name: "a", CPUs: []int{0}, Fingerprint: result.Fingerprint{"cpu.model": "X"}}},
		Ratios: []result.Ratio{{Metric: result.ReceivedRate, Over: "B", Under: "A"}}})}
	for _, cell := range []string{"A", "B"} {
		errs = append(errs, w.Cell(result.Cell{Name: cell, Path: "wire", Traffic: "stream", Load: result.Options{"streams": 1}, Topology: "drawn\n",
			Pairs: []result.Pair{{From: result.Place{Node: "a"}, To: result.Place{Node: "b"}}}}))
	}
	for block := 1; block <= 2; block++ {
		for _, cell := range []string{"A", "B"} {
			end := result.PairEnd{WindowSeconds: 1, Bytes: uint64(megabits * 1e6 / 8)}
			errs = append(errs, w.Trial(result.Trial{Cell: cell, Block: block, WindowSeconds: 1, Pairs: []result.PairSample{{From: "a", To: "b", Sender: end, Receiver: end}}}))
		}
	}
	if err := errors.Join(append(errs, w.End(result.End{Why: "budget"}), w.Close())...); err != nil {
		t.Fatal(err)
	}
}

func load(t testing.TB, dir string, o Options) Found {
	t.Helper()
	found, err := Load(context.Background(), dir, "s", o)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// rates are what the runs received, in Mbit/s.
func rates(found Found) string {
	var all []string
	for _, p := range analysis.HistoryOf("s", found.Past, nil).Runs {
		if len(p.Cells) == 0 {
			continue // it is being written
		}
		all = append(all, fmt.Sprintf("%.0f", p.Cells[0].Figure(result.ReceivedRate).Mean/1e6))
	}
	return strings.Join(all, " ")
}

func TestIndexFollowsTheRuns(t *testing.T) {
	dir := t.TempDir()
	for i, rate := range []float64{100, 200, 300} {
		writeRun(t, dir, fmt.Sprint("run", i), "s", 10+i, rate)
	}
	writeRun(t, dir, "other", "z", 1, 900)
	check := func(name string, o Options, read int, want string) Found {
		t.Helper()
		found := load(t, dir, o)
		if found.Read != read || rates(found) != want || found.Notice != "" {
			t.Errorf("%s: read %d runs, want %d; %s, want %s; %s", name, found.Read, read, rates(found), want, found.Notice)
		}
		return found
	}
	check("at first", Options{}, 4, "100 200 300")
	found := check("as it was", Options{}, 0, "100 200 300")
	if fmt.Sprint(found.Suites) != "[s z]" || len(found.Past[0].Ratios) != 1 || found.Past[0].Cells[0].Spec.Topology != "" {
		t.Errorf("%v %+v", found.Suites, found.Past[0])
	}
	writeRun(t, dir, "run3", "s", 1, 50)
	check("one more, of an earlier day", Options{}, 1, "50 100 200 300")
	if err := os.RemoveAll(filepath.Join(dir, "run1")); err != nil {
		t.Fatal(err)
	}
	check("one less", Options{}, 0, "50 100 300")
	if err := os.RemoveAll(filepath.Join(dir, "run2")); err != nil {
		t.Fatal(err)
	}
	writeRun(t, dir, "run2", "s", 12, 333333)
	check("another in its place", Options{}, 1, "50 100 333333")
	check("rebuilt", Options{Rebuild: true}, 4, "50 100 333333")
	check("of another version of this program", Options{Version: "v2"}, 4, "50 100 333333")
	if err := os.Remove(filepath.Join(dir, indexName)); err != nil {
		t.Fatal(err)
	}
	check("without its index", Options{Version: "v2"}, 4, "50 100 333333")
	leavesNothingElse(t, dir)
}

func leavesNothingElse(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !e.IsDir() && e.Name() != indexName {
			t.Errorf("left %s", e.Name())
		}
	}
}

// spoil makes an index that is not to be believed.
var spoil = map[string]func(t *testing.T, index string){
	"no database": func(t *testing.T, index string) { write(t, index, []byte("not a database at all, but some text")) },
	"empty":       func(t *testing.T, index string) { write(t, index, nil) },
	"cut off": func(t *testing.T, index string) {
		text, err := os.ReadFile(index)
		if err != nil {
			t.Fatal(err)
		}
		write(t, index, text[:len(text)/2])
	},
	"scribbled over": func(t *testing.T, index string) {
		text, err := os.ReadFile(index)
		if err != nil {
			t.Fatal(err)
		}
		for i := 4096; i < len(text); i++ {
			text[i] ^= byte(i * 7)
		}
		write(t, index, text)
	},
	"of another program":       func(t *testing.T, index string) { database(t, index, "CREATE TABLE theirs (x)") },
	"with a text for a number": func(t *testing.T, index string) { alter(t, index, "UPDATE figures SET mean = 'x'") },
	"with half a record":       func(t *testing.T, index string) { alter(t, index, "UPDATE runs SET head = substr(head, 20)") },
	"with a trigger": func(t *testing.T, index string) {
		all := append(append([]string{}, schema...), fmt.Sprintf("PRAGMA application_id = %d", application), "INSERT INTO about VALUES ('')",
			"CREATE TRIGGER evil AFTER DELETE ON runs BEGIN INSERT INTO about VALUES ('evil'); END")
		database(t, index, all...)
	},
}

func write(t *testing.T, file string, text []byte) {
	t.Helper()
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

func database(t *testing.T, file string, statements ...string) {
	t.Helper()
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	alter(t, file, statements...)
}

func alter(t *testing.T, file string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatal(err)
		}
	}
}

func TestBrokenIndexIsMadeAnew(t *testing.T) {
	for name, broken := range spoil {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			writeRun(t, dir, "run0", "s", 1, 100)
			writeRun(t, dir, "run1", "s", 2, 200)
			load(t, dir, Options{})
			broken(t, filepath.Join(dir, indexName))
			if found := load(t, dir, Options{}); found.Read != 2 || rates(found) != "100 200" {
				t.Errorf("read %d: %s", found.Read, rates(found))
			}
			if found := load(t, dir, Options{}); found.Read != 0 || rates(found) != "100 200" {
				t.Errorf("the second time read %d: %s", found.Read, rates(found))
			}
			leavesNothingElse(t, dir)
		})
	}
}

// Where the index cannot be put, the history is told all the same.
func TestIndexThatCannotBeKept(t *testing.T) {
	dir := t.TempDir()
	writeRun(t, dir, "run0", "s", 1, 100)
	if err := os.MkdirAll(filepath.Join(dir, indexName, "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	if found := load(t, dir, Options{}); rates(found) != "100" || !strings.Contains(found.Notice, "not kept") {
		t.Errorf("%s %q", rates(found), found.Notice)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, temporaryName)); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// TestIndexThatHasNoRoom: the disk is full when some runs are noted already, of which the index that was there is none the worse.
func TestIndexThatHasNoRoom(t *testing.T) {
	dir, ctx := t.TempDir(), context.Background()
	writeRun(t, dir, "run0", "s", 1, 100)
	load(t, dir, Options{})
	for day := range 9 {
		writeRun(t, dir, fmt.Sprint("run", 1+day), "s", 2+day, 200)
	}
	there, err := scan(dir)
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(dir, indexName))
	if err != nil {
		t.Fatal(err)
	}
	ix := open(ctx, dir, Options{})
	defer ix.close()
	if err := ix.changeable(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := ix.db.Exec("PRAGMA max_page_count = 1"); err != nil { // no more than there are: SQLite says what it says of a full disk
		t.Fatal(err)
	}
	read, err := ix.follow(ctx, there)
	var found Found
	if err = errors.Join(err, ix.suite(ctx, "s", &found), ix.keep()); err != nil {
		t.Fatal(err)
	}
	if read != 10 || rates(found) != "100 200 200 200 200 200 200 200 200 200" || !strings.Contains(ix.notice, "is full") {
		t.Errorf("read %d: %s; %s", read, rates(found), ix.notice)
	}
	if after, _ := os.ReadFile(filepath.Join(dir, indexName)); string(after) != string(before) {
		t.Error("the index that was there is another one")
	}
	leavesNothingElse(t, dir)
}

// Programs that look at the same time, while runs come, each tell what is there.
func TestManyAtOnce(t *testing.T) {
	dir := t.TempDir()
	for i := range 4 {
		writeRun(t, dir, fmt.Sprint("run", i), "s", 1+i, float64(100*(i+1)))
	}
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			for range 3 {
				found, err := Load(context.Background(), dir, "s", Options{})
				if err != nil || !strings.HasPrefix(rates(found), "100 200 300 400") || found.Notice != "" {
					t.Errorf("%v: %s %s", err, rates(found), found.Notice)
				}
			}
		})
	}
	writeRun(t, dir, "run9", "s", 20, 900)
	all.Wait()
	if found := load(t, dir, Options{}); rates(found) != "100 200 300 400 900" {
		t.Errorf("in the end %s", rates(found))
	}
	leavesNothingElse(t, dir)
}

func TestKilledProgramsCopiesAreSwept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs[1]") // which is no pattern
	writeRun(t, dir, "run0", "s", 1, 100)
	old, young := filepath.Join(dir, "index.sqlite.1.tmp"), filepath.Join(dir, "index.sqlite.2.tmp")
	write(t, old, []byte("x"))
	write(t, young, []byte("x"))
	before := time.Now().Add(-2 * abandonedFor)
	if err := os.Chtimes(old, before, before); err != nil {
		t.Fatal(err)
	}
	load(t, dir, Options{})
	if _, err := os.Stat(old); err == nil {
		t.Error("an old copy is left")
	}
	if _, err := os.Stat(young); err != nil {
		t.Error("a copy that somebody may be writing is gone")
	}
}

// Runs that cannot be read are named, and cost the others nothing.
func TestHostileRuns(t *testing.T) {
	dir := t.TempDir()
	writeRun(t, dir, "good", "s", 1, 100)
	line := `{"record":"run","format":1,"suite":"s","run":"x"}` + "\n"
	var many strings.Builder
	many.WriteString(line)
	for i := range 10_001 {
		fmt.Fprintf(&many, "{\"record\":\"cell\",\"cell\":\"c%d\"}\n", i)
	}
	for name, text := range map[string]string{
		"edited": line + "this is no record\n", "newer": strings.Replace(line, `"format":1`, `"format":99`, 1), "cells": many.String(),
		"empty": "", "cut\x1b[2J": line[:20], "script": strings.Replace(line, `"x"`, `"<script>\u001b[31m"`, 1),
	} {
		folder := filepath.Join(dir, name)
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(folder, result.FileName), []byte(text))
	}
	if err := os.MkdirAll(filepath.Join(dir, "folder", result.FileName), 0o755); err != nil {
		t.Fatal(err)
	}
	for range 2 { // as read, and by the index
		found := load(t, dir, Options{})
		if len(found.Past) != 2 || len(found.Left) != 6 {
			t.Errorf("%d runs, left %v", len(found.Past), found.Left)
		}
		for _, l := range found.Left {
			if l.Why == "" || strings.Contains(l.Why, "\x1b") {
				t.Errorf("%q", l)
			}
		}
	}
}

// An index that is ours by its form may have been written by anybody.
func TestHostileIndex(t *testing.T) {
	for what, statement := range map[string]string{
		"a ratio's metric":           "UPDATE ratios SET metric = char(27) || '[2J'",
		"a ratio's metric, reversed": "UPDATE ratios SET metric = metric || char(8238)",
		"a figure beyond all":        "UPDATE figures SET mean = 9e999",
		"bounds beyond all":          "UPDATE figures SET low = -9e999, high = 9e999",
		"a ratio beyond all":         "UPDATE ratios SET estimate = 9e999",
		"no trials":                  "UPDATE figures SET n = -1",
	} {
		dir := t.TempDir()
		writeRun(t, dir, "run0", "s", 1, 100)
		writeRun(t, dir, "run1", "s", 2, 100)
		load(t, dir, Options{})
		alter(t, filepath.Join(dir, indexName), statement)
		for _, p := range load(t, dir, Options{}).Past {
			for _, r := range p.Ratios {
				if name := r.Ratio.Short(); name != result.Clean(name) || math.IsInf(r.Estimate.Estimate, 0) {
					t.Errorf("%s: %q %v", what, name, r.Estimate)
				}
			}
			for _, c := range p.Cells {
				if f := c.Figure(result.ReceivedRate); f.Known() && math.IsInf(f.Mean, 0) || f.N < 0 || f.Low != nil || f.High != nil {
					t.Errorf("%s: %+v", what, f)
				}
			}
		}
	}
}

func TestNoFolderOfRuns(t *testing.T) {
	dir := t.TempDir()
	writeRun(t, dir, "run0", "s", 1, 100)
	for folder, want := range map[string]string{
		filepath.Join(dir, "nowhere"): "--runs", filepath.Join(dir, "run0"): "is a run itself", t.TempDir(): "holds no run",
	} {
		if _, err := Load(context.Background(), folder, "s", Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", folder, err)
		}
		if _, err := os.Stat(filepath.Join(folder, indexName)); err == nil {
			t.Errorf("%s: an index was made", folder)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Load(ctx, dir, "s", Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// did is the exit code of a command, and what it said.
func did(args ...string) (code int, said string) {
	var out, errs bytes.Buffer
	code = windtunnel(args, nil, &out, &errs)
	return code, out.String() + errs.String()
}

// importRun imports so many tests of a rate as trials of cell A.
func importRun(t *testing.T, name string, trials int, megabits float64, streams int) string {
	t.Helper()
	dir := t.TempDir()
	out := filepath.Join(dir, name)
	args := []string{"import", "--cell", "A", "--out", out}
	for i := range trials {
		file := filepath.Join(dir, fmt.Sprintf("%d.json", i))
		bytes := megabits * 1e6 / 8 * 10 * (1 + 0.002*float64(i*7%5-2))
		text := fmt.Sprintf(`{"start":{"connecting_to":{"host":"h"},"test_start":{"protocol":"TCP","num_streams":%d,"blksize":1}},"end":{"sum_received":{"seconds":10,"bytes":%.0f}}}`, streams, bytes)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		args = append(args, file)
	}
	if code, said := did(args...); code != exitDone {
		t.Fatalf("%d: %s", code, said)
	}
	return out
}

// The exit codes are those that the documents promise to CI.
func TestGateExitCodes(t *testing.T) {
	before, few := importRun(t, "before", 6, 1000, 1), importRun(t, "few", 3, 500, 1)
	for name, c := range map[string]struct {
		after string
		want  int
	}{
		"alike": {importRun(t, "same", 6, 1000, 1), exitDone}, "a little worse": {importRun(t, "little", 6, 980, 1), exitDone},
		"worse": {importRun(t, "worse", 6, 800, 1), exitGate}, "better": {importRun(t, "better", 6, 1300, 1), exitDone},
		"too few": {few, exitUnusable}, "other traffic": {importRun(t, "other", 6, 100, 4), exitUnusable},
		"missing": {"nowhere", exitRefused},
	} {
		if code, said := did("compare", before, c.after, "--gate", "5%"); code != c.want {
			t.Errorf("%s: exit code %d, want %d: %s", name, code, c.want, said)
		}
		if c.want == exitRefused {
			continue
		}
		if code, said := did("compare", before, c.after); code != exitDone {
			t.Errorf("%s without a gate: exit code %d: %s", name, code, said)
		}
	}
}

// TestWhatCannotBeReadIsRefused: the same code, whatever the run is wanted for.
func TestWhatCannotBeReadIsRefused(t *testing.T) {
	good, edited := importRun(t, "good", 6, 1000, 1), filepath.Join(t.TempDir(), "run.jsonl")
	if err := os.WriteFile(edited, []byte("{}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{edited, filepath.Join(t.TempDir(), "nowhere.jsonl")} {
		for _, args := range [][]string{
			{"report", bad}, {"report", bad, "--format", "html", "--out", t.TempDir()}, {"explain", bad, "B/A"},
			{"compare", bad, good}, {"compare", good, bad, "--gate", "5%"},
		} {
			if code, said := did(args...); code != exitRefused {
				t.Errorf("%v: exit code %d: %s", args, code, said)
			}
		}
	}
}

// TestPercentagesHaveTheirSign in all flags alike.
func TestPercentagesHaveTheirSign(t *testing.T) {
	run := importRun(t, "run", 6, 1000, 1)
	for _, text := range []string{"5", "0%", "100%", "-1%", "NaN%", "often"} {
		for _, args := range [][]string{{"compare", run, run, "--gate", text}, {"plan", "wire-aa", "--precision", text}} {
			if code, said := did(args...); code != exitRefused || !strings.Contains(said, "write 5% for 5 per cent") {
				t.Errorf("%v: exit code %d: %s", args, code, said)
			}
		}
	}
}

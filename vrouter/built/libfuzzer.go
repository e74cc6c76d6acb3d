package built

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Fuzzer is a program made with libFuzzer, and its inputs.
type Fuzzer struct {
	Program string
	Known   string   // a file of inputs that are tried every time, a line of hexadecimal digits each
	Seeds   [][]byte // others
	Longest int      // bytes of an input
	// Time is for how long it looks for new inputs, on all CPUs together; 0 tries what is there.
	Time time.Duration
	// Keep writes those that reach more of the program into Known.
	Keep bool
}

// Run fails the test with the input that shows a finding.
func (f Fuzzer) Run(t *testing.T) {
	t.Helper()
	corpus := filepath.Join(t.TempDir(), "corpus")
	if err := os.Mkdir(corpus, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, input := range append(f.known(t), f.Seeds...) {
		writeInput(t, corpus, input)
	}
	f.run(t, corpus, "-runs=0")
	if f.Time > 0 {
		f.search(t, corpus)
	}
	if f.Keep {
		f.keep(t, corpus)
	}
}

// progress is what libFuzzer prints of its own work, a line an input.
var progress = regexp.MustCompile(`(?m)^(#\d+\t|\tNEW_FUNC).*\n`)

// search shares the time among a process a CPU. They have one corpus, in which each looks for what the others
// found (-reload), and seeds of their own.
func (f Fuzzer) search(t *testing.T, corpus string) {
	t.Helper()
	each := f.Time/time.Duration(runtime.NumCPU()) + time.Second - 1
	var all sync.WaitGroup
	for range runtime.NumCPU() {
		all.Go(func() { f.fuzz(t, corpus, fmt.Sprintf("-max_total_time=%d", each/time.Second)) })
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// run is fuzz, and ends a test that failed.
func (f Fuzzer) run(t *testing.T, args ...string) {
	t.Helper()
	if !f.fuzz(t, args...) {
		t.FailNow()
	}
}

func (f Fuzzer) fuzz(t *testing.T, args ...string) bool {
	t.Helper()
	finding := filepath.Join(t.TempDir(), "finding")
	fuzz := exec.Command(f.Program, append([]string{"-exact_artifact_path=" + finding, fmt.Sprintf("-max_len=%d", f.Longest), "-timeout=10", "-print_final_stats=1"}, args...)...)
	text, err := fuzz.CombinedOutput()
	if err == nil {
		if f.Time > 0 {
			t.Logf("%s", lastLines(text, 8))
		}
		return true
	}
	if input, err := os.ReadFile(finding); err == nil {
		t.Errorf("add this line to %s, so that it is never forgotten:\n%s", f.Known, hex.EncodeToString(input))
	}
	t.Errorf("%v\n%s", err, lastLines(progress.ReplaceAll(text, nil), 150))
	return false
}

func lastLines(text []byte, most int) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(len(lines)-most, 0):], "\n")
}

func (f Fuzzer) known(t *testing.T) (inputs [][]byte) {
	t.Helper()
	file, err := os.Open(f.Known)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		input, err := hex.DecodeString(lines.Text())
		if err != nil {
			t.Fatalf("%s: %v", f.Known, err)
		}
		inputs = append(inputs, input)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return inputs
}

// writeInput names it as libFuzzer does, by what is in it.
func writeInput(t *testing.T, folder string, input []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%x", sha256.Sum256(input))), input, 0o600); err != nil {
		t.Fatal(err)
	}
}

// keep writes the few inputs that reach all that the corpus does beside the seeds.
func (f Fuzzer) keep(t *testing.T, corpus string) {
	t.Helper()
	few := t.TempDir()
	given := make(map[string]bool)
	for _, input := range f.Seeds {
		writeInput(t, few, input)
		given[string(input)] = true
	}
	f.run(t, "-merge=1", few, corpus)
	files, err := os.ReadDir(few)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, file := range files {
		input, err := os.ReadFile(filepath.Join(few, file.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if !given[string(input)] {
			lines = append(lines, hex.EncodeToString(input)+"\n")
		}
	}
	slices.SortFunc(lines, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	if err := os.WriteFile(f.Known, []byte(strings.Join(lines, "")), 0o644); err != nil {
		t.Fatal(err)
	}
}

package core_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/internal/golden"
)

var (
	libFuzzer = flag.Duration("libfuzzer", 0, "for how long TestLibFuzzer looks for new inputs; 0: it tries the known ones only")
	keep      = flag.Bool("keep", false, "TestLibFuzzer keeps the inputs that reach more of the core, in testdata/corpus.txt")
)

// TestLibFuzzer gives the golden frames and the inputs of testdata/corpus.txt to the fuzzer of
// testdata/fuzz.c and, with -libfuzzer, what it makes of them.
func TestLibFuzzer(t *testing.T) {
	program := buildFuzzer(t)
	folder := t.TempDir()
	corpus := filepath.Join(folder, "corpus")
	if err := os.Mkdir(corpus, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, input := range append(seeds(t, program+".tables"), knownInputs(t)...) {
		writeInput(t, corpus, input)
	}
	runFuzzer(t, program, corpus, "-runs=0")
	if *libFuzzer > 0 {
		runFuzzer(t, program, corpus, fmt.Sprintf("-max_total_time=%d", int((*libFuzzer+time.Second-1)/time.Second)))
	}
	if *keep {
		keepInputs(t, program, corpus)
	}
}

// buildFuzzer needs clang: gcc has no libFuzzer.
func buildFuzzer(t *testing.T) string {
	t.Helper()
	for _, compiler := range []string{"clang-19", "clang"} {
		path, err := exec.LookPath(compiler)
		if err != nil {
			continue
		}
		out := filepath.Join(t.TempDir(), "fuzz")
		sources := filepath.Join(golden.Folder(), "testdata")
		build := exec.Command(path, "-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas",
			"-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=all", "-o", out,
			filepath.Join(sources, "fuzz.c"), filepath.Join(sources, "fuzz_traced.c"))
		text, err := build.CombinedOutput()
		if err != nil && bytes.Contains(text, []byte("libclang_rt.fuzzer")) {
			t.Skipf("skip: %s comes without libFuzzer (Debian: apt-get install libclang-rt-19-dev)", compiler)
		}
		if err != nil {
			t.Fatalf("compiling the fuzzer with %s: %v\n%s", compiler, err, text)
		}
		return out
	}
	t.Skip("skip: needs clang with libFuzzer (Debian: apt-get install clang-19 libclang-rt-19-dev)")
	return ""
}

// progress is what libFuzzer prints of its own work, a line an input.
var progress = regexp.MustCompile(`(?m)^(#\d+\t|\tNEW_FUNC).*\n`)

// runFuzzer fails the test with the input that shows a finding.
func runFuzzer(t *testing.T, program string, args ...string) {
	t.Helper()
	finding := filepath.Join(filepath.Dir(program), "finding")
	fuzz := exec.Command(program, append([]string{"-exact_artifact_path=" + finding, "-max_len=1024", "-timeout=10", "-print_final_stats=1"}, args...)...)
	text, err := fuzz.CombinedOutput()
	if err == nil {
		if *libFuzzer > 0 {
			t.Logf("%s", lastLines(text, 8))
		}
		return
	}
	if input, err := os.ReadFile(finding); err == nil {
		t.Errorf("add this line to testdata/corpus.txt, so that it is never forgotten:\n%s", hex.EncodeToString(input))
	}
	t.Fatalf("%v\n%s", err, lastLines(progress.ReplaceAll(text, nil), 150))
}

func lastLines(text []byte, most int) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(len(lines)-most, 0):], "\n")
}

// seeds are the golden frames as the fuzzer has them; their tables are written beside it.
func seeds(t *testing.T, tables string) (inputs [][]byte) {
	t.Helper()
	cases, c := golden.Load(t)
	image, err := c.Image(golden.Facts(ifindex), config.Image{})
	if err != nil {
		t.Fatal(err)
	}
	flat := image.Flat()
	if err := os.WriteFile(tables, bytes.Join(flat[:], nil), 0o600); err != nil {
		t.Fatal(err)
	}
	slots := make(map[uint32]uint32)
	for slot, vif := range image.Vifs {
		slots[vif.Ifindex] = slot
	}
	for _, k := range cases {
		frame, err := hex.DecodeString(k.In)
		if err != nil {
			t.Fatal(err)
		}
		const repair = 0x80
		head := []byte{byte(slots[ifindex[k.At]]), repair}
		head = binary.LittleEndian.AppendUint16(head, uint16(k.GSO))
		inputs = append(inputs, append(binary.LittleEndian.AppendUint32(head, 0), frame...))
	}
	return inputs
}

func corpusFile() string { return filepath.Join(golden.Folder(), "testdata", "corpus.txt") }

// knownInputs are the lines of corpus.txt.
func knownInputs(t *testing.T) (inputs [][]byte) {
	t.Helper()
	file, err := os.Open(corpusFile())
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		input, err := hex.DecodeString(lines.Text())
		if err != nil {
			t.Fatalf("%s: %v", corpusFile(), err)
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

// keepInputs writes the few inputs that reach all that the corpus does beside the golden frames.
func keepInputs(t *testing.T, program, corpus string) {
	t.Helper()
	few := filepath.Join(t.TempDir(), "few")
	if err := os.Mkdir(few, 0o700); err != nil {
		t.Fatal(err)
	}
	given := make(map[string]bool)
	for _, input := range seeds(t, program+".tables") {
		writeInput(t, few, input)
		given[string(input)] = true
	}
	runFuzzer(t, program, "-merge=1", few, corpus)
	files, err := os.ReadDir(few)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, f := range files {
		input, err := os.ReadFile(filepath.Join(few, f.Name()))
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
	if err := os.WriteFile(corpusFile(), []byte(strings.Join(lines, "")), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Package built is for tests that compile a program and run it. Compilers run beside the test, so Go
// does not see what they read and would take a test's last result for a changed program's: Go repeats
// a result only while the files that the test itself opened are the same (`go help test`). So whoever
// compiles here opens the sources, too.
package built

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// C compiles sources for this machine with sanitizers (-fsanitize), "fuzzer" among them or not, and
// gives the program, which is the test's own. The test is skipped where there is no compiler for it.
func C(t *testing.T, optimise, sanitizers string, sources ...string) (program string) {
	t.Helper()
	return CInto(t, t.TempDir(), optimise, sanitizers, sources...)
}

// CInto is C with the program in a folder, where other tests can find it.
func CInto(t *testing.T, folder, optimise, sanitizers string, sources ...string) (program string) {
	t.Helper()
	files, err := cFiles(sources)
	if err := errors.Join(err, open(files)); err != nil {
		t.Fatal(err)
	}
	compilers, missing := []string{"clang-19", "clang", "gcc"}, "skip: needs a C compiler (clang or gcc) with its sanitizers"
	fuzzer := strings.Contains(sanitizers, "fuzzer")
	if fuzzer { // gcc has none
		compilers, missing = compilers[:2], "skip: needs clang with libFuzzer (Debian: apt-get install clang-19 libclang-rt-19-dev)"
	}
	for _, compiler := range compilers {
		path, err := exec.LookPath(compiler)
		if err != nil {
			continue
		}
		program = filepath.Join(folder, strings.TrimSuffix(filepath.Base(sources[0]), ".c"))
		build := exec.Command(path, append([]string{
			"-std=gnu11", "-g", optimise, "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas", "-pthread",
			"-fsanitize=" + sanitizers, "-fno-sanitize-recover=all", "-o", program}, sources...)...)
		text, err := build.CombinedOutput()
		if err != nil && fuzzer && bytes.Contains(text, []byte("libclang_rt.fuzzer")) {
			t.Skipf("skip: %s comes without libFuzzer (Debian: apt-get install libclang-rt-19-dev)", compiler)
		}
		if err != nil {
			t.Fatalf("compiling %s with %s: %v\n%s", strings.Join(sources, " "), compiler, err, text)
		}
		return program
	}
	t.Skip(missing)
	return ""
}

// cFiles are all C files beside the sources and in the folder above, where the headers are.
func cFiles(sources []string) (files []string, err error) {
	for _, source := range sources {
		for _, folder := range []string{filepath.Dir(source), filepath.Join(filepath.Dir(source), "..")} {
			found, err := filepath.Glob(filepath.Join(folder, "*.[ch]"))
			if err != nil {
				return nil, fmt.Errorf("listing the C files of %s: %w", folder, err)
			}
			files = append(files, found...)
		}
	}
	return files, nil
}

func open(files []string) error {
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			return fmt.Errorf("opening what a program is made of: %w", err)
		}
		file.Close()
	}
	return nil
}

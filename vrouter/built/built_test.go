package built

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCFiles: every file that a compiler reads for the core's programs is opened.
func TestCFiles(t *testing.T) {
	compiler, err := exec.LookPath("clang-19")
	if err != nil {
		t.Skip("skip: needs clang-19, to say what it reads")
	}
	programs, err := filepath.Glob("../core/testdata/*.c")
	if err != nil || len(programs) == 0 {
		t.Fatalf("%d programs: %v", len(programs), err)
	}
	for _, program := range programs {
		rule, err := exec.Command(compiler, "-MM", program).Output()
		if err != nil {
			t.Fatal(err)
		}
		files, err := cFiles([]string{program})
		if err != nil {
			t.Fatal(err)
		}
		_, read, _ := strings.Cut(strings.ReplaceAll(string(rule), "\\\n", " "), ": ")
		for name := range strings.FieldsSeq(read) {
			if !slices.ContainsFunc(files, func(f string) bool { return same(t, f, name) }) {
				t.Errorf("%s is compiled from %s, which is not opened", program, name)
			}
		}
	}
}

func same(t *testing.T, a, b string) bool {
	t.Helper()
	x, err := os.Stat(a)
	if err != nil {
		t.Fatal(err)
	}
	y, err := os.Stat(b)
	if err != nil {
		t.Fatal(err)
	}
	return os.SameFile(x, y)
}

// TestGoFiles: what a command is made of is its own, and what it embeds.
func TestGoFiles(t *testing.T) {
	files, err := goFiles("windtunnel/cmd/vrouter")
	if err != nil {
		t.Fatal(err)
	}
	if err := open(files); err != nil {
		t.Error(err)
	}
	for _, part := range []string{"cmd/vrouter/main.go", "vrouter/control/server.go", "vrouter/kernel/vr_bpfel.o"} {
		if !slices.ContainsFunc(files, func(f string) bool { return strings.HasSuffix(f, "/"+part) }) {
			t.Errorf("%s is not among the %d files of the vRouter", part, len(files))
		}
	}
}

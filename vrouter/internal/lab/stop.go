package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Stop stops a process, and waits until all its threads stand still: a signal comes to each in its own time.
func Stop(t *testing.T, pid int) {
	t.Helper()
	if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
		t.Fatalf("stopping process %d: %v", pid, err)
	}
	Await(t, "all threads stand still", func() bool { return stopped(t, pid) })
}

// stopped tells whether all threads of a process are, by proc(5).
func stopped(t *testing.T, pid int) bool {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(files) == 0 {
		t.Fatalf("process %d has no threads: %v", pid, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, state, _ := strings.Cut(string(text), ") "); !strings.HasPrefix(state, "T") {
			return false
		}
	}
	return true
}

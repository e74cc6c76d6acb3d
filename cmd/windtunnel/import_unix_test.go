//go:build unix

package main

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestImportWaitsForNoFIFO, to which perhaps nobody writes.
func TestImportWaitsForNoFIFO(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo.json")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{fifo, t.TempDir(), "/dev/zero"} {
		if code, said := did("import", name, "--out", filepath.Join(t.TempDir(), "run")); code != exitRefused || !strings.Contains(said, "no regular file") {
			t.Errorf("%s: exit code %d: %s", name, code, said)
		}
	}
}

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"windtunnel/result"
)

// TestImportEndsWithTheFirstFailure: a record that cannot be written is said once, and none follows it.
func TestImportEndsWithTheFirstFailure(t *testing.T) {
	large := result.Cell{Pairs: make([]result.Pair, result.MaxLineValues)}
	err := writeRun(filepath.Join(t.TempDir(), "run"), result.File{Cells: []result.Cell{large, large}, Trials: []result.Trial{{}}})
	if err == nil || strings.Count(err.Error(), "a line may have") != 1 {
		t.Error(err)
	}
}

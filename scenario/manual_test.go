package scenario

import (
	"os"
	"strings"
	"testing"
)

// TestManual parses every complete suite of docs/suites.md.
func TestManual(t *testing.T) {
	text, err := os.ReadFile("../docs/suites.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(text), "```yaml\n# complete suite\n")[1:]
	if len(blocks) < 4 {
		t.Fatalf("only %d complete suites", len(blocks))
	}
	for _, block := range blocks {
		suite, _, closed := strings.Cut(block, "```\n")
		if !closed {
			t.Fatalf("a block without an end: %.60s", block)
		}
		parse(t, suite)
	}
}

// TestManualHasEveryKey looks for every key, so that a new one is written down.
func TestManualHasEveryKey(t *testing.T) {
	text, err := os.ReadFile("../docs/suites.md")
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{}
	d := r.newDraft()
	keys := []string{"suite", "asks", "source", "budget", "nodes", "assumed", "cells", "matrix", "ratios", "hypotheses", "published", "like"}
	for _, h := range d.patchKeys() {
		keys = append(keys, h.key)
	}
	for _, key := range keys {
		if !strings.Contains(string(text), "`"+key+"`") {
			t.Errorf("docs/suites.md lacks `%s`", key)
		}
	}
}

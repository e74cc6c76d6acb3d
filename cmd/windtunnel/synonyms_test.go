package main

import (
	"slices"
	"strings"
	"testing"

	"windtunnel/oneoff"
)

// TestSynonymsAreFlags: the first word of each group is one of some kind's options or of a command, so that no suggestion is of a flag that
// went, and no word is in two groups.
func TestSynonymsAreFlags(t *testing.T) {
	var flags []string
	for _, c := range commands(streams{}, nil).Commands() {
		flags = append(flags, flagNames(c)...)
	}
	for _, kind := range oneoff.Kinds() {
		for _, o := range kindOptions(kind) {
			flags = append(flags, o.Name)
		}
	}
	seen := map[string]bool{}
	for _, group := range synonyms {
		if name, _, _ := strings.Cut(group[0], " "); !slices.Contains(flags, name) {
			t.Errorf("--%s is no flag", name)
		}
		for _, word := range group {
			if seen[word] {
				t.Errorf("%s means two things", word)
			}
			seen[word] = true
		}
	}
}

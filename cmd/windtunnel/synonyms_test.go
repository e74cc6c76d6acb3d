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

// TestWhatWasMeant: what is spelled nearly as a flag's synonym means that, as what is spelled nearly as a flag means the flag.
func TestWhatWasMeant(t *testing.T) {
	flags := []string{"time", "rate", "packets", "direction", "streams", "message", "kind"}
	for word, want := range map[string]string{
		"durration": "time", "duration": "time", "drection": "direction", "ratee": "rate", "pps": "rate", "parallell": "streams", "lenght": "message",
		"messge": "message", "udp": "kind datagram", "P": "streams",
	} {
		if is, ok := meant(word, flags); !ok || is != want {
			t.Errorf("--%s: %q, want --%s", word, is, want)
		}
	}
	for _, word := range []string{"xyzzy", "", "Q"} {
		if is, ok := meant(word, flags); ok {
			t.Errorf("--%s: did you mean --%s?", word, is)
		}
	}
}

package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"windtunnel/suites"
)

// TestExamplesOfHelpHold plans what help's examples of shipped suites would run, so that no suite or cell has another name by now.
func TestExamplesOfHelpHold(t *testing.T) {
	root, planned := commands(streams{}, nil), 0
	for _, c := range append(root.Commands(), root) {
		for line := range strings.Lines(c.Example) {
			line, _, _ = strings.Cut(line, "#")
			words := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "sudo "))
			if len(words) < 3 || !slices.Contains([]string{"run", "plan"}, words[1]) || !slices.Contains(suites.List(), words[2]) {
				continue
			}
			if i := slices.Index(words, "--nodes"); i > 0 { // hosts that only a user has
				words = slices.Delete(words, i, i+2)
			}
			planned++
			var out, said bytes.Buffer
			if code := windtunnel(append([]string{"plan"}, words[2:]...), nil, &out, &said); code != exitDone {
				t.Errorf("%s ends with %d: %s", strings.TrimSpace(line), code, said.String())
			}
		}
	}
	if planned < 3 {
		t.Errorf("only %d examples are of shipped suites", planned)
	}
}

// TestAValueBehindASwitch is told as that.
func TestAValueBehindASwitch(t *testing.T) {
	for args, want := range map[string]string{
		"send --nodelay false 127.0.0.1": "--nodelay=false",
		"send --nodelay 127.0.0.1 ::1":   "HOST, not 2; `windtunnel send --help`",
	} {
		var out, said bytes.Buffer
		if code := windtunnel(strings.Fields(args), nil, &out, &said); code != exitRefused || !strings.Contains(said.String(), want) {
			t.Errorf("%s ends with %d: %s", args, code, said.String())
		}
	}
}

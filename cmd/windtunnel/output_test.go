package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// TestOutputThatCannotBeWritten fails: nothing was wrong with the flags.
func TestOutputThatCannotBeWritten(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	for _, args := range [][]string{{"plan", "wire-aa"}, {"list"}} {
		var said bytes.Buffer
		code := windtunnel(args, nil, full, &said)
		if code != exitFailed || !strings.Contains(said.String(), "no space left on device") {
			t.Errorf("%v: exit code %d: %s", args, code, said.String())
		}
	}
}

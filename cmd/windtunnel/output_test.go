package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
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

// TestProgressThatNobodyReadsEndsTheRun, but a dead agent's pipe does not.
func TestProgressThatNobodyReadsEndsTheRun(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer write.Close()
	ctx, progress, stop := untilCutOff(context.Background(), write)
	defer stop()
	read.Close()
	if _, err := write.WriteString("to an agent"); !errors.Is(err, syscall.EPIPE) || ctx.Err() != nil {
		t.Errorf("got %v, and the context's %v", err, ctx.Err())
	}
	fmt.Fprintln(progress, "block 1")
	if ctx.Err() == nil {
		t.Error("the run would go on")
	}
}

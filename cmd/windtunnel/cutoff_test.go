//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
)

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

//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"windtunnel/run"
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

// TestAnInterruptedPlanIsNoMissingFeature: a Ctrl-C while a run still asks what the kernel can do ends it as one later does.
func TestAnInterruptedPlanIsNoMissingFeature(t *testing.T) {
	spec, err := loadSuite("wire-aa")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	dir := filepath.Join(t.TempDir(), "run")
	err = runSpec(ctx, streams{err: io.Discard, out: io.Discard}, spec, run.Settings{Budget: time.Minute}, runFlags{out: dir}, nil)
	if known := (coded{}); os.Geteuid() == 0 && (!errors.As(err, &known) || known.code != exitInterrupted || strings.Contains(err.Error(), "needs ")) {
		t.Errorf("it ended with %v", err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("it left a folder")
	}
}

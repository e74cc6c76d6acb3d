//go:build linux

package main

import (
	"context"
	"errors"
	"io"
	"os/signal"
	"syscall"
)

// untilCutOff is for while testbeds stand and records are open. The context also
// ends, as by a Ctrl-C, when the terminal closes, but not in a program that was
// started to outlive it (nohup), and when nobody reads the progress any more
// (2>&1 | head). Both would else kill this program.
func untilCutOff(ctx context.Context, progress io.Writer) (context.Context, io.Writer, context.CancelFunc) {
	stop := func() {}
	if !signal.Ignored(syscall.SIGHUP) {
		ctx, stop = signal.NotifyContext(ctx, syscall.SIGHUP)
	}
	ctx, cancel := context.WithCancel(ctx)
	// Ignored rather than notified of: a dead agent's pipe raises the signal too.
	signal.Ignore(syscall.SIGPIPE)
	if !isTerminal(progress) {
		progress = &listened{progress, cancel}
	}
	return ctx, progress, func() {
		cancel()
		stop()
		signal.Reset(syscall.SIGPIPE)
	}
}

// listened calls gone when nobody reads what is written to it.
type listened struct {
	io.Writer
	gone func()
}

func (l *listened) Write(text []byte) (int, error) {
	n, err := l.Writer.Write(text)
	if errors.Is(err, syscall.EPIPE) {
		l.gone()
	}
	return n, err
}

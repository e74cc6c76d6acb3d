package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"windtunnel/testbed/netns"
)

// place is where one data plane runs: a network namespace, for what it has of interfaces, and a folder
// for its sockets. The namespace has no name, and ends with this process, however that ends.
type place struct {
	name    string
	dir     string
	stack   *netns.Stack
	running []*exec.Cmd // in the order of their start
}

// CPUs: the data plane that is measured has one for itself; everything else shares the other.
const (
	loadCPU   = 0
	deviceCPU = 1
	secondCPU = 2 // of a data plane that forwards on two
)

// endTime is how long a program may take to end when it is told to.
const endTime = 5 * time.Second

func newPlace(dir, name string) (p *place, err error) {
	p = &place{name: "wtst-bench-" + name, dir: filepath.Join(dir, name)}
	if err := os.Mkdir(p.dir, 0o700); err != nil {
		return p, err
	}
	p.stack, err = netns.NewStack(p.name, p.dir)
	return p, err
}

// inside runs a command in the namespace.
func (p *place) inside(ctx context.Context, args ...string) error {
	return p.stack.Do(func() error {
		if out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
		}
		return nil
	})
}

// file is a path in the place's folder.
func (p *place) file(name string) string { return filepath.Join(p.dir, name) }

// program prepares one; what it says besides its output goes to a file.
func (p *place) program(ctx context.Context, args ...string) (*exec.Cmd, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "RUNTIME_DIRECTORY="+p.dir, "OVS_RUNDIR="+p.dir) // where DPDK and Open vSwitch make their files
	cmd.WaitDelay = endTime
	cmd.Cancel = func() error { return errors.Join(cmd.Process.Signal(unix.SIGCONT), cmd.Process.Signal(unix.SIGTERM)) }
	said, err := os.Create(p.file(filepath.Base(args[0]) + ".log"))
	cmd.Stderr = said
	return cmd, err
}

// start runs a program that remove ends, or the end of this process, however that ends.
func (p *place) start(cmd *exec.Cmd) error {
	if err := p.stack.Start(cmd); err != nil {
		return err
	}
	p.running = append(p.running, cmd)
	return nil
}

// failure is an error with what a program has said.
func (p *place) failure(program string, err error) error {
	text, _ := os.ReadFile(p.file(program + ".log")) // without, the error stands alone
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return fmt.Errorf("%s: %w: %s", program, err, strings.Join(lines[max(0, len(lines)-4):], "; "))
}

// remove ends the programs, the last first, and the namespace.
func (p *place) remove() error {
	if p.stack == nil {
		return nil
	}
	for i := len(p.running) - 1; i >= 0; i-- {
		cmd := p.running[i]
		if in, ok := cmd.Stdin.(io.Closer); ok {
			in.Close()
		}
		_ = cmd.Cancel() // it may have ended
		late := time.AfterFunc(endTime, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait() // an error is that it was told to end
		late.Stop()
	}
	return p.stack.Close()
}

// await looks again and again until something is so.
func await(ctx context.Context, what string, is func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		done, err := is()
		if err != nil || done {
			return err
		}
		select {
		case <-time.After(lookEvery):
		case <-ctx.Done():
			return fmt.Errorf("waiting until %s: %w", what, ctx.Err())
		}
	}
}

const (
	patience  = 20 * time.Second
	lookEvery = 5 * time.Millisecond
)

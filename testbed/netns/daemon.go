package netns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"windtunnel/testbed"
)

// How long daemons get.
const (
	readyWithin = 10 * time.Second
	stopWithin  = 3 * time.Second
	killWithin  = 2 * time.Second
)

// maxSocketPath is what fits into sockaddr_un with its final NUL, unix(7).
const maxSocketPath = 107

// Daemon is a running daemon, for those who read its counters.
type Daemon struct {
	Name   string
	PID    int
	Dir    string
	Probe  string // who reads its counters
	Socket string
}

// daemon is a process that serves a path, with its folder and what it said.
type daemon struct {
	Daemon
	process *exec.Cmd
	stdin   io.Closer // closed, it asks the daemon to end
	stderr  *Tail
	ended   chan struct{}
	err     error // why it ended, valid once ended is closed
}

// Daemons lists a cell's daemons on this node.
func (b *Backend) Daemons(cell string) []Daemon {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.cells[cell]
	if c == nil {
		return nil
	}
	var all []Daemon
	for _, want := range c.graph.Daemons {
		if d := c.daemons[want.Name]; d != nil {
			all = append(all, d.Daemon)
		}
	}
	return all
}

// makeDaemon writes a daemon's files, starts it in the node's stack and waits
// until it says that it is ready.
func (c *cell) makeDaemon(ctx context.Context, want testbed.Daemon) error {
	program, err := findProgram(want.Program)
	if err != nil {
		return err
	}
	d := &daemon{stderr: &Tail{}, ended: make(chan struct{})}
	d.Name, d.Probe, d.Dir = want.Name, want.Probe, filepath.Join(c.dir, want.Name)
	d.Socket = inDir(want.Socket, d.Dir)
	if len(d.Socket) > maxSocketPath {
		return fmt.Errorf("the socket %s has %d bytes, %d are possible: use a shorter folder", d.Socket, len(d.Socket), maxSocketPath)
	}
	if err := writeFiles(d.Dir, want.Files); err != nil {
		return err
	}
	args := make([]string, len(want.Args))
	for i, arg := range want.Args {
		args[i] = inDir(arg, d.Dir)
	}
	said, err := d.start(c.stacks[want.Node], program, args)
	if err != nil {
		return fmt.Errorf("starting %s: %w", program, err)
	}
	c.daemons[want.Name] = d
	return d.awaitReady(ctx, said)
}

func inDir(text, dir string) string { return strings.ReplaceAll(text, "{dir}", dir) }

// findProgram looks beside this process's own executable, then on PATH.
func findProgram(name string) (string, error) {
	own, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding this program's own folder: %w", err)
	}
	beside := filepath.Join(filepath.Dir(own), name)
	if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
		return beside, nil
	}
	found, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("the program %s is neither in %s nor on PATH: build it with make, or put it there", name, filepath.Dir(own))
	}
	return found, nil
}

func writeFiles(dir string, files map[string]string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("making the daemon's folder: %w", err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return fmt.Errorf("writing the daemon's file: %w", err)
		}
	}
	return nil
}

// start runs the process and returns what it says. One goroutine waits for its
// end and closes ended.
func (d *daemon) start(stack *Stack, program string, args []string) (<-chan string, error) {
	d.process = exec.Command(program, args...)
	d.process.Dir = d.Dir
	d.process.Stderr = d.stderr
	stdin, err := d.process.StdinPipe()
	if err != nil {
		return nil, err
	}
	d.stdin = stdin
	said := &firstLine{line: make(chan string, 1)}
	d.process.Stdout = said
	// A child of the daemon may hold its output open; that must not keep us.
	d.process.WaitDelay = time.Second
	if err := stack.Start(d.process); err != nil {
		return nil, errors.Join(err, stdin.Close())
	}
	d.PID = d.process.Process.Pid
	go func() {
		defer close(d.ended)
		d.err = d.process.Wait()
	}()
	return said.line, nil
}

// ready is the first line of a daemon that is up.
type ready struct {
	Ready bool   `json:"ready"`
	Error string `json:"error,omitempty"`
}

func (d *daemon) awaitReady(ctx context.Context, said <-chan string) error {
	late := time.NewTimer(readyWithin)
	defer late.Stop()
	select {
	case line := <-said:
		var r ready
		if err := json.Unmarshal([]byte(line), &r); err != nil || !r.Ready {
			return fmt.Errorf("%s is not ready but says %q%s", d.Name, line, d.stderr.Quoted())
		}
		return nil
	case <-d.ended:
		return fmt.Errorf("%s ended before it was ready (%v)%s", d.Name, d.err, d.stderr.Quoted())
	case <-ctx.Done():
		return fmt.Errorf("waiting for %s: %w", d.Name, ctx.Err())
	case <-late.C:
		return fmt.Errorf("%s did not say that it is ready within %s%s", d.Name, readyWithin, d.stderr.Quoted())
	}
}

// alive returns why a daemon is not.
func (d *daemon) alive() error {
	select {
	case <-d.ended:
		return fmt.Errorf("the daemon %s has ended (%v)%s", d.Name, d.err, d.stderr.Quoted())
	default:
		return nil
	}
}

// pin brings every thread of the daemon to the CPUs.
func (d *daemon) pin(cpus []int) error {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/[0-9]*", d.PID))
	if err != nil {
		return fmt.Errorf("listing the threads of %s: %w", d.Name, err)
	}
	for _, task := range tasks {
		var tid int
		if _, err := fmt.Sscan(filepath.Base(task), &tid); err != nil {
			return fmt.Errorf("reading the thread %s: %w", task, err)
		}
		if err := pinThread(tid, cpus); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	return nil
}

// stop asks a daemon to end by closing its input, then tells it, then makes it.
func (d *daemon) stop() error {
	steps := []struct {
		end    func() error
		within time.Duration
	}{
		{d.stdin.Close, stopWithin},
		{func() error { return d.process.Process.Signal(syscall.SIGTERM) }, killWithin},
		{d.process.Process.Kill, killWithin},
	}
	for _, step := range steps {
		_ = step.end() // it may have ended by itself, which is what we want
		select {
		case <-d.ended:
			return nil
		case <-time.After(step.within):
		}
	}
	return fmt.Errorf("the daemon %s (process %d) does not end", d.Name, d.PID)
}

// removeDaemon stops a daemon and removes its folder.
func (c *cell) removeDaemon(name string) error {
	d := c.daemons[name]
	if d == nil {
		return nil
	}
	delete(c.daemons, name)
	return errors.Join(d.stop(), os.RemoveAll(d.Dir))
}

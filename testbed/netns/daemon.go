package netns

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"windtunnel/testbed"
)

// How long daemons get.
const (
	readyWithin = 10 * time.Second
	stopWithin  = 3 * time.Second
	killWithin  = 2 * time.Second
	endWithin   = time.Second // from when a daemon answers no more
)

var errNoEnd = errors.New("no daemon has ended")

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
	process *exec.Cmd      // nil: it is no more than the commands that have run
	want    testbed.Daemon // with its folders' names in place
	stdin   io.Closer
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
		if d := c.daemons[want.Name]; d != nil && d.process != nil {
			all = append(all, d.Daemon)
		}
	}
	return all
}

// makeDaemon writes a daemon's files, runs what comes before it, starts it in the
// node's stack, waits until it is up and runs what comes after.
func (c *cell) makeDaemon(ctx context.Context, want testbed.Daemon) error {
	want = c.inFolders(want)
	d := &daemon{stderr: &Tail{}, ended: make(chan struct{}), want: want}
	d.Name, d.Probe, d.Dir, d.Socket = want.Name, want.Probe, c.daemonDir(want.Name), want.Socket
	for _, socket := range []string{d.Socket, want.Up.Socket} {
		if len(socket) > maxSocketPath {
			return fmt.Errorf("the socket %s has %d bytes, %d are possible: use a shorter folder", socket, len(socket), maxSocketPath)
		}
	}
	if err := writeFiles(d.Dir, want.Files); err != nil {
		return err
	}
	stack := c.stacks[want.Node]
	if err := d.runAll(ctx, stack, want.Before); err != nil {
		return fmt.Errorf("before %s starts: %w", want.Name, err)
	}
	c.daemons[want.Name] = d
	if want.Program == "" {
		return nil
	}
	said, err := d.start(stack)
	if err != nil {
		return fmt.Errorf("starting %s: %w", want.Program, err)
	}
	d.seeRoot()
	if err := d.awaitUp(ctx, said); err != nil {
		return err
	}
	if err := d.runAll(ctx, stack, want.After); err != nil {
		return fmt.Errorf("once %s is up: %w%s", want.Name, err, d.stderr.Quoted())
	}
	return nil
}

// FindProgram looks for a program that a graph names beside this process's own
// executable, then on PATH.
func FindProgram(name string) (string, error) {
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
func (d *daemon) start(stack *Stack) (<-chan string, error) {
	program, err := FindProgram(d.want.Program)
	if err != nil {
		return nil, err
	}
	process := exec.Command(program, d.want.Args...)
	process.Dir = d.Dir
	process.Env = append(process.Environ(), d.want.Environment...)
	process.Stderr = d.stderr
	stdin, err := process.StdinPipe()
	if err != nil {
		return nil, err
	}
	d.stdin = stdin
	said := make(chan string, 1)
	switch d.want.Up {
	case testbed.Up{}:
		process.Stdout = &firstLine{line: said}
	default:
		process.Stdout = &waited{Writer: d.stderr, text: d.want.Up.Says, heard: said}
	}
	// A child of the daemon may hold its output open; that must not keep us.
	process.WaitDelay = time.Second
	if d.want.Alone {
		// The kernel ends whoever is in a process namespace with the first one in it, and
		// takes a mount namespace away with the last (pid_namespaces(7), mount_namespaces(7)).
		process.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS}
	}
	if err := stack.Start(process); err != nil {
		return nil, errors.Join(err, stdin.Close())
	}
	d.process, d.PID = process, process.Process.Pid
	go func() {
		defer close(d.ended)
		d.err = process.Wait()
	}()
	return said, nil
}

// seeRoot writes the daemon's root folder into its sockets.
func (d *daemon) seeRoot() {
	root := fmt.Sprintf("/proc/%d/root", d.PID)
	d.Socket = strings.ReplaceAll(d.Socket, "{root}", root)
	d.want.Up.Socket = strings.ReplaceAll(d.want.Up.Socket, "{root}", root)
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

// Ending tells how a daemon of a cell ended, if one does within a moment: one that is killed answers no more before its end
// can be known, because a process gives its files and folders back first (do_exit in kernel/exit.c).
func (b *Backend) Ending(ctx context.Context, cell string) error {
	b.mu.Lock()
	var all []*daemon
	if c := b.cells[cell]; c != nil {
		all = slices.Collect(maps.Values(c.daemons))
	}
	b.mu.Unlock()
	var gone error
	_ = await(ctx, endWithin, func() error {
		for _, d := range all {
			if d.process == nil {
				continue
			}
			if gone = d.alive(); gone != nil {
				return nil
			}
		}
		return errNoEnd
	})
	return gone
}

// pin brings every thread of the daemon to the CPUs.
func (d *daemon) pin(cpus []int) error {
	if d.process == nil {
		return nil
	}
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

// stop asks a daemon to end by closing its input, then tells it, then makes it. One
// that does not end with its input is told at once.
func (d *daemon) stop() error {
	if d.process == nil {
		return nil
	}
	type step struct {
		end    func() error
		within time.Duration
	}
	term := func() error { return d.process.Process.Signal(syscall.SIGTERM) }
	steps := []step{{d.stdin.Close, stopWithin}, {term, killWithin}, {d.process.Process.Kill, killWithin}}
	switch d.want.Ends {
	case testbed.EndsBySignal:
		steps = steps[1:]
		steps[0].within = stopWithin
	case testbed.EndsByKill:
		steps = steps[2:]
	}
	d.resume() // a stopped one hears nothing
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
	for _, other := range c.daemons {
		other.resume() // or who speaks with a stopped one could not end
	}
	delete(c.daemons, name)
	return errors.Join(d.stop(), os.RemoveAll(d.Dir))
}

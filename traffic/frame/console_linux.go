package frame

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	consolePatience = 10 * time.Second // for an answer: EAL takes a second or two to start
	leavePatience   = 2 * time.Second  // to end by itself
	killPatience    = 10 * time.Second // to be gone once it is killed
	serverLook      = 50 * time.Millisecond
	longestLine     = 4 << 10 // in bytes, that a program may say
	linesWaiting    = 4096    // that nobody has read yet; more are passed over
	linesKept       = 8       // for an error, of which so many bytes
	bytesKept       = 500
)

// pollers is what EAL's names for its threads that poll have in them.
const pollers = "worker"

// console is a program of others that is told what to do on its standard input. It ends with its input, and with
// this process, by whatever signal.
type console struct {
	cmd      *exec.Cmd
	in       io.WriteCloser
	enter    string          // what ends a command
	pollers  string          // what the names of its threads that poll have in them
	patience time.Duration   // for an answer
	given    <-chan struct{} // closed when who waits for it to be ready gives up
	heard    chan string
	silent   chan struct{} // closed when all that it said has been heard
	ended    chan struct{} // closed when it has

	mu   sync.Mutex
	last []string
}

// voice is one of the outputs of a program: where it is read, what the program has of it, and how lines are cut.
type voice struct {
	reader, writer *os.File
	split          bufio.SplitFunc
}

// startConsole starts a program whose words are read line by line, what it says as an error too. Its
// threads are pinned by itself.
func startConsole(ctx context.Context, args, environment []string) (*console, error) {
	c, err := newConsole(ctx, args, environment)
	if err != nil {
		return nil, err
	}
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, c.in.Close())
	}
	c.cmd.Stdout, c.cmd.Stderr = writer, writer
	return c, c.start(voice{reader, writer, bufio.ScanLines})
}

// newConsole does not start it yet. What it is asked is answered while ctx lasts, until it is settled.
func newConsole(ctx context.Context, args, environment []string) (*console, error) {
	program, err := exec.LookPath(args[0])
	if err != nil {
		return nil, fmt.Errorf("looking for %s: %w", args[0], err)
	}
	c := &console{
		cmd: exec.Command(program, args[1:]...), enter: "\n", pollers: pollers, patience: consolePatience, given: ctx.Done(),
		heard: make(chan string, linesWaiting), silent: make(chan struct{}), ended: make(chan struct{}),
	}
	c.cmd.Env = append([]string{"LC_ALL=C", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, environment...)
	c.cmd.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGKILL, Setpgid: true}
	return c, nil
}

// start runs the program, and listens to it.
func (c *console) start(voices ...voice) error {
	death := -1 // of the process, to be polled for
	c.cmd.SysProcAttr.PidFD = &death
	started := make(chan error, 1)
	go func() {
		// Its death is tied to the thread that forks it (PR_SET_PDEATHSIG), so this one stays.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := c.cmd.Start()
		for _, v := range voices {
			v.writer.Close()
		}
		started <- err
		if err == nil {
			awaitDeath(death)
			go c.cmd.Wait() //nolint:errcheck // how it ended, it has said
		}
		close(c.ended)
	}()
	if err := <-started; err != nil {
		err = errors.Join(fmt.Errorf("starting %s: %w", c.cmd.Args[0], err), c.in.Close())
		for _, v := range voices {
			v.reader.Close()
		}
		return err
	}
	var all sync.WaitGroup
	for _, v := range voices {
		all.Go(func() { c.listen(v) })
	}
	go func() {
		all.Wait()
		close(c.heard)
		close(c.silent)
	}()
	return nil
}

// awaitDeath returns when the process of a descriptor has ended (pidfd_open(2)), and closes that. To wait for it as well takes until its
// files in /proc have gone, for which release_task in kernel/exit.c was seen to wait longer than ten seconds, in
// shrink_dcache_parent. Linux has such descriptors since 5.3.
func awaitDeath(process int) {
	defer unix.Close(process)
	for {
		if _, err := unix.Poll([]unix.PollFd{{Fd: int32(process), Events: unix.POLLIN}}, -1); err != unix.EINTR {
			return
		}
	}
}

// listen ends with the program, and with whoever has its output besides.
func (c *console) listen(v voice) {
	defer v.reader.Close()
	lines := bufio.NewScanner(v.reader)
	lines.Buffer(nil, longestLine)
	lines.Split(v.split)
	for lines.Scan() {
		c.mu.Lock()
		if c.last = append(c.last, lines.Text()); len(c.last) > linesKept {
			c.last = c.last[1:]
		}
		c.mu.Unlock()
		select {
		case c.heard <- lines.Text():
		default:
		}
	}
	_ = c.cmd.Process.Kill() // it has ended, or says too much at once
}

// ask gives a command, and hears lines until take has what it wants.
func (c *console) ask(command string, take func(line string) (done bool)) error {
	if err := c.tell(command); err != nil {
		return err
	}
	return c.hear(command, take)
}

// tell gives a command. What was said before is no answer to it.
func (c *console) tell(command string) error {
	for len(c.heard) > 0 {
		<-c.heard
	}
	if _, err := io.WriteString(c.in, command+c.enter); err != nil {
		return c.failure(fmt.Errorf("telling it %q: %w", command, err))
	}
	return nil
}

func (c *console) hear(about string, take func(line string) (done bool)) error {
	timer := time.NewTimer(c.patience)
	defer timer.Stop()
	for {
		select {
		case line, open := <-c.heard:
			if !open {
				return c.failure(fmt.Errorf("it ended instead of answering %q", about))
			}
			if take(line) {
				return nil
			}
		case <-c.given:
			return c.failure(fmt.Errorf("it did not answer %q in the time that it has to be ready", about))
		case <-timer.C:
			return c.failure(fmt.Errorf("it did not answer %q within %s", about, c.patience))
		}
	}
}

// settled ends the time that it has to be ready.
func (c *console) settled() { c.given = nil }

// overdue tells whether that is over.
func (c *console) overdue() bool {
	select {
	case <-c.given:
		return true
	default:
		return false
	}
}

// lastWords is how long what a program said at its end may take to be read: whom it
// began may keep its output open.
const lastWords = time.Second

// failure is an error with what the program said last.
func (c *console) failure(err error) error {
	select {
	case <-c.ended:
		select {
		case <-c.silent:
		case <-time.After(lastWords):
		}
	default:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	text := strings.Join(c.last, "; ")
	return fmt.Errorf("%w; it said: %s", err, strings.ToValidUTF8(text[max(0, len(text)-bytesKept):], "?"))
}

// awaitServer dials until a program does what it serves for, or has ended: it begins to some time after its start.
func awaitServer[T any](ctx context.Context, ended <-chan struct{}, patience time.Duration, does string, dial func(context.Context) (T, error)) (none T, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		server, err := dial(ctx)
		if err == nil {
			return server, nil
		}
		select {
		case <-ended:
			return none, fmt.Errorf("it ended before it could %s", does)
		case <-ctx.Done():
			return none, fmt.Errorf("it did not %s within %s: %w", does, patience, err)
		case <-time.After(serverLook):
		}
	}
}

// line is the command as a person would type it.
func (c *console) line() string { return strings.Join(c.cmd.Args, " ") }

// thread is one of the program's.
type thread struct {
	id     int
	name   string
	folder string // in /proc
}

// polling are those threads that poll at a port.
func (c *console) polling() []thread {
	return slices.DeleteFunc(c.threads(), func(t thread) bool { return !strings.Contains(t.name, c.pollers) })
}

// threads are all of them. A program that has ended has none: its number may be another's.
func (c *console) threads() []thread {
	select {
	case <-c.ended:
		return nil
	default:
	}
	var all []thread
	folders, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", c.cmd.Process.Pid))
	for _, folder := range folders {
		name, err := os.ReadFile(filepath.Join(folder, "comm"))
		id, bad := strconv.Atoi(filepath.Base(folder))
		if err == nil && bad == nil {
			all = append(all, thread{id, strings.TrimSpace(string(name)), folder})
		}
	}
	return all
}

// used is the CPU time that the threads that poll took, and how long they could run and had no CPU
// (Documentation/scheduler/sched-stats.rst).
func (c *console) used() (cpu, wait time.Duration) {
	for _, t := range c.polling() {
		text, err := os.ReadFile(filepath.Join(t.folder, "schedstat"))
		if fields := bytes.Fields(text); err == nil && len(fields) >= 2 {
			ran, _ := strconv.ParseInt(string(fields[0]), 10, 64)
			waited, _ := strconv.ParseInt(string(fields[1]), 10, 64)
			cpu, wait = cpu+time.Duration(ran), wait+time.Duration(waited)
		}
	}
	return cpu, wait
}

// schedule gives the threads that poll a policy: of SCHED_IDLE they run while nobody else of the CPU wants to
// (sched(7)).
func (c *console) schedule(policy uint32) error {
	all := c.polling()
	if len(all) == 0 {
		return c.failure(fmt.Errorf("it has no thread whose name has %q in it", c.pollers))
	}
	return scheduled(all, policy)
}

func scheduled(all []thread, policy uint32) (failed error) {
	for _, t := range all {
		failed = errors.Join(failed, unix.SchedSetAttr(t.id, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: policy}, 0))
	}
	return failed
}

// close ends it: its input is over, and if that does not do, it is killed.
func (c *console) close() error {
	_ = scheduled(c.threads(), unix.SCHED_NORMAL) // where others have the CPU, an idle thread gets none to end in, not even one that is killed
	c.in.Close()
	select {
	case <-c.ended:
		return nil
	case <-time.After(leavePatience):
		return c.kill()
	}
}

// kill ends it, with what it has started.
func (c *console) kill() error {
	_ = scheduled(c.threads(), unix.SCHED_NORMAL) // as in close
	c.in.Close()
	if c.cmd.Process.Kill() == nil { // else it is over, and its number may be another's
		_ = unix.Kill(-c.cmd.Process.Pid, unix.SIGKILL)
	}
	select {
	case <-c.ended:
		return nil
	case <-time.After(killPatience):
		return fmt.Errorf("%s (process %d) did not end though it was killed", c.cmd.Args[0], c.cmd.Process.Pid)
	}
}

package frame

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
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
	longestLine     = 4 << 10          // in bytes, that a program may say
	linesWaiting    = 4096             // that nobody has read yet; more are passed over
	linesKept       = 8                // for an error, of which so many bytes
	bytesKept       = 500
)

// console is a program of others that is told what to do on its standard input. It ends with its input, and with
// this process, by whatever signal.
type console struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	heard chan string
	ended chan struct{} // closed when it has

	mu   sync.Mutex
	last []string
}

// startConsole starts a program whose words are read line by line, what it says as an error too. Its
// threads are pinned by itself.
func startConsole(args, environment []string) (*console, error) {
	program, err := exec.LookPath(args[0])
	if err != nil {
		return nil, fmt.Errorf("looking for %s: %w", args[0], err)
	}
	c := &console{cmd: exec.Command(program, args[1:]...), heard: make(chan string, linesWaiting), ended: make(chan struct{})}
	c.cmd.Env = append([]string{"LC_ALL=C", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, environment...)
	death := -1 // of the process, to be polled for
	c.cmd.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGKILL, Setpgid: true, PidFD: &death}
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, errors.Join(err, reader.Close(), writer.Close())
	}
	c.cmd.Stdout, c.cmd.Stderr = writer, writer
	started := make(chan error, 1)
	go func() {
		// Its death is tied to the thread that forks it (PR_SET_PDEATHSIG), so this one stays.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := c.cmd.Start()
		writer.Close()
		started <- err
		if err == nil {
			awaitDeath(death)
			go c.cmd.Wait() //nolint:errcheck // how it ended, it has said
		}
		close(c.ended)
	}()
	if err := <-started; err != nil {
		return nil, errors.Join(fmt.Errorf("starting %s: %w", args[0], err), reader.Close())
	}
	go c.listen(reader)
	return c, nil
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
func (c *console) listen(reader *os.File) {
	defer reader.Close()
	defer close(c.heard)
	lines := bufio.NewScanner(reader)
	lines.Buffer(nil, longestLine)
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
	for len(c.heard) > 0 {
		<-c.heard
	}
	if _, err := io.WriteString(c.in, command+"\n"); err != nil {
		return c.failure(fmt.Errorf("telling it %q: %w", command, err))
	}
	return c.hear(command, take)
}

func (c *console) hear(about string, take func(line string) (done bool)) error {
	timer := time.NewTimer(consolePatience)
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
		case <-timer.C:
			return c.failure(fmt.Errorf("it did not answer %q within %s", about, consolePatience))
		}
	}
}

// failure is an error with what the program said last.
func (c *console) failure(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := strings.Join(c.last, "; ")
	return fmt.Errorf("%w; it said: %s", err, strings.ToValidUTF8(text[max(0, len(text)-bytesKept):], "?"))
}

// line is the command as a person would type it.
func (c *console) line() string { return strings.Join(c.cmd.Args, " ") }

// tasks calls for each thread of the program. One that has ended has none: its number may be another's.
func (c *console) tasks(do func(folder string)) {
	select {
	case <-c.ended:
		return
	default:
	}
	folders, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", c.cmd.Process.Pid))
	for _, folder := range folders {
		do(folder)
	}
}

// used is the CPU time that its threads took, and how long they could run and had no CPU
// (Documentation/scheduler/sched-stats.rst).
func (c *console) used() (cpu, wait time.Duration) {
	c.tasks(func(folder string) {
		text, err := os.ReadFile(filepath.Join(folder, "schedstat"))
		if fields := bytes.Fields(text); err == nil && len(fields) >= 2 {
			ran, _ := strconv.ParseInt(string(fields[0]), 10, 64)
			waited, _ := strconv.ParseInt(string(fields[1]), 10, 64)
			cpu, wait = cpu+time.Duration(ran), wait+time.Duration(waited)
		}
	})
	return cpu, wait
}

// schedule gives the threads that poll, whose names say so, a policy: of SCHED_IDLE they run while nobody else
// of the CPU wants to (sched(7)).
func (c *console) schedule(worker string, policy uint32) error {
	var failed error
	found := false
	c.tasks(func(folder string) {
		name, err := os.ReadFile(filepath.Join(folder, "comm"))
		if err != nil || !strings.Contains(string(name), worker) {
			return
		}
		tid, _ := strconv.Atoi(filepath.Base(folder))
		found = true
		failed = errors.Join(failed, unix.SchedSetAttr(tid, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: policy}, 0))
	})
	if !found {
		return c.failure(fmt.Errorf("it has no thread whose name has %q in it", worker))
	}
	return failed
}

// close ends it: its input is over, and if that does not do, it is killed.
func (c *console) close() error {
	_ = c.schedule(pollers, unix.SCHED_NORMAL) // where others have the CPU, an idle thread gets none to end in, not even one that is killed
	c.in.Close()
	for _, patience := range []time.Duration{leavePatience, killPatience} {
		select {
		case <-c.ended:
			return nil
		case <-time.After(patience):
			_ = c.cmd.Process.Kill()
		}
	}
	return fmt.Errorf("%s (process %d) did not end though it was killed", c.cmd.Args[0], c.cmd.Process.Pid)
}

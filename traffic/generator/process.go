package generator

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// logFile is how a program is told to write what is not for people.
const logFile = "/dev/fd/3"

// How long a program may take to end when it is asked to, and the kernel to end it.
const (
	leavePatience = 300 * time.Millisecond
	killPatience  = 2 * time.Second
)

// environment is all that programs get: nothing that a person has set, not even a language,
// has a say in what they print.
var environment = []string{"LC_ALL=C", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/nonexistent"}

// process is a foreign program that runs, or has.
type process struct {
	args     []string
	pid      int
	cmd      *exec.Cmd
	out, err bounded
	log      bounded
	ended    chan struct{} // closed when it has; failed is set before
	failed   error
}

// launch starts a program on some CPUs. It dies with this process, by whatever signal.
func launch(args []string, cpus []int) (*process, error) {
	p := &process{args: args, ended: make(chan struct{})}
	p.out.limit, p.err.limit, p.log.limit = maxPrinted, maxPrinted, maxLog
	found, err := exec.LookPath(args[0])
	if err != nil {
		return nil, fmt.Errorf("looking for %s: %w", args[0], err)
	}
	p.cmd = exec.Command(found, args[1:]...)
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.Env, p.cmd.Dir, p.cmd.WaitDelay = &p.out, &p.err, environment, "/", killPatience
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("making a pipe: %w", err)
	}
	p.cmd.ExtraFiles = []*os.File{writer}
	logged := make(chan struct{})
	go func() {
		defer close(logged)
		defer reader.Close()
		_, _ = reader.WriteTo(&p.log) // ends with the program, or at the limit
	}()
	started := make(chan error, 1)
	go func() {
		defer close(p.ended)
		// PR_SET_PDEATHSIG is about the thread that forks: this one stays until the program
		// has ended, and as it stays locked, it ends then, with the CPUs that it was given.
		runtime.LockOSThread()
		err := confine(p.cmd, cpus)
		if err == nil {
			err = p.cmd.Start()
		}
		writer.Close()
		if err == nil {
			p.pid = p.cmd.Process.Pid
		}
		started <- err
		if err == nil {
			p.failed = p.cmd.Wait()
		}
		reader.SetReadDeadline(time.Now().Add(killPatience)) // what it left behind may hold the pipe
		<-logged
	}()
	if err := <-started; err != nil {
		<-p.ended
		return nil, fmt.Errorf("starting %s: %w", args[0], err)
	}
	return p, nil
}

// over reports whether it has ended.
func (p *process) over() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// said is what it has printed; all of it once it has ended.
func (p *process) said() output {
	return output{out: p.out.String(), err: p.err.String(), log: p.log.String()}
}

// result is why a program that has ended did not end well.
func (p *process) result() error {
	if p.out.full() || p.err.full() || p.log.full() {
		return fmt.Errorf("it printed more than the %d MiB, or logged more than the %d, that are read, and was cut off", maxPrinted>>20, maxLog>>20)
	}
	return p.failed
}

// stop kills it, and what it has forked.
func (p *process) stop() error {
	if p.over() {
		return nil
	}
	if err := kill(p.cmd.Process); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("ending %s: %w", p.args[0], err)
	}
	return p.wait(killPatience)
}

// leave asks it to end, so that it prints what it has kept, and kills it if it does not.
func (p *process) leave() error {
	if err := p.cmd.Process.Signal(os.Interrupt); err == nil && p.wait(leavePatience) == nil {
		return nil
	}
	return p.stop()
}

func (p *process) wait(limit time.Duration) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.ended:
		return nil
	case <-timer.C:
		return fmt.Errorf("%s (process %d) has not ended after %s", p.args[0], p.pid, limit)
	}
}

// line is the command as a person would type it.
func line(args []string) string { return strings.Join(args, " ") }

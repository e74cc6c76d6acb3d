package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"

	"windtunnel/result"
	"windtunnel/traffic/ntttcp"
)

// The exit codes, the same as of the program's other commands.
const (
	done        = 0
	failed      = 1
	refused     = 2
	interrupted = 130
)

// Run is `windtunnel ntttcp`: arguments behind the word ntttcp, the exit code
// out. What belongs to a tool's output goes to out; notes, warnings and errors go
// to errs, so that what reads the tool's output reads this.
func Run(ctx context.Context, args []string, _ io.Reader, out, errs io.Writer) int {
	read, err := read(args)
	screen := &shared{w: out}
	if errors.Is(err, errHelp) {
		io.WriteString(screen, help())
		return screen.exit(done, "the output", errs)
	}
	if err != nil {
		fmt.Fprintf(errs, "windtunnel ntttcp: %v\n", err)
		return refused
	}
	errs = &shared{w: errs}
	said := console{errs}
	log := &shared{}
	if read.windows != nil {
		err = (&windowsRun{flags: read.windows, out: screen, console: said}).run(ctx)
	} else {
		err = (&linuxRun{flags: read.linux, out: screen, console: said, now: wallClock, log: log}).run(ctx)
	}
	code := done
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, errInterrupted):
		code = interrupted
	case err != nil:
		fmt.Fprintf(errs, "windtunnel ntttcp: %v\n", err)
		code = failed
		if errors.As(err, new(ntttcp.Impossible)) {
			code = refused
		}
	}
	return log.exit(screen.exit(code, "the output", errs), "the log", errs)
}

// errInterrupted is a test that was stopped and has its result printed.
var errInterrupted = errors.New("interrupted")

// cutShort is the error of a test whose figures are printed and are not of all that was asked for.
func cutShort(report ntttcp.Report) error {
	switch {
	case report.Cut:
		return errors.New("the test ended before its time; the figures are of the time until then")
	case report.Missed != nil:
		return errors.New("connections were closed that came late; the figures are without what they would have brought")
	}
	return nil
}

// shared is a stream that several goroutines write to.
type shared struct {
	mu     sync.Mutex
	w      io.Writer // nil: nobody wants it
	failed error     // the first of writing it
}

// Write keeps an error, and the test goes on. Whoever reads may have gone, who knows it.
func (s *shared) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.w == nil {
		return len(b), nil
	}
	n, err := s.w.Write(b)
	if err != nil && s.failed == nil && !errors.Is(err, syscall.EPIPE) {
		s.failed = err
	}
	return n, err
}

// exit is the exit code of what came to code: figures that nobody can read are a failure, of which told is to know.
func (s *shared) exit(code int, what string, told io.Writer) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil {
		return code
	}
	fmt.Fprintf(told, "windtunnel ntttcp: not all of %s could be written: %v\n", what, s.failed)
	return failed
}

// console is where people are told what is not in the tool's own output.
type console struct{ errs io.Writer }

func (c console) note(format string, values ...any) {
	fmt.Fprintf(c.errs, "note: "+format+"\n", values...)
}

// limit tells what bounded a window: beside the tools' own output, which has no place for it.
func (c console) limit(l result.Limit) {
	if l.Verdict != "" {
		l.Says = l.Verdict + ": " + l.Says
	}
	c.note("%s", l.Says)
}

// saved tells what became of a file.
func (c console) saved(path, text string) error {
	kept, err := writeFile(path, text)
	if kept != "" {
		c.note("%s was there; it is %s now", path, kept)
	}
	return err
}

// shortestCPU is the window in seconds from which on the system's clock of CPU time, which ticks each 10 ms or 16, tells shares.
const shortestCPU = 0.1

// short says that a window was too short for what comes of the CPUs' time.
func (c console) short(seconds float64) {
	if seconds < shortestCPU {
		c.note("CPU use and cycles a byte are no figures: the window of %.1f ms is too short for the system's clock of CPU time", 1e3*seconds)
	}
}

// missing says which figures this system has not, once each.
func (c console) missing(before, after counters) {
	told := map[string]bool{}
	for _, text := range append(before.missing, after.missing...) {
		if !told[text] {
			c.note("0 stands for what could not be read: %s", text)
		}
		told[text] = true
	}
}

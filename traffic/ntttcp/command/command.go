package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

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
	if errors.Is(err, errHelp) {
		io.WriteString(out, help())
		return done
	}
	if err != nil {
		fmt.Fprintf(errs, "windtunnel ntttcp: %v\n", err)
		return refused
	}
	out, errs = &shared{w: out}, &shared{w: errs}
	said := console{errs}
	if read.windows != nil {
		err = (&windowsRun{flags: read.windows, out: out, console: said}).run(ctx)
	} else {
		err = (&linuxRun{flags: read.linux, out: out, console: said, now: wallClock}).run(ctx)
	}
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, errInterrupted):
		return interrupted
	case err != nil:
		fmt.Fprintf(errs, "windtunnel ntttcp: %v\n", err)
		return failed
	}
	return done
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
	mu sync.Mutex
	w  io.Writer
}

func (s *shared) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(b)
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

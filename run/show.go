//go:build linux

package run

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/sys/unix"

	"windtunnel/result"
	"windtunnel/stats"
)

// Shown is a Progress that a person reads: a bar on a terminal, plain lines
// elsewhere.
type Shown struct {
	lines io.Writer
	bars  *mpb.Progress
	bar   *mpb.Bar

	mu   sync.Mutex
	now  string         // what the bar says beside itself
	said map[string]int // blocks of a ratio's last line
}

var _ Progress = (*Shown)(nil)

// barSteps is the bar's resolution.
const barSteps = 1000

// NewProgress shows progress on out.
func NewProgress(out io.Writer) *Shown {
	s := &Shown{lines: out, said: map[string]int{}}
	if hasRows(out) {
		s.bars = mpb.New(mpb.WithOutput(out), mpb.WithWidth(30))
		s.lines = s.bars
		s.bar = s.bars.AddBar(barSteps,
			mpb.BarRemoveOnComplete(),
			mpb.PrependDecorators(decor.Percentage()),
			mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return s.state() })))
	}
	return s
}

// IsTerminal asks for the terminal's settings, which only a terminal has.
func IsTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(file.Fd()), unix.TCGETS)
	return err == nil
}

// hasRows reports whether a bar would be seen: a terminal of no rows, as some
// containers and CI systems give, shows none, and gets plain lines instead.
func hasRows(out io.Writer) bool {
	if !IsTerminal(out) {
		return false
	}
	size, err := unix.IoctlGetWinsize(int(out.(*os.File).Fd()), unix.TIOCGWINSZ)
	return err == nil && size.Row > 0
}

func (s *Shown) state() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *Shown) set(now string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = now
}

// Building is one word of one line.
func (s *Shown) Building(cell string) {
	s.set("building " + cell)
	if s.bar == nil {
		fmt.Fprintf(s.lines, "building %s\n", cell)
	}
}

// Trial is one line, or the bar's new state.
func (s *Shown) Trial(t result.Trial, blocks int, left time.Duration) {
	if t.Excluded != "" {
		s.Say(fmt.Sprintf("cell %s, block %d: does not count: %s", t.Cell, t.Block, t.Excluded))
		return
	}
	state := fmt.Sprintf("block %d of %d  %s  %s  %s left", t.Block, max(blocks, t.Block), t.Cell, received(t),
		max(left, 0).Round(time.Second))
	s.set(state)
	if s.bar == nil {
		fmt.Fprintln(s.lines, state)
		return
	}
	if total := t.ElapsedSeconds + left.Seconds(); total > 0 {
		s.bar.SetCurrent(int64(barSteps * t.ElapsedSeconds / total))
	}
}

// received is the figure that the trial is about: frames a second, answered requests a
// second, or else bits.
func received(t result.Trial) string {
	bits, packets, unit := 0.0, 0.0, ""
	for _, pair := range t.Pairs {
		for _, way := range pair.Ways() {
			end := way.Receiver
			switch {
			case end.Frames != nil:
				unit = "packets/s"
			case pair.Sender.Asks():
				unit, end = "requests/s", pair.Sender // who asks knows what was answered
			}
			if rate, err := end.Rate(); err == nil {
				bits += rate
				packets += float64(end.InWindow()) / end.WindowSeconds
			}
		}
	}
	if unit != "" {
		return fmt.Sprintf("%.0f %s", packets, unit)
	}
	return fmt.Sprintf("%.0f Mbit/s", bits/1e6)
}

// Ratio is one line, when there is news: the first estimate, and then each time
// that the blocks have grown by half.
func (s *Shown) Ratio(r result.Ratio, e stats.Estimate) {
	if !e.Known() || e.N < s.said[r.Name()]*3/2 || e.N == s.said[r.Name()] {
		return
	}
	s.said[r.Name()] = e.N
	blocks := "blocks"
	if e.N == 1 {
		blocks = "block"
	}
	line := fmt.Sprintf("  %-22s %.3f", r.Name(), e.Estimate)
	if e.Bounded() {
		line += fmt.Sprintf("  [%.3f, %.3f]", *e.Low, *e.High)
	}
	s.Say(fmt.Sprintf("%s  after %d %s", line, e.N, blocks))
}

// Say is a line of its own.
func (s *Shown) Say(line string) { fmt.Fprintln(s.lines, strings.TrimRight(line, "\n")) }

// Close takes the bar away.
func (s *Shown) Close() {
	if s.bar != nil {
		s.bar.Abort(true)
		s.bars.Wait()
	}
}

package command

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"windtunnel/traffic/iperf3"
)

// screen is where text goes: each piece begins with the time and the title where
// they are asked for, and is written at once.
type screen struct {
	mu     sync.Mutex
	out    io.Writer
	errs   io.Writer // the same file with --logfile
	format string    // of the time, "" for none
	title  string
	now    func() time.Time
}

func newScreen(out, errs io.Writer, o output) *screen {
	s := &screen{out: out, errs: errs, title: o.title, now: time.Now}
	if o.stamped {
		s.format = o.stampAs
	}
	return s
}

func (s *screen) begin() string {
	if s.format == "" {
		return ""
	}
	return stamp(s.format, s.now())
}

// print writes a piece of text, and returns it without the mark that tells
// several clients' lines apart.
func (s *screen) print(mark, text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	title := ""
	if s.title != "" {
		title = s.title + ":  "
	}
	begin := s.begin() + title
	_, _ = io.WriteString(s.out, begin+mark+text) // whoever reads may have gone: the test goes on
	return begin + text
}

// whole writes text that others read as one piece: JSON.
func (s *screen) whole(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = io.WriteString(s.out, text+"\n")
}

// warn writes a warning as iperf3 does.
func (s *screen) warn(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.errs, "warning: "+format+"\n", args...)
}

// warnOfFragments is a client's warning of datagrams that fit into no packet.
func (s *screen) warnOfFragments(about iperf3.Start) {
	if size, most := about.Test.Length, about.ControlMSS; !about.Server && about.Test.Protocol == iperf3.UDP && most > 0 && size > most {
		s.warn("UDP block size %d exceeds TCP MSS %d, may result in fragmentation / drops", size, most)
	}
}

// complain writes an error as iperf3 does.
func (s *screen) complain(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.errs, "%siperf3: %s\n", s.begin(), strings.TrimSuffix(fmt.Sprintf(format, args...), "\n"))
}

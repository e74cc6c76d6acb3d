package command

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"syscall"
	"time"

	"windtunnel/result"
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
	json   bool // what is told is JSON, in lines of events if stream
	stream bool
	now    func() time.Time
	failed error // the first of writing to out
}

func newScreen(out, errs io.Writer, o output) *screen {
	s := &screen{out: out, errs: errs, title: o.title, json: o.json, stream: o.stream, now: time.Now}
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
	s.write(begin + mark + text)
	return begin + text
}

// whole writes text that others read as one piece: JSON.
func (s *screen) whole(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write(text + "\n")
}

// write keeps an error, and the test goes on. Whoever reads may have gone, who knows it.
func (s *screen) write(text string) {
	if _, err := io.WriteString(s.out, text); err != nil && s.failed == nil && !errors.Is(err, syscall.EPIPE) {
		s.failed = err
	}
}

// exit is the exit code of what came to code: a result that nobody can read is a failure, of which told is to know.
func (s *screen) exit(code int, told io.Writer) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil {
		return code
	}
	fmt.Fprintf(told, "iperf3: error - not all of the output could be written: %v\n", s.failed)
	return exitFailed
}

// warn writes a warning as iperf3 does.
func (s *screen) warn(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.errs, "warning: %s\n", result.Clean(fmt.Sprintf(format, args...)))
}

// warnOfFragments is a client's warning of datagrams that fit into no packet.
func (s *screen) warnOfFragments(about iperf3.Start) {
	if size, most := about.Test.Length, about.ControlMSS; !about.Server && about.Test.Protocol == iperf3.UDP && most > 0 && size > most {
		s.warn("UDP block size %d exceeds TCP MSS %d, may result in fragmentation / drops", size, most)
	}
}

// complain writes an error as iperf3 does: as JSON where the output is JSON.
func (s *screen) complain(format string, args ...any) {
	text := strings.TrimSuffix(fmt.Sprintf(format, args...), "\n")
	switch {
	case s.json && s.stream:
		s.whole(compact((&object{}).add("event", "error").add("data", text)))
	case s.json:
		s.whole(pretty((&object{}).add("start", startBefore(nil)).add("intervals", []any{}).add("end", &object{}).add("error", text)))
	default:
		s.note("%s", text)
	}
}

// note writes a line about what the program does.
func (s *screen) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.errs, "%siperf3: %s\n", s.begin(), result.Clean(fmt.Sprintf(format, args...)))
}

// fit is a peer's text without what moves a terminal's cursor or changes its colours, in its own lines and columns.
func fit(text string) string {
	columns := strings.Split(text, "\t")
	for i, column := range columns {
		columns[i] = result.CleanLines(column)
	}
	return strings.Join(columns, "\t")
}

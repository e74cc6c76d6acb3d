package poll

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// tail keeps the end of what a process says, and passes all of it on.
type tail struct {
	mu   sync.Mutex
	text []byte
	next *log // nil: to nobody
}

const (
	tailBytes   = 2048
	quotedLines = 4
)

// Write takes it.
func (t *tail) Write(text []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, text...)
	t.text = t.text[max(0, len(t.text)-tailBytes):]
	if t.next != nil {
		t.next.take(text)
	}
	return len(text), nil
}

// end is that of the process.
func (t *tail) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.next != nil {
		t.next.take([]byte("\n"))
	}
}

// noFolder is what EAL says of the folder that it is kept from making.
var noFolder = [][]byte{[]byte("/dev/null/dpdk"), []byte("No DPDK runtime directory")}

// worthless lines are empty, or tell what was meant to be.
func worthless(line []byte) bool {
	return len(bytes.TrimSpace(line)) == 0 || slices.ContainsFunc(noFolder, func(word []byte) bool { return bytes.Contains(line, word) })
}

// quote is the last lines, for an error.
func (t *tail) quote() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := slices.DeleteFunc(bytes.Split(t.text, []byte("\n")), worthless)
	if len(lines) == 0 {
		return ""
	}
	return ": " + string(bytes.Join(lines[max(0, len(lines)-quotedLines):], []byte("; ")))
}

// What is passed on while the process lives. A VM can make DPDK say something for each message of
// its, so there is a bound: so many lines at once, and one more with each logEvery.
const (
	logLine  = 400 // bytes of a line, of which the rest is cut off
	logBurst = 20
	logEvery = 2 * time.Second
)

// log passes lines on, each whole and marked with whose it is, and tells how many it left out. It is of all
// processes that follow each other. Nobody waits for who reads them: a process that cannot say something
// stops.
type log struct {
	now   func() time.Time
	lines chan string
	done  chan struct{} // closed when all is written

	mu   sync.Mutex
	line []byte // that has not ended
	room int    // lines that may go
	last time.Time
	out  int // that were left out
}

// newLog is none if there is nobody to write to.
func newLog(to io.Writer) *log {
	if to == nil {
		return nil
	}
	l := &log{now: time.Now, lines: make(chan string, logBurst), done: make(chan struct{}), room: logBurst, last: time.Now()}
	go func() {
		defer close(l.done)
		for line := range l.lines {
			_, _ = io.WriteString(to, line) // who does not take it has none of it
		}
	}()
	return l
}

// close writes what waits, if it is taken at all. No process may be left.
func (l *log) close() {
	if l == nil {
		return
	}
	close(l.lines)
	select {
	case <-l.done:
	case <-time.After(time.Second):
	}
}

func (l *log) take(text []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, b := range text {
		switch {
		case b == '\n':
			if !worthless(l.line) {
				l.pass(l.now())
			}
			l.line = l.line[:0]
		case len(l.line) < logLine:
			l.line = append(l.line, b)
		}
	}
}

// pass lets a line go, if there is room for it.
func (l *log) pass(now time.Time) {
	if more := int(now.Sub(l.last) / logEvery); more > 0 {
		l.room = min(logBurst, l.room+more)
		l.last = l.last.Add(time.Duration(more) * logEvery)
	}
	text := asLine(string(l.line))
	if l.out > 0 {
		text = asLine(fmt.Sprintf("%d lines were left out here", l.out)) + text
	}
	if l.room > 0 {
		select {
		case l.lines <- text:
			l.room--
			l.out = 0
			return
		default: // they are not taken
		}
	}
	l.out++
}

// asLine is one line, whatever the text holds.
func asLine(text string) string {
	const whose = "vrouter-poll: "
	return whose + strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(strings.TrimPrefix(text, whose), "?")) + "\n"
}

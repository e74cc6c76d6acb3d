package poll

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// TestLog: a line is one line of bounded length, whatever it holds and in whatever pieces it comes, and marked; what
// says nothing is not passed on.
func TestLog(t *testing.T) {
	var to bytes.Buffer
	l := newLog(&to)
	for _, piece := range []string{
		"VHOST_CO", "NFIG: bad \x1b[31mred\xff\r\n\n", "vrouter-poll: ours\n", "EAL: No DPDK runtime directory\n",
		strings.Repeat("x", 10_000) + "\n", "not ended",
	} {
		l.take([]byte(piece))
	}
	l.take([]byte("\n"))
	l.close()
	want := "vrouter-poll: VHOST_CONFIG: bad  [31mred? \nvrouter-poll: ours\nvrouter-poll: " + strings.Repeat("x", logLine) + "\nvrouter-poll: not ended\n"
	if to.String() != want {
		t.Errorf("%q, want %q", to.String(), want)
	}
}

// TestLogIsBounded: a flood is cut, and how much of it was left out is told with the next line that may go.
func TestLogIsBounded(t *testing.T) {
	now := time.Unix(1, 0)
	l := &log{now: func() time.Time { return now }, lines: make(chan string, 10*logBurst), room: logBurst, last: now}
	for i := range 1000 {
		l.take(fmt.Appendf(nil, "line %d\n", i))
	}
	now = now.Add(3*logEvery + logEvery/2)
	for i := range 5 {
		l.take(fmt.Appendf(nil, "later %d\n", i))
	}
	close(l.lines)
	var all string
	for line := range l.lines {
		all += line
	}
	if n := strings.Count(all, "\n"); n != logBurst+3+1 || !strings.Contains(all, "line 19\nvrouter-poll: 980 lines were left out here\nvrouter-poll: later 0\n") {
		t.Errorf("%d lines: %s", n, all)
	}
	if l.out != 2 {
		t.Errorf("%d are still to be told of", l.out)
	}
}

// TestLogWaitsForNobody: a reader that takes nothing holds no process up.
func TestLogWaitsForNobody(t *testing.T) {
	stuck, writer := io.Pipe()
	defer stuck.Close()
	l, done := newLog(writer), make(chan struct{})
	go func() {
		defer close(done)
		for i := range 10 * logBurst {
			l.take(fmt.Appendf(nil, "line %d\n", i))
		}
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("it waits for who reads")
	}
}

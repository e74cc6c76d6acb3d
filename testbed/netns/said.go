package netns

import (
	"bufio"
	"strings"
	"sync"
)

// firstLine hands on the first line that is written to it and drops the rest.
type firstLine struct {
	line chan string
	text strings.Builder
	done bool
}

// Write never fails: a daemon must not be killed by what it says.
func (f *firstLine) Write(p []byte) (int, error) {
	if f.done {
		return len(p), nil
	}
	f.text.Write(p)
	line, _, whole := strings.Cut(f.text.String(), "\n")
	if whole || f.text.Len() > bufio.MaxScanTokenSize {
		f.done = true
		f.line <- line
	}
	return len(p), nil
}

// Tail keeps the last of what is written to it: what a process said before it ended.
type Tail struct {
	Limit int // bytes; 0: maxTail

	mu   sync.Mutex
	text []byte
}

// maxTail bounds what is kept of a daemon's errors, in bytes.
const maxTail = 64 << 10

// Write never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if over := len(t.text) - t.limit(); over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	return len(p), nil
}

func (t *Tail) limit() int {
	if t.Limit > 0 {
		return t.Limit
	}
	return maxTail
}

// Quoted is the tail as the end of an error's text.
func (t *Tail) Quoted() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(string(t.text))
	if text == "" {
		return ""
	}
	return "; it said: " + text
}

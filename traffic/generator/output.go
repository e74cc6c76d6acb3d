package generator

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// How much a program may print, in bytes: iperf3 has 400 for each stream and interval, a log
// of sockperf 40 for each request.
const (
	maxPrinted = 32 << 20
	maxLog     = 64 << 20
	maxWords   = 300 // of it, in an error
)

// output is what a program printed.
type output struct {
	out, err string
	log      string // what it wrote to descriptor 3
}

// bounded keeps what is written, up to a limit.
type bounded struct {
	limit int

	mu   sync.Mutex
	text []byte
	over bool
}

var errTooMuch = errors.New("it prints too much")

// Write fails at the limit, so that who writes is cut off.
func (b *bounded) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.text)+len(p) > b.limit {
		b.over = true
		return 0, errTooMuch
	}
	b.text = append(b.text, p...)
	return len(p), nil
}

func (b *bounded) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.text)
}

func (b *bounded) full() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.over
}

// words are the last of what a program said, for an error.
func (o output) words() string {
	text := strings.Join(strings.Fields(o.err), " ")
	if text == "" {
		text = strings.Join(strings.Fields(o.out), " ")
	}
	if text == "" {
		return ""
	}
	return "; it said: " + strings.ToValidUTF8(text[max(0, len(text)-maxWords):], "")
}

// span is a part of a program's run as it told it.
type span struct {
	seconds float64
	bytes   uint64
	packets uint64
	lost    int64  // below zero: so many came that were taken for lost before
	sent    uint64 // bytes, where the receiver's end tells them too
	jitter  float64
}

// lastSpan adds up the last spans that make up a window: the run ends with its window.
func lastSpan(spans []span, window float64) (all span, from int, err error) {
	for from = len(spans); from > 0 && all.seconds < window-spanTolerance; {
		from--
		s := spans[from]
		all.seconds += s.seconds
		all.bytes += s.bytes
		all.packets += s.packets
		all.lost += s.lost
		all.sent += s.sent
		all.jitter += s.jitter * s.seconds
	}
	if all.seconds < window-spanTolerance {
		return span{}, 0, fmt.Errorf("it told of %.2f s of its run, less than the window of %.2f s", all.seconds, window)
	}
	all.jitter /= all.seconds
	return all, from, nil
}

// How long the spans are that tools are asked for, and by how much those that are added
// up may fall short of a window, in seconds.
const (
	spanLength    = "0.1"
	spanTolerance = 0.06
)

// pairs reads "key=value" words of a line; what is none is passed over.
func pairs(line string) map[string]string {
	found := map[string]string{}
	for word := range strings.FieldsSeq(line) {
		if key, value, ok := strings.Cut(word, "="); ok {
			found[key] = value
		}
	}
	return found
}

// number reads one that cannot be negative, and is no more than a machine can count.
func number(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v >= 0) || v > 1e18 {
		return 0, fmt.Errorf("%.40q is no number of anything", text)
	}
	return v, nil
}

// lines are those of a text, without their ends, and without the colours of a terminal.
func lines(text string) []string {
	var all []string
	for line := range bytes.Lines([]byte(text)) {
		all = append(all, strings.TrimRight(string(line), "\r\n"))
	}
	return all
}

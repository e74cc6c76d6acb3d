package oneoff

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"windtunnel/result"
)

// Text shows a measurement to a person: its course on progress, its result on out.
type Text struct {
	out, progress io.Writer
	screen        Screen // of progress
	back          bool   // the load flows from there to here
	columns       []column
	lines         int
	digits        int // of times, behind the point
}

// Screen is what progress is written to; its zero value is a file or a pipe.
type Screen struct {
	Terminal bool // lines scroll away
	Color    bool // it takes escapes, and whoever looks at it wants them
}

// NewText shows on out and progress, of which screen tells. The
// load, whose defaults are filled in, says which way it flows and what its intervals tell.
func NewText(out, progress io.Writer, screen Screen, load result.Options) *Text {
	return &Text{out: out, progress: progress, screen: screen, back: load.Text("direction") == "reverse", columns: columnsFor(load), digits: 1}
}

// Every tells how long intervals are, so that their times are written as finely as that.
func (t *Text) Every(interval time.Duration) {
	t.digits = 1
	for unit := 100 * time.Millisecond; interval%unit != 0 && unit > time.Millisecond; unit /= 10 {
		t.digits++
	}
}

// Say is a line about the course of things.
func (t *Text) Say(line string) { fmt.Fprintln(t.progress, line) }

// headEvery repeats the columns' names on a terminal, where they scroll away.
const headEvery = 20

// Interval is a line of its own; the warm-up's are faint where there is colour.
func (t *Text) Interval(p Paired) {
	if t.back {
		p.Sender, p.Receiver = p.Receiver, p.Sender
	}
	if t.lines == 0 || t.screen.Terminal && t.lines%headEvery == 0 {
		t.line("from    to", "", func(c column) string { return c.name })
	}
	t.lines++
	note := t.apart(p, "sent", p.Sender) + t.apart(p, "received", p.Receiver)
	if p.From < 0 {
		note += warmUp
	}
	t.line(t.seconds(p.From)+" "+t.seconds(p.To), note, func(c column) string { return c.value(p) })
}

// warmUp is how a line of it ends.
const warmUp = "  warm-up"

// sameInterval is by how much an end's times may differ from their line's, of its length.
const sameInterval = 0.25

// apart is a note of an end whose figures are of another time than the line's, as it did not run when its interval should have ended.
func (t *Text) apart(p Paired, did string, i *result.Interval) string {
	if i == nil || math.Abs(i.From-p.From)+math.Abs(i.To-p.To) <= sameInterval*(p.To-p.From) {
		return ""
	}
	return fmt.Sprintf("  (%s from %.*f to %.*f)", did, t.digits, i.From, t.digits, i.To)
}

// seconds is a time of an interval in its column.
func (t *Text) seconds(s float64) string { return fmt.Sprintf("%*.*f", 4+t.digits, t.digits, s) }

func (t *Text) line(when, note string, cell func(column) string) {
	const width = 14
	var line strings.Builder
	fmt.Fprintf(&line, "%*s", 10+2*t.digits, when)
	for _, c := range t.columns {
		fmt.Fprintf(&line, "  %*s", max(width, len(c.name)), cell(c))
	}
	line.WriteString(note)
	text := line.String()
	if t.screen.Color && strings.HasSuffix(note, warmUp) {
		text = "\x1b[2m" + text + "\x1b[0m"
	}
	fmt.Fprintln(t.progress, text)
}

// Outcome is the summary. A failure beside it is told by who calls.
func (t *Text) Outcome(o Outcome, _ error) error {
	var text strings.Builder
	summarise(&text, o)
	if _, err := io.WriteString(t.out, text.String()); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	return nil
}

// Failed is of a measurement that counted nothing, which is told by who calls.
func (t *Text) Failed(_, _ string, _ error) error { return nil }

// JSON writes one object a line: intervals, and a last one with everything.
type JSON struct {
	out, progress io.Writer
	broken        error // the first failure to write
}

// NewJSON writes objects to out and what is for people to progress.
func NewJSON(out, progress io.Writer) *JSON { return &JSON{out: out, progress: progress} }

// Say is for people.
func (j *JSON) Say(line string) { fmt.Fprintln(j.progress, line) }

// Interval is one object.
func (j *JSON) Interval(p Paired) {
	j.write(struct {
		What string `json:"what"`
		Paired
	}{"interval", p})
}

// Outcome is the last object.
func (j *JSON) Outcome(o Outcome, failure error) error {
	said := ""
	if failure != nil {
		said = failure.Error()
	}
	j.write(struct {
		What  string `json:"what"`
		Error string `json:"error,omitempty"`
		Outcome
	}{"result", said, o})
	return j.broken
}

// Failed is the last object of a measurement that counted nothing.
func (j *JSON) Failed(kind, host string, failure error) error {
	j.write(struct {
		What  string `json:"what"`
		Kind  string `json:"kind"`
		Host  string `json:"host"`
		Error string `json:"error"`
	}{"failed", kind, host, failure.Error()})
	return j.broken
}

func (j *JSON) write(object any) {
	if err := writeLine(j.out, object); err != nil && j.broken == nil {
		j.broken = err
	}
}

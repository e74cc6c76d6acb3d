package report

import (
	"bufio"
	"io"
	"strings"
	"unicode/utf8"

	"windtunnel/analysis"
)

const widest = 100

// writeText is the report for a terminal.
func writeText(w io.Writer, f analysis.Findings, o Options) error {
	return documentText(w, documentOf(f), o)
}

func documentText(w io.Writer, d document, o Options) error {
	if o.Width <= 0 || o.Width > widest {
		o.Width = widest
	}
	o.Width = max(o.Width, 40)
	out := &text{Writer: bufio.NewWriter(w), Options: o}
	out.document(d)
	return out.Flush()
}

type text struct {
	*bufio.Writer
	Options
}

// The colours: ECMA-48 SGR, "Select Graphic Rendition".
const (
	bold  = "\x1b[1m"
	reset = "\x1b[0m"
)

var colors = map[mood]string{good: "\x1b[32m", bad: "\x1b[31m", unsure: "\x1b[33m"}

func (t *text) paint(color, s string) string {
	if !t.Color || color == "" || s == "" {
		return s
	}
	return color + s + reset
}

func (t *text) line(s string) {
	t.WriteString(strings.TrimRight(s, " "))
	t.WriteByte('\n')
}

func (t *text) document(d document) {
	for _, s := range wrap(d.title, t.Width) {
		t.line(t.paint(bold, s))
	}
	for _, p := range d.intro {
		for _, s := range wrap(p, t.Width) {
			t.line(s)
		}
	}
	for _, s := range d.sections {
		if s.long || len(s.charts) > 0 {
			continue
		}
		t.line("")
		t.line(t.paint(bold, s.heading))
		t.section(s)
	}
}

func (t *text) section(s section) {
	if s.table != nil {
		for i, part := range s.table.split(t.Width - gap) {
			if i > 0 {
				t.line("")
			}
			t.table(part)
		}
	}
	named := nameWidth(s.items)
	for _, i := range s.items {
		t.item(i, named)
	}
	for _, note := range s.notes {
		t.hanging("  ", note, 4, "")
	}
}

// nameWidth is how far the items' names are padded; long ones stand alone.
func nameWidth(items []item) int {
	most := 0
	for _, i := range items {
		if n := utf8.RuneCountInString(i.name); n <= 12 {
			most = max(most, n)
		}
	}
	return most
}

func (t *text) item(i item, named int) {
	lead := "  "
	if named > 0 {
		lead += pad(i.name, named, true) + "  "
	} else if i.name != "" {
		lead += i.name + "  "
	}
	hang := min(utf8.RuneCountInString(lead), 4+named)
	t.hanging(lead, i.says, hang, colors[i.mood])
	for _, l := range i.lines {
		indent := hang
		if l.under {
			indent += 2
		}
		t.hanging(strings.Repeat(" ", indent)+"- ", l.says, indent+2, colors[l.mood])
	}
}

// hanging writes a paragraph after its lead, the lines after the first indented.
func (t *text) hanging(lead, says string, indent int, color string) {
	room := t.Width - indent
	first := t.Width - utf8.RuneCountInString(lead)
	for i, s := range wrapFirst(says, first, room) {
		if i > 0 {
			lead = strings.Repeat(" ", indent)
		}
		t.line(lead + t.paint(color, s))
	}
}

func wrap(s string, width int) []string { return wrapFirst(s, width, width) }

// wrapFirst breaks at spaces; the first line has its own width. A word longer than
// a line stands alone.
func wrapFirst(s string, first, width int) []string {
	var lines []string
	line, room := "", first
	for _, word := range strings.Fields(s) {
		n := utf8.RuneCountInString(line) + 1 + utf8.RuneCountInString(word)
		switch {
		case line == "":
			line = word
		case n <= room:
			line += " " + word
		default:
			lines = append(lines, line)
			line, room = word, width
		}
	}
	return append(lines, line)
}

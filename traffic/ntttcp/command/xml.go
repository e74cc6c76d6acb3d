package command

import (
	"encoding/xml"
	"fmt"
	"strings"
)

// tree writes elements line by line, one tab deeper for each level, as both tools
// write their XML.
type tree struct {
	strings.Builder
	depth int
}

func escape(text string) string {
	var b strings.Builder
	xml.EscapeText(&b, []byte(text)) // a strings.Builder takes everything
	return b.String()
}

func (t *tree) line(format string, values ...any) {
	t.WriteString(strings.Repeat("\t", t.depth))
	fmt.Fprintf(t, format, values...)
	t.WriteByte('\n')
}

// in opens an element, writes what it holds, and closes it.
func (t *tree) in(name, attributes string, hold func()) {
	t.line("<%s%s>", name, attributes)
	t.depth++
	hold()
	t.depth--
	t.line("</%s>", name)
}

// leaf is an element with text.
func (t *tree) leaf(name string, value any) {
	t.line("<%s>%s</%s>", name, escape(fmt.Sprint(value)), name)
}

// figure is an element with a unit; format is of its number.
func (t *tree) figure(name, metric, format string, value any) {
	t.line("<%s metric=\"%s\">%s</%s>", name, escape(metric), fmt.Sprintf(format, value), name)
}

// truth is how both tools write a switch.
func truth(on bool) string {
	if on {
		return "True"
	}
	return "False"
}

func attribute(name, value string) string {
	return fmt.Sprintf(" %s=\"%s\"", name, escape(value))
}

package report

import (
	"bytes"
	"html"
	"strings"
	"unicode/utf8"

	"windtunnel/result"
)

// markup writes elements that are HTML and XML at once. Tags, names of attributes and classes are this package's own
// words; every text and every value of an attribute goes through escaped, so that what a run file holds stays text
// (HTML standard, section 13.1.3: in text and in quoted values nothing but <, &, > and the quotes means anything).
type markup struct{ bytes.Buffer }

// open begins an element. attributes are names and values in turn.
func (m *markup) open(tag string, attributes ...string) {
	m.begin(tag, attributes)
	m.WriteByte('>')
}

// empty writes an element that has no content, and ends the line.
func (m *markup) empty(tag string, attributes ...string) {
	m.begin(tag, attributes)
	m.WriteString("/>\n")
}

func (m *markup) begin(tag string, attributes []string) {
	m.WriteByte('<')
	m.WriteString(tag)
	for i := 0; i+1 < len(attributes); i += 2 {
		m.WriteString(" " + attributes[i] + `="` + escaped(attributes[i+1], mostText) + `"`)
	}
}

func (m *markup) close(tag string) { m.WriteString("</" + tag + ">") }

// text writes one line of text.
func (m *markup) text(s string) { m.WriteString(escaped(s, mostText)) }

// element writes an element with a text in it.
func (m *markup) element(tag, text string, attributes ...string) {
	m.open(tag, attributes...)
	m.text(text)
	m.close(tag)
}

// mostText is how many characters of one text a page shows, and mostCell how many of one in a table.
const mostText, mostCell = 2000, 200

// escaped is a text on one line, of bounded length, that no markup can be in.
func escaped(s string, most int) string {
	return html.EscapeString(strings.Map(inXML, result.Clean(bounded(s, most))))
}

// inXML replaces the characters that no XML document may hold (XML 1.0, section 2.2); result.Clean has replaced the control characters.
func inXML(r rune) rune {
	if r == 0xFFFE || r == 0xFFFF {
		return utf8.RuneError
	}
	return r
}

// bounded is a text of so many characters at most, that shows where it was cut.
func bounded(s string, most int) string {
	if len(s) <= most {
		return s
	}
	n := 0
	for i := range s {
		if n == most {
			return s[:i] + "…"
		}
		n++
	}
	return s
}

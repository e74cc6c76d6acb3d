package scenario

import (
	"strings"
	"unicode/utf8"
)

// lexeme is a word or a sign of a ratio or a predicate, and where it begins, in
// bytes of the scalar. The last one is empty: the end.
type lexeme struct {
	text string
	at   int
}

const signs = ":/%<>=,"

// lexemes cuts a predicate into words (names, numbers, metrics) and signs.
func lexemes(text string) []lexeme {
	var all []lexeme
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == ' ' || c == '\t' || c == '\n':
			i++
			continue
		case strings.HasPrefix(text[i:], "<=") || strings.HasPrefix(text[i:], ">=") || strings.HasPrefix(text[i:], "=="):
			all = append(all, lexeme{text[i : i+2], i})
		case strings.IndexByte(signs, c) >= 0:
			all = append(all, lexeme{text[i : i+1], i})
		default:
			end := strings.IndexAny(text[i:], " \t\n"+signs)
			if end < 0 {
				end = len(text) - i
			}
			all = append(all, lexeme{text[i : i+end], i})
		}
		i += len(all[len(all)-1].text)
	}
	return append(all, lexeme{"", len(text)})
}

// inside is the place of a byte of a scalar. Where the text of the suite does
// not stand there as it is (it has escapes, or goes over several lines) it is
// the place where the scalar begins.
func (r *reader) inside(n *node, offset int) position {
	if n.at.line > len(r.lines) {
		return n.at
	}
	line := []rune(r.lines[n.at.line-1])
	start := n.at.column - 1
	if start < len(line) && (line[start] == '"' || line[start] == '\'') {
		start++
	}
	if start > len(line) || !strings.HasPrefix(string(line[start:]), n.text) {
		return n.at
	}
	return position{n.at.line, start + 1 + utf8.RuneCountInString(n.text[:offset])}
}

package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Error is one thing that is wrong with a suite, and where.
type Error struct {
	File         string
	Line, Column int // from 1; a column is a character
	Says         string
}

// Error writes file:line:column: what is wrong.
func (e Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Says)
}

// Errors is everything that Parse found wrong, in the order of the text. More
// is set when there was more than a person reads at once.
type Errors struct {
	All  []Error
	More bool
}

// Error writes one line for each error.
func (e *Errors) Error() string {
	lines := make([]string, 0, len(e.All)+1)
	for _, one := range e.All {
		lines = append(lines, one.Error())
	}
	if e.More {
		lines = append(lines, "there is more; correct these first")
	}
	return strings.Join(lines, "\n")
}

// Unwrap makes every single Error reachable for errors.As.
func (e *Errors) Unwrap() []error {
	all := make([]error, len(e.All))
	for i, one := range e.All {
		all[i] = one
	}
	return all
}

// position is a place in the suite's text, counted from 1.
type position struct{ line, column int }

// complaints collects errors. The same words about the same place count once:
// a key that many cells inherit is read for each of them.
type complaints struct {
	file string
	seen map[Error]bool
	all  []Error
	more bool
}

func (c *complaints) add(at position, says string) {
	e := Error{File: c.file, Line: at.line, Column: at.column, Says: oneLine(says)}
	switch {
	case c.seen[e]:
	case c.full():
		c.more = true
	default:
		if c.seen == nil {
			c.seen = map[Error]bool{}
		}
		c.seen[e] = true
		c.all = append(c.all, e)
	}
}

// oneLine keeps what a message quotes from breaking its line.
func oneLine(says string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c == '\n' || c == '\r' || c == '\t':
			return ' '
		case invisible(c):
			return unicode.ReplacementChar
		}
		return c
	}, says)
}

// full reports that nobody reads further; long work may stop.
func (c *complaints) full() bool { return len(c.all) >= maxErrors }

func (c *complaints) err() error {
	if len(c.all) == 0 {
		return nil
	}
	slices.SortStableFunc(c.all, func(a, b Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return &Errors{All: c.all, More: c.more}
}

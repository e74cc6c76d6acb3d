package scenario

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
	"windtunnel/result"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// readTree turns text into a tree, or complains and returns nil. It has three
// gates: the bytes, the tokens (what this schema does not use, and what would
// make the parser slow or its recursion deep), and the parser's own.
func readTree(text []byte, c *complaints) *node {
	if at, says := badBytes(text); says != "" {
		c.add(at, says)
		return nil
	}
	tokens := lexer.Tokenize(string(text))
	if at, says := badTokens(tokens); says != "" {
		c.add(at, says)
		return nil
	}
	file, err := parseTokens(tokens)
	if err != nil {
		at, says := syntaxError(err)
		c.add(at, says)
		return nil
	}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil {
		c.add(position{1, 1}, "the suite is empty; begin with `suite: NAME`")
		return nil
	}
	b := builder{complaints: c}
	return b.build(file.Docs[0].Body, 0)
}

// plainLines takes off a byte order mark and ends every line with a line feed:
// the lexer counts other line ends twice after a comment or in quotes.
func plainLines(text []byte) []byte {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	return bytes.ReplaceAll(text, []byte("\r"), []byte("\n"))
}

func badBytes(text []byte) (position, string) {
	if len(text) > maxText {
		return position{1, 1}, fmt.Sprintf("the suite has %d bytes; at most %d are read", len(text), maxText)
	}
	at := position{1, 1}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			return at, "this is not UTF-8 text; save the suite as UTF-8"
		case r == '\n':
			at = position{at.line, 0}
			at.line++
		case invisible(r):
			return at, fmt.Sprintf("the invisible character %U has no place in a suite; remove it", r)
		}
		at.column++
		i += size
	}
	return position{}, ""
}

// invisible characters could move a terminal's cursor or turn the reading
// direction of a report that quotes the suite.
func invisible(r rune) bool {
	if r == '\t' {
		return false
	}
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
}

// refused are the parts of YAML that a suite has no use for. Aliases and merge
// keys could also make a small text huge; `like` and `matrix` do their work.
var refused = map[token.Type]string{
	token.AnchorType:      "anchors (&name) are not part of a suite; use `like` or `matrix`",
	token.AliasType:       "aliases (*name) are not part of a suite; use `like` or `matrix`",
	token.MergeKeyType:    "merge keys (<<) are not part of a suite; use `like`",
	token.TagType:         "tags (!name) are not part of a suite; values get their type from their key",
	token.DirectiveType:   "directives (%) are not part of a suite",
	token.MappingKeyType:  "`? key` is not part of a suite; write `key: value`",
	token.DocumentEndType: "a suite is one document; remove the `...`",
}

func badTokens(tokens token.Tokens) (position, string) {
	if len(tokens) > maxTokens {
		return placeOf(tokens[maxTokens]), fmt.Sprintf("the suite has more than %d words and signs; split it, or use `matrix`", maxTokens)
	}
	depth, dashes := 0, 0
	for i, t := range tokens {
		if says, ok := refused[t.Type]; ok {
			return placeOf(t), says
		}
		if t.Type == token.DocumentHeaderType && i > 0 {
			return placeOf(t), "a suite is one document; put the second into a file of its own"
		}
		depth += flowStep(t)
		dashes = dashesOnLine(dashes, tokens, i)
		if depth > maxNesting || dashes > maxNesting {
			return placeOf(t), tooDeep
		}
	}
	return position{}, ""
}

var tooDeep = fmt.Sprintf("more than %d levels of nesting", maxNesting)

func flowStep(t *token.Token) int {
	switch t.Type {
	case token.MappingStartType, token.SequenceStartType:
		return 1
	case token.MappingEndType, token.SequenceEndType:
		return -1
	}
	return 0
}

// dashesOnLine counts `- - -`: lists in lists on one line, the only block
// nesting that needs no deeper indentation.
func dashesOnLine(before int, tokens token.Tokens, i int) int {
	if tokens[i].Type != token.SequenceEntryType {
		return before
	}
	if i > 0 && tokens[i-1].Type == token.SequenceEntryType && tokens[i-1].Position.Line == tokens[i].Position.Line {
		return before + 1
	}
	return 1
}

// parseTokens guards the one call into foreign code that reads what a stranger
// wrote: a panic in there is a syntax error for the user, not the end of a run.
func parseTokens(tokens token.Tokens) (file *ast.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			file, err = nil, fmt.Errorf("the YAML parser cannot read this text (%v)", p)
		}
	}()
	// Keys that stand twice are reported with the others, by the tree's builder.
	return parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
}

func syntaxError(err error) (position, string) {
	var syntax *yaml.SyntaxError
	if errors.As(err, &syntax) && syntax.Token != nil {
		return placeOf(syntax.Token), "YAML: " + result.Clip(syntax.Message) + advice(syntax.Message)
	}
	return position{1, 1}, "YAML: " + result.Clip(err.Error())
}

func placeOf(t *token.Token) position {
	if t == nil || t.Position == nil {
		return position{1, 1}
	}
	return position{max(t.Position.Line, 1), max(t.Position.Column, 1)}
}

// advice says how to go on from the parser's commonest messages.
func advice(message string) string {
	switch {
	case strings.Contains(message, "\t"):
		return "; indent with spaces, a tab cannot"
	case strings.HasPrefix(message, "mapping value is not allowed"):
		return "; quote a value that contains a colon and a space, and align the keys"
	}
	return ""
}

package scenario

import (
	"fmt"
	"strings"
	"windtunnel/result"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// builder makes our tree of the parser's.
type builder struct{ *complaints }

func (b builder) build(n ast.Node, depth int) *node {
	at := begin(n)
	if depth > maxNesting {
		b.add(at, tooDeep)
		return &node{at: at}
	}
	switch v := n.(type) {
	case *ast.MappingNode:
		return b.mapping(at, v.Values, depth)
	case *ast.MappingValueNode:
		return b.mapping(at, []*ast.MappingValueNode{v}, depth)
	case *ast.SequenceNode:
		made := &node{at: at, shape: list}
		for _, item := range v.Values {
			made.items = append(made.items, b.build(item, depth+1))
		}
		return made
	case *ast.NullNode:
		return &node{at: at}
	case *ast.LiteralNode:
		return b.scalar(at, v.Value.Value)
	case *ast.StringNode:
		if v.Token.Type == token.StringType && strings.Contains(v.Value, ": ") {
			b.add(at, fmt.Sprintf("a value with a colon and a space stands in quotes: \"%s\"", result.Clip(v.Value)))
		}
		return b.scalar(at, v.Value)
	case ast.ScalarNode:
		return b.scalar(at, n.GetToken().Value)
	}
	b.add(at, fmt.Sprintf("a suite has no use for YAML's %s here", n.Type()))
	return &node{at: at}
}

func (b builder) scalar(at position, text string) *node {
	if len(text) > maxScalar {
		b.add(at, fmt.Sprintf("this text has %d bytes; at most %d are read", len(text), maxScalar))
	}
	b.refuseInvisible(at, text)
	return &node{at: at, shape: scalar, text: text}
}

// begin is where a node begins. A block mapping does at its first key, one in
// braces at the brace; for the former the parser gives the colon.
func begin(n ast.Node) position {
	at := placeOf(n.GetToken())
	values := []*ast.MappingValueNode(nil)
	switch v := n.(type) {
	case *ast.MappingNode:
		values = v.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{v}
	}
	if len(values) == 0 {
		return at
	}
	key := placeOf(values[0].Key.GetToken())
	if key.line < at.line || key.line == at.line && key.column < at.column {
		return key
	}
	return at
}

// mapping reads the keys of a mapping, each once.
func (b builder) mapping(at position, values []*ast.MappingValueNode, depth int) *node {
	made := &node{at: at, shape: mapping}
	first := map[string]position{}
	for _, v := range values {
		keyAt := placeOf(v.Key.GetToken())
		key := v.Key.GetToken().Value
		if before, twice := first[key]; twice {
			b.add(keyAt, fmt.Sprintf("`%s` stands here a second time; the first is in line %d", result.Clip(key), before.line))
			continue
		}
		b.refuseInvisible(keyAt, key)
		first[key] = keyAt
		made.fields = append(made.fields, field{key, keyAt, b.build(v.Value, depth+1)})
	}
	return made
}

// refuseInvisible looks at what escapes ("\x1b") stand for, after the text
// itself was found clean.
func (b builder) refuseInvisible(at position, text string) {
	for _, c := range text {
		if c != '\n' && invisible(c) {
			b.add(at, fmt.Sprintf("the invisible character %U has no place in a suite; remove it", c))
			return
		}
	}
}

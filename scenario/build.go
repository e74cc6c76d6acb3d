package scenario

import (
	"fmt"

	"github.com/goccy/go-yaml/ast"
)

// builder makes our tree of the parser's.
type builder struct{ *complaints }

func (b builder) build(n ast.Node, depth int) *node {
	at := placeOf(n.GetToken())
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
		text = ""
	}
	b.refuseInvisible(at, text)
	return &node{at: at, shape: scalar, text: text}
}

// mapping reads the keys of a mapping, each once. A block mapping begins at its
// first key, one in braces at the brace: the parser gives the colon for the
// former.
func (b builder) mapping(at position, values []*ast.MappingValueNode, depth int) *node {
	made := &node{at: at, shape: mapping}
	first := map[string]position{}
	for i, v := range values {
		keyAt := placeOf(v.Key.GetToken())
		if i == 0 && (keyAt.line < at.line || keyAt.line == at.line && keyAt.column < at.column) {
			made.at = keyAt
		}
		key := v.Key.GetToken().Value
		if before, twice := first[key]; twice {
			b.add(keyAt, fmt.Sprintf("`%s` stands here a second time; the first is in line %d", clip(key), before.line))
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

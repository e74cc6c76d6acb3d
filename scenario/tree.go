package scenario

import "windtunnel/result"

// The suite's text as a tree of our own: what YAML says, without its types,
// every part with its place. Scalars stay as written, so that `kernel: 6.10`
// is not the number 6.1.

type shape int

const (
	empty shape = iota // null, or nothing after the colon
	scalar
	list
	mapping
)

type node struct {
	at     position
	shape  shape
	text   string // of a scalar
	items  []*node
	fields []field
}

type field struct {
	key   string
	at    position
	value *node
}

// describe names a node's shape for a message.
func (n *node) describe() string {
	switch n.shape {
	case scalar:
		if n.text == "" {
			return "an empty text"
		}
		return "`" + result.Clip(n.text) + "`"
	case list:
		if len(n.items) == 0 {
			return "an empty list"
		}
		return "a list"
	case mapping:
		if len(n.fields) == 0 {
			return "an empty mapping"
		}
		return "a mapping"
	}
	return "nothing"
}

// get returns the value under a key, nil when there is none.
func (n *node) get(key string) *node {
	for _, f := range n.fields {
		if f.key == key {
			return f.value
		}
	}
	return nil
}

// wrap puts a node under a key, at its own place: {key: n}.
func wrap(key string, at position, n *node) *node {
	return &node{at: at, shape: mapping, fields: []field{{key: key, at: at, value: n}}}
}

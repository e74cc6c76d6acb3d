package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// The kinds of JSON values.
type kind string

const (
	kindObject kind = "an object"
	kindArray  kind = "a list"
	kindString kind = "text"
	kindNumber kind = "a number"
	kindNull   kind = "null"
	kindOther  kind = "true or false"
)

// A node is a JSON value that knows where it stands in the text.
type node struct {
	kind   kind
	offset int
	path   string
	text   string
	items  []item
}

type item struct {
	key    string
	offset int
	value  *node
}

// maxDepth is far beyond what a configuration needs, and keeps a hostile text from deep recursion.
const maxDepth = 16

type treeParser struct {
	data    []byte
	decoder *json.Decoder
}

func parseTree(data []byte) (*node, *Error) {
	p := treeParser{data: data, decoder: json.NewDecoder(bytes.NewReader(data))}
	p.decoder.UseNumber()
	root, err := p.value("", 0)
	if err != nil {
		return nil, err
	}
	end := p.next()
	if _, tokenError := p.decoder.Token(); tokenError != io.EOF {
		return nil, &Error{Column: end, Message: "more text after the configuration's end"}
	}
	return root, nil
}

// next is where the next token starts.
func (p *treeParser) next() int {
	at := int(p.decoder.InputOffset())
	for at < len(p.data) && bytes.IndexByte([]byte(" \t\r\n,:"), p.data[at]) >= 0 {
		at++
	}
	return at
}

func (p *treeParser) token() (json.Token, int, *Error) {
	at := p.next()
	token, err := p.decoder.Token()
	if err == nil {
		return token, at, nil
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		at = max(int(syntax.Offset)-1, at)
	}
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return nil, at, &Error{Column: len(p.data), Message: "the text ends too early"}
	}
	return nil, at, &Error{Column: at, Message: fmt.Sprintf("not JSON: %v", err)}
}

func (p *treeParser) value(path string, depth int) (*node, *Error) {
	token, at, err := p.token()
	if err != nil {
		return nil, err
	}
	n := &node{offset: at, path: path}
	if depth > maxDepth {
		return nil, n.fail("nested more than %d deep", maxDepth)
	}
	switch token := token.(type) {
	case json.Delim:
		if token == '{' {
			n.kind = kindObject
			return n, p.object(n, depth)
		}
		n.kind = kindArray
		return n, p.array(n, depth)
	case string:
		n.kind, n.text = kindString, token
	case json.Number:
		n.kind, n.text = kindNumber, token.String()
	case nil:
		n.kind = kindNull
	default:
		n.kind, n.text = kindOther, fmt.Sprint(token)
	}
	return n, nil
}

func (p *treeParser) object(n *node, depth int) *Error {
	seen := make(map[string]bool)
	for p.decoder.More() {
		token, at, err := p.token()
		if err != nil {
			return err
		}
		key, _ := token.(string)
		if seen[key] {
			return &Error{Path: n.path, Column: at, Message: fmt.Sprintf("the key %q is there twice", key)}
		}
		seen[key] = true
		path := key
		if n.path != "" {
			path = n.path + "." + key
		}
		value, err := p.value(path, depth+1)
		if err != nil {
			return err
		}
		n.items = append(n.items, item{key: key, offset: at, value: value})
	}
	_, _, err := p.token()
	return err
}

func (p *treeParser) array(n *node, depth int) *Error {
	for p.decoder.More() {
		value, err := p.value(fmt.Sprintf("%s[%d]", n.path, len(n.items)), depth+1)
		if err != nil {
			return err
		}
		n.items = append(n.items, item{value: value})
	}
	_, _, err := p.token()
	return err
}

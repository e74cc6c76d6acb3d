package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// object is a JSON object whose members keep their order: people and scripts
// read iperf3's output in the order that they know.
type object struct{ members []member }

type member struct {
	name  string
	value any // *object, []any, string, bool, json.Number, a Go number, nil
}

// add appends a member and returns the object, for chains.
func (o *object) add(name string, value any) *object {
	o.members = append(o.members, member{name, value})
	return o
}

// maxDepth bounds the nesting of a peer's JSON; iperf3's own has 5 levels.
const maxDepth = 64

// parseTree reads what a peer sent, with its order and its numbers as written.
func parseTree(text []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	value, err := parseValue(decoder, maxDepth)
	if err != nil {
		return nil, fmt.Errorf("reading a peer's JSON: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("reading a peer's JSON: more text after its end")
	}
	return value, nil
}

func parseValue(decoder *json.Decoder, depth int) (any, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	delimiter, ok := token.(json.Delim)
	if !ok {
		return token, nil
	}
	if depth == 0 {
		return nil, fmt.Errorf("nested deeper than %d", maxDepth)
	}
	if delimiter == '{' {
		return parseMembers(decoder, depth-1)
	}
	return parseItems(decoder, depth-1)
}

func parseMembers(decoder *json.Decoder, depth int) (any, error) {
	o := &object{}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		value, err := parseValue(decoder, depth)
		if err != nil {
			return nil, err
		}
		o.add(name.(string), value)
	}
	_, err := decoder.Token()
	return o, err
}

func parseItems(decoder *json.Decoder, depth int) (any, error) {
	items := []any{}
	for decoder.More() {
		value, err := parseValue(decoder, depth)
		if err != nil {
			return nil, err
		}
		items = append(items, value)
	}
	_, err := decoder.Token()
	return items, err
}

package scenario

import (
	"fmt"
	"slices"
	"strings"
	"windtunnel/result"
)

// handler reads the value of one key, or says why it stands in the wrong place.
type handler struct {
	key       string
	read      func(*node)
	misplaced string
}

// readKeys calls each key's handler in the handlers' order, whatever the order
// of the text, and complains about the keys that have none.
func (r *reader) readKeys(n *node, what string, handlers []handler) {
	if !r.isMapping(n, what) {
		return
	}
	var valid []string
	for _, h := range handlers {
		if h.misplaced == "" {
			valid = append(valid, h.key)
		}
	}
	for _, f := range n.fields {
		i := slices.IndexFunc(handlers, func(h handler) bool { return h.key == f.key })
		if i < 0 {
			r.add(f.at, result.UnknownWord("key", f.key, valid))
		} else if says := handlers[i].misplaced; says != "" {
			r.add(f.at, says)
		}
	}
	for _, h := range handlers {
		if v := n.get(h.key); v != nil && h.misplaced == "" {
			h.read(v)
		}
	}
}

// isMapping complains about a value that has no keys; nothing at all is an
// empty mapping.
func (r *reader) isMapping(n *node, what string) bool {
	if n.shape == mapping || n.shape == empty {
		return true
	}
	r.add(n.at, fmt.Sprintf("%s is %s; it takes `key: value` pairs", what, n.describe()))
	return false
}

func (r *reader) isList(n *node, what string, most int) bool {
	if n.shape != list {
		r.add(n.at, fmt.Sprintf("%s is %s; it takes a list: [one, two]", what, n.describe()))
		return false
	}
	if len(n.items) > most {
		r.add(n.items[most].at, fmt.Sprintf("%s has %d entries; at most %d are read", what, len(n.items), most))
		return false
	}
	return true
}

// text returns a scalar that is not empty.
func (r *reader) text(n *node, what string) (string, bool) {
	if text := strings.TrimSpace(n.text); n.shape == scalar && text != "" {
		return text, true
	}
	r.add(n.at, fmt.Sprintf("%s is %s; it takes one value", what, n.describe()))
	return "", false
}

func (r *reader) into(target *string, what string) func(*node) {
	return func(n *node) { *target, _ = r.text(n, what) }
}

// parsed reads a scalar with one of the Parse functions.
func parsed[V any](r *reader, n *node, what string, parse func(string) (V, error)) (V, bool) {
	var none V
	text, ok := r.text(n, what)
	if !ok {
		return none, false
	}
	v, err := parse(text)
	if err != nil {
		r.add(n.at, fmt.Sprintf("%s: %s", what, err))
		return none, false
	}
	return v, true
}

// count reads a whole number in [least, most].
func (r *reader) count(n *node, what string, least, most int) (int, bool) {
	v, ok := parsed(r, n, what, result.ParseCount)
	if !ok {
		return 0, false
	}
	if v < int64(least) || v > int64(most) {
		r.add(n.at, fmt.Sprintf("%s is %d; it lies between %d and %d", what, v, least, most))
		return 0, false
	}
	return int(v), true
}

// word reads one of a few words.
func (r *reader) word(n *node, what string, valid []string) (string, bool) {
	text, ok := r.text(n, what)
	if !ok {
		return "", false
	}
	if !slices.Contains(valid, text) {
		r.add(n.at, result.UnknownWord(what, text, valid))
		return "", false
	}
	return text, true
}

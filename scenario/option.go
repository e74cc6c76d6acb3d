package scenario

import (
	"fmt"

	"windtunnel/result"
)

// option reads the value of an option that a path or a kind of traffic declared.
func (r *reader) option(o result.Option, n *node) (any, bool) {
	text, ok := r.text(n, "`"+o.Name+"`")
	if !ok {
		return nil, false
	}
	v, err := o.Parse(text)
	if err != nil {
		r.add(n.at, fmt.Sprintf("`%s`: %s", o.Name, err))
		return nil, false
	}
	return v, true
}

// kinded is a block that names a kind and sets that kind's options: a cell's
// path, its traffic, or the load beside it.
type kinded struct {
	what    string // path, traffic or beside, for messages
	known   map[string][]result.Option
	kind    string
	options result.Options
	said    bool         // rightly or not: its absence is not the error
	find    *result.Find // of traffic: the search for its rate
}

// apply lays a block over what is there. The same kind keeps its options,
// another one begins anew.
func (k *kinded) apply(r *reader, n *node) {
	k.said = true
	switch n.shape {
	case scalar:
		k.become(r, n)
	case mapping:
		if word := n.get("kind"); word != nil && !k.become(r, word) {
			return
		}
		k.set(r, n)
	default:
		r.add(n.at, fmt.Sprintf("`%s` is %s; write `%s: NAME` or `%s: {kind: NAME, ...}`", k.what, n.describe(), k.what, k.what))
	}
}

func (k *kinded) become(r *reader, n *node) bool {
	word, ok := r.word(n, k.what, sortedKeys(k.known))
	if ok && word != k.kind {
		k.kind, k.options, k.find = word, nil, nil
	}
	return ok
}

func (k *kinded) set(r *reader, n *node) {
	if k.kind == "" {
		r.add(n.at, fmt.Sprintf("this %s has no kind; write `kind: NAME` (valid: %s)", k.what, result.Listed(sortedKeys(k.known))))
		return
	}
	byName := map[string]result.Option{}
	for _, o := range k.known[k.kind] {
		byName[o.Name] = o
	}
	valid := append([]string{"kind"}, sortedKeys(byName)...)
	finds := k.what == "traffic"
	if finds {
		valid = append(valid, "find")
	}
	for _, f := range n.fields {
		o, ok := byName[f.key]
		switch {
		case f.key == "kind":
		case f.key == "find" && finds:
			k.setFind(r, f.value)
		case !ok:
			r.add(f.at, result.UnknownWord("option of the "+k.what+" "+k.kind, f.key, valid))
		default:
			if v, ok := r.option(o, f.value); ok {
				k.options = with(k.options, f.key, v)
			}
		}
	}
}

// with returns options with one more, and leaves the given ones as they are:
// other cells share them.
func with(options result.Options, name string, v any) result.Options {
	made := result.Options{}
	for k, old := range options {
		made[k] = old
	}
	made[name] = v
	return made
}

// defaulted returns every option of the kind: what was set, else its default.
func (k kinded) defaulted() result.Options {
	if k.kind == "" {
		return nil
	}
	made := result.Options{}
	for _, o := range k.known[k.kind] {
		if v, set := k.options[o.Name]; set {
			made[o.Name] = v
		} else if o.Default != nil && !o.Idle(k.options) {
			made[o.Name] = keptDefault(o)
		}
	}
	return made
}

// keptDefault gives a default the Go type that its option is kept in: an
// option declared with `Default: 1` means int64(1).
func keptDefault(o result.Option) any {
	given := result.Options{o.Name: o.Default}
	switch o.Type {
	case result.Count, result.Size:
		return given.Int(o.Name)
	case result.BitRate, result.PacketRate, result.Duration:
		return given.Float(o.Name)
	}
	return o.Default
}

package scenario

import (
	"fmt"
	"slices"
)

// reader is one reading of one suite.
type reader struct {
	complaints
	lines  []string // of the text, to find a place inside a scalar
	vocab  Vocabulary
	spec   Spec
	nodes  []string // the nodes' names, in order
	suite  draft    // what cells inherit from the suite itself
	plans  map[string]*cellPlan
	unsure bool     // some cells have no valid name, so that an unknown one may be theirs
	order  []string // the cells' names
}

// Parse turns a suite's text into its Spec. file is for messages only. Every
// error is an *Errors; each Error in it names the line and the column.
func Parse(text []byte, file string, vocab Vocabulary) (Spec, error) {
	r := &reader{vocab: vocab, plans: map[string]*cellPlan{}}
	r.file, r.spec.File = file, file
	root := readTree(text, &r.complaints)
	if root != nil && root.shape != mapping {
		r.add(root.at, "a suite is a mapping; begin with `suite: NAME`")
	} else if root != nil && !r.full() {
		r.lines = splitLines(text)
		r.read(root)
	}
	if err := r.err(); err != nil {
		return Spec{}, err
	}
	return r.spec, nil
}

// read goes through the suite in the order of meaning, not of the text: nodes
// before the cells that stand on them, cells before the ratios between them.
func (r *reader) read(root *node) {
	var published, ratios, hypotheses *node
	r.suite = r.newDraft()
	r.readKeys(root, "a suite", []handler{
		{"suite", r.readName},
		{"asks", r.into(&r.spec.Asks)},
		{"source", r.into(&r.spec.Source)},
		{"nodes", r.readNodes},
		{"assumed", r.readAssumed},
		{"traffic", r.suite.setTraffic},
		{"path", r.suite.setPath},
		{"wire", r.suite.setWire},
		{"segmentation", r.suite.setSegmentation},
		{"cells", r.planCells},
		{"matrix", r.planMatrix},
		{"ratios", keep(&ratios)},
		{"hypotheses", keep(&hypotheses)},
		{"published", keep(&published)},
	})
	r.require(root, "suite", "its name: `suite: NAME`")
	r.require(root, "nodes", "the nodes that it needs: `nodes: {a: {}, b: {}}`")
	r.resolveCells(root)
	later(published, r.readPublished)
	later(ratios, r.readRatios)
	later(hypotheses, r.readHypotheses)
}

func (r *reader) require(root *node, key, what string) {
	if root.get(key) == nil {
		r.add(root.at, "the suite lacks "+what)
	}
}

func keep(target **node) func(*node) { return func(n *node) { *target = n } }

func later(n *node, read func(*node)) {
	if n != nil {
		read(n)
	}
}

func (r *reader) readName(n *node) {
	r.spec.Suite, _ = r.name(n, "the suite's name", maxName)
}

// handler reads the value of one key.
type handler struct {
	key  string
	read func(*node)
}

// readKeys calls each key's handler in the handlers' order, whatever the order
// of the text, and complains about the keys that have none.
func (r *reader) readKeys(n *node, what string, handlers []handler) {
	if !r.isMapping(n, what) {
		return
	}
	valid := make([]string, len(handlers))
	for i, h := range handlers {
		valid[i] = h.key
	}
	for _, f := range n.fields {
		if !slices.Contains(valid, f.key) {
			r.add(f.at, unknownWord("key", f.key, valid))
		}
	}
	for _, h := range handlers {
		if v := n.get(h.key); v != nil {
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
	if n.shape == scalar && n.text != "" {
		return n.text, true
	}
	r.add(n.at, fmt.Sprintf("%s is %s; it takes one value", what, n.describe()))
	return "", false
}

func (r *reader) into(target *string) func(*node) {
	return func(n *node) { *target, _ = r.text(n, "this") }
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
	v, ok := parsed(r, n, what, ParseCount)
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
		r.add(n.at, unknownWord(what, text, valid))
		return "", false
	}
	return text, true
}

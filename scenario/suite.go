package scenario

import (
	"fmt"
	"strings"

	"windtunnel/result"
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
	if len(text) <= maxText {
		text = plainLines(text)
	}
	root := readTree(text, &r.complaints)
	if root != nil && root.shape != mapping {
		r.add(root.at, "a suite is a mapping; begin with `suite: NAME`")
	} else if root != nil && !r.full() {
		r.lines = strings.Split(string(text), "\n")
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
		{key: "suite", read: r.readName},
		{key: "asks", read: r.into(&r.spec.Asks, "`asks`")},
		{key: "source", read: r.into(&r.spec.Source, "`source`")},
		{key: "budget", read: r.readBudget},
		{key: "nodes", read: r.readNodes},
		{key: "assumed", read: r.readAssumed},
		{key: "traffic", read: r.suite.setTraffic},
		{key: "beside", read: r.suite.setBeside},
		{key: "path", read: r.suite.setPath},
		{key: "wire", read: r.suite.setWire},
		{key: "vm", read: r.suite.setVM},
		{key: "segmentation", read: r.suite.setSegmentation},
		{key: "checksum", read: r.suite.setChecksum},
		{key: "cells", read: r.planCells},
		{key: "matrix", read: r.planMatrix},
		{key: "ratios", read: keep(&ratios)},
		{key: "hypotheses", read: keep(&hypotheses)},
		{key: "published", read: keep(&published)},
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

func (r *reader) readBudget(n *node) {
	v, ok := parsed(r, n, "`budget`", result.ParseDuration)
	if ok && (v < MinBudget || v > MaxBudget) {
		r.add(n.at, fmt.Sprintf("`budget` is %s; it lies between 5s and 24h", result.Clip(n.text)))
		return
	}
	r.spec.Budget = v
}

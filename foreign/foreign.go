// Package foreign makes cells of a run out of what other tools wrote: iperf3's JSON and NTttcp's XML. Their figures
// stay theirs: nothing is corrected, what a tool does not tell has no figure, and the run says who measured. A
// file is a stranger's: how much of it is read is bounded, and texts of it are never names of files.
package foreign

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"windtunnel/result"
)

// How much is taken: bytes of a file, tests of all files, intervals of a test.
const (
	MaxFile      = 32 << 20
	maxTests     = 10_000
	maxIntervals = 10_000
)

// File is one file of another tool.
type File struct {
	Name    string
	Text    []byte
	Changed time.Time // for tools that do not write when they ran
}

// Options are what a user says of the files.
type Options struct {
	Suite string // the run's suite; "": "imported"
	Cell  string // all tests are trials of this cell; "": each file is a cell
	Run   result.Run
}

// The places of a test: who connects is on a, as in the shipped suites.
const connecting, reached = "a", "b"

// end is one end of a test as a tool tells it.
type end struct {
	told   bool
	own    bool // by this end's own file, not by the other's
	host   string
	system string
	sample result.PairEnd
	node   *result.NodeSample // what it tells of the end's machine
}

// test is one test of another tool.
type test struct {
	file          string
	tool, version string
	command       string // its settings, in the tool's words
	started       time.Time
	kind          string // stream or datagram
	load          result.Options
	window        float64
	a, b          end
	key           string // both files of one test have the same; "": one file tells all
	failed        string // what the tool says went wrong
	doubts        []result.Doubt
}

// Import makes a run of the files' tests, in their order. Two files of one test, of its two ends, become one trial:
// iperf3's with one cookie, and NTttcp's sender and receiver of the same settings that follow each other. Errors name
// the file and what to do.
func Import(files []File, o Options) (result.File, error) {
	var tests []test
	for _, f := range files {
		read, err := f.tests()
		if err != nil {
			return result.File{}, fmt.Errorf("%s: %w", f.Name, err)
		}
		if tests = append(tests, read...); len(tests) > maxTests {
			return result.File{}, fmt.Errorf("%s: more than %d tests in all: import them in several runs", f.Name, maxTests)
		}
	}
	if len(tests) == 0 {
		return result.File{}, errors.New("no file: name one of iperf3 -J or of NTttcp -xml")
	}
	return runOf(together(tests), o)
}

// tests finds out whose a file is by how it begins.
func (f File) tests() ([]test, error) {
	if len(f.Text) > MaxFile {
		return nil, fmt.Errorf("longer than %d MiB", MaxFile>>20)
	}
	text := strings.TrimSpace(plain(f.Text))
	switch {
	case text == "":
		return nil, errors.New("empty: did the tool end before it wrote?")
	case text[0] == '{':
		return iperf3Tests(text, f.Name)
	case text[0] == '<':
		return ntttcpTests(text, f)
	}
	return nil, errors.New("neither JSON of iperf3 (-J) nor XML of NTttcp (-xml): it begins with " + fmt.Sprintf("%q", result.Clip(text)))
}

// together joins the two ends' files of one test.
func together(tests []test) []test {
	var all []test
	for i := range tests {
		t := &tests[i]
		if other := otherEnd(all, t); other != nil {
			*other = other.join(*t)
			continue
		}
		all = append(all, *t)
	}
	return all
}

// otherEnd is the one of the tests that a test joins: of NTttcp, whose files name none, only the last may be it. nil: there is none.
func otherEnd(all []test, t *test) *test {
	first := 0
	if t.tool != iperf3Tool {
		first = max(0, len(all)-1)
	}
	for i := first; t.key != "" && i < len(all); i++ {
		if all[i].joins(t) {
			return &all[i]
		}
	}
	return nil
}

// joins reports whether the other is the same test's other end. (Tests are large, and there may be thousands: none is copied.)
func (t *test) joins(o *test) bool {
	return t.key == o.key && t.file != o.file && t.a.own != o.a.own && t.b.own != o.b.own
}

// join takes each end as its own file tells it.
func (t test) join(o test) test {
	if o.a.own && o.a.told {
		t.a = o.a
	}
	if o.b.own && o.b.told {
		t.b = o.b
	}
	t.key = ""
	t.command += "\n" + o.command
	if t.failed == "" {
		t.failed = o.failed
	}
	t.doubts = append(t.doubts, o.doubts...)
	return t
}

// runOf writes tests down as the cells and trials of a run.
func runOf(tests []test, o Options) (result.File, error) {
	f := result.File{Run: o.Run, End: &result.End{Why: "imported"}}
	f.Run.Suite = orElse(o.Suite, "imported")
	f.Run.Foreign = tools(tests)
	f.Run.Wire = "foreign"
	f.Run.StartedAt = tests[0].started.UTC().Format(time.RFC3339)
	f.Run.Plan = result.Plan{WindowSeconds: tests[0].window, MinimumBlocks: 1}
	f.Run.Nodes = []result.RunNode{nodeOf(connecting, tests, func(t test) end { return t.a }), nodeOf(reached, tests, func(t test) end { return t.b })}
	f.Run.Doubts = []result.Doubt{{Kind: "foreign", Says: "these figures are " + f.Run.Foreign + "'s, as it wrote them: neither windows nor machines were checked, and each test is one trial"}}
	r := runMaker{File: &f, named: map[string]int{}, alike: map[string]int{}, next: map[string]int{}, blocks: map[string]int{}}
	for i, t := range tests {
		at, err := r.cellOf(t, o.Cell)
		if err != nil {
			return result.File{}, fmt.Errorf("%s: %w", t.file, err)
		}
		name := f.Cells[at].Name
		r.blocks[name]++
		f.Cells[at].Doubts = append(f.Cells[at].Doubts, t.doubts...)
		f.Trials = append(f.Trials, t.trial(name, r.blocks[name], i, tests[0].started))
		f.End.Blocks = max(f.End.Blocks, r.blocks[name])
	}
	return f, nil
}

// runMaker notes where the cells of a run are.
type runMaker struct {
	*result.File
	named  map[string]int // by name
	alike  map[string]int // by their file and load
	next   map[string]int // by the name that files share: the number that the next cell of that name tries first
	blocks map[string]int // cells' trials
}

// cellOf is where a test is a trial: in the named cell, or in one of its file with the same load, which may have to be made.
func (r runMaker) cellOf(t test, named string) (int, error) {
	if named != "" {
		if at, made := r.named[named]; made {
			return at, t.suits(r.Cells[at])
		}
		return r.add(t, named), nil
	}
	alike := fmt.Sprintf("%s\x00%s %v", t.file, t.kind, t.load) // fmt sorts a map by its keys
	at, made := r.alike[alike]
	if !made {
		at = r.add(t, r.freeName(cellName(t.file)))
		r.alike[alike] = at
	}
	return at, nil
}

func (r runMaker) add(t test, name string) int {
	r.Cells = append(r.Cells, t.cell(name))
	at := len(r.Cells) - 1
	r.named[name] = at
	return at
}

// freeName is that of a file's next cell: base, base-2, ...
func (r runMaker) freeName(base string) string {
	for {
		r.next[base]++
		name := base
		if n := r.next[base]; n > 1 {
			name = fmt.Sprintf("%s-%d", base, n)
		}
		if _, taken := r.named[name]; !taken {
			return name
		}
	}
}

// suits says why a test is no trial of a cell: trials of one cell have one load.
func (t test) suits(c result.Cell) error {
	one := t.cell(c.Name)
	if one.Traffic != c.Traffic {
		return fmt.Errorf("cell %s is of the load %s, and this test is of %s: import them as cells of their own", c.Name, c.Traffic, one.Traffic)
	}
	for key, value := range one.Load {
		if fmt.Sprint(c.Load[key]) != fmt.Sprint(value) {
			return fmt.Errorf("cell %s has %s %v, and this test has %v: import them as cells of their own", c.Name, key, c.Load[key], value)
		}
	}
	if len(one.Load) != len(c.Load) {
		return fmt.Errorf("cell %s tells %d settings of its load, and this test %d: import them as cells of their own", c.Name, len(c.Load), len(one.Load))
	}
	return nil
}

func (t test) cell(name string) result.Cell {
	return result.Cell{
		Name: name, Says: t.says(), Path: "foreign", Traffic: t.kind, Load: t.load, Segmentation: "as-found", Wire: "foreign",
		Pairs:         []result.Pair{{From: result.Place{Node: connecting}, To: result.Place{Node: reached}}},
		Configuration: t.command,
	}
}

func (t test) says() string { return strings.TrimSpace(t.tool + " " + t.version) }

func (t test) trial(cell string, block, order int, first time.Time) result.Trial {
	trial := result.Trial{
		Cell: cell, Block: block, Order: order + 1, Attempt: 1, WindowSeconds: t.window, Excluded: t.failed,
		ElapsedSeconds: max(0, t.started.Sub(first).Seconds()), Nodes: map[string]result.NodeSample{},
		Pairs: []result.PairSample{{From: connecting, To: reached, Sender: t.end(t.a, connecting), Receiver: t.end(t.b, reached)}},
	}
	for name, e := range map[string]end{connecting: t.a, reached: t.b} {
		if e.node != nil {
			trial.Nodes[name] = *e.node
		}
	}
	return trial
}

// end is what a record has of an end; of one that no file tells, the reason.
func (t test) end(e end, place string) result.PairEnd {
	if !e.told {
		return result.PairEnd{Error: fmt.Sprintf("no file tells of the end %s: import %s's output there too", place, t.tool)}
	}
	if t.load.Text("direction") == "both" && (t.a.sample.Opposite == nil || t.b.sample.Opposite == nil) {
		return result.PairEnd{Error: fmt.Sprintf("of a load both ways one direction is told only in part: import %s's output of the other end too", t.tool)}
	}
	e.sample.Generator = &result.Generator{Name: t.tool, Version: t.version}
	return e.sample
}

// nodeOf is what the tools tell of an end's machine, where all tests agree.
func nodeOf(name string, tests []test, of func(test) end) result.RunNode {
	print := result.Fingerprint{}
	for line, value := range map[string]func(end) string{
		"foreign.host": func(e end) string { return e.host }, "foreign.system": func(e end) string { return e.system },
	} {
		said := value(of(tests[0]))
		if said != "" && !slices.ContainsFunc(tests, func(t test) bool { return value(of(t)) != said }) {
			print[line] = said
		}
	}
	return result.RunNode{Name: name, Fingerprint: print}
}

// tools are those that the tests are of, with their versions.
func tools(tests []test) string {
	var all []string
	for _, t := range tests {
		if !slices.Contains(all, t.says()) {
			all = append(all, t.says())
		}
	}
	slices.Sort(all)
	const enough = 4
	if len(all) > enough {
		all = append(all[:enough], "others")
	}
	return strings.Join(all, ", ")
}

// cellName is a file's name without its folder and its ending.
func cellName(file string) string {
	base := filepath.Base(file)
	if name := strings.TrimSuffix(base, filepath.Ext(base)); name != "" {
		return result.Clean(name)
	}
	return result.Clean(base)
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

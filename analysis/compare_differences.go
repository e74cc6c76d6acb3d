package analysis

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"windtunnel/result"
)

// Effect is what a difference of two runs does to a comparison.
type Effect string

// A difference forbids a comparison where it decides figures by itself, so that a user would take it for the effect
// of what he changed; it warns where it may be just that (a kernel, a setting), or where one run does not say; it is
// told where it decides nothing.
const (
	Forbids Effect = "forbids"
	Warns   Effect = "warns"
	Tells   Effect = "tells"
)

// Difference is one thing in which two runs, or two cells, are not alike. A text that is "" is not known.
type Difference struct {
	Effect        Effect
	Where         string // "node a", "cell B"; "": the run
	What          string // "cpu.model", "window"
	Before, After string
}

func (d Difference) String() string {
	text := d.What
	if d.Where != "" {
		text += " of " + d.Where
	}
	return fmt.Sprintf("%s: from %s to %s", text, orUnknown(d.Before), orUnknown(d.After))
}

func orUnknown(text string) string {
	if text == "" {
		return "not known"
	}
	return text
}

// forbidding joins the differences that forbid a comparison; "": none does.
func forbidding(all []Difference) string {
	var said []string
	for _, d := range all {
		if d.Effect == Forbids {
			said = append(said, d.String())
		}
	}
	if len(said) > mostReasons {
		said = append(said[:mostReasons], fmt.Sprintf("and %d more", len(said)-mostReasons))
	}
	return strings.Join(said, "; ")
}

// prints are the effects of a node's fingerprint by the beginning of a line's name; the longest that fits counts,
// and what is not listed warns. A machine of another model or generation, or with more or fewer CPUs, is another machine.
var prints = map[string]Effect{
	"":                    Warns,
	"cpu.model":           Forbids,
	"cpu.generation":      Forbids,
	"cpu.architecture":    Forbids,
	"cpu.count":           Warns,
	"nic.bits_per_second": Forbids,
	"nic.device":          Tells,
	"nic.address":         Tells,
	"memory.total":        Tells,
	"foreign.":            Tells,
	"sysctl.kernel.perf":  Tells,
}

func effectOf(line string) Effect {
	best, effect := -1, Warns
	for prefix, e := range prints {
		if strings.HasPrefix(line, prefix) && len(prefix) > best {
			best, effect = len(prefix), e
		}
	}
	return effect
}

// differ collects differences; a thing that one side does not know never forbids.
type differ struct{ all []Difference }

func (d *differ) add(effect Effect, where, what, before, after string) {
	if before == after {
		return
	}
	if effect == Forbids && (before == "" || after == "") {
		effect = Warns
	}
	d.all = append(d.all, Difference{effect, where, what, before, after})
}

// sorted has the forbidding ones first, else in the order in which they were found.
func (d *differ) sorted() []Difference {
	rank := []Effect{Forbids, Warns, Tells}
	slices.SortStableFunc(d.all, func(a, b Difference) int {
		return slices.Index(rank, a.Effect) - slices.Index(rank, b.Effect)
	})
	return d.all
}

// runDifferences are those of two runs as a whole.
func runDifferences(before, after result.Run) []Difference {
	var d differ
	d.add(Warns, "", "suite", before.Suite, after.Suite)
	d.add(Forbids, "", "wire", wireOf(before), wireOf(after))
	d.add(Warns, "", "windtunnel", before.Version, after.Version)
	d.add(Warns, "", "measured by", measuredBy(before), measuredBy(after))
	if before.Foreign == "" && after.Foreign == "" {
		d.add(Forbids, "", "nodes", madeOf(before), madeOf(after))
	}
	other := nodesByName(after)
	seen := map[string]bool{}
	for _, b := range before.Nodes {
		if a, both := other[b.Name]; both && !seen[b.Name] { // else the cells' places tell
			seen[b.Name] = true
			d.node("node "+b.Name, b, a)
		}
	}
	return d.sorted()
}

// wireOf is not known of what another tool measured.
func wireOf(r result.Run) string {
	if r.Foreign != "" {
		return ""
	}
	return r.Wire
}

func measuredBy(r result.Run) string {
	if r.Foreign != "" {
		return r.Foreign
	}
	return "windtunnel"
}

func madeOf(r result.Run) string {
	if r.Simulated {
		return "simulated on one host"
	}
	return "of their own"
}

// nodesByName has the first of each name.
func nodesByName(r result.Run) map[string]result.RunNode {
	nodes := map[string]result.RunNode{}
	for _, n := range r.Nodes {
		if _, again := nodes[n.Name]; !again {
			nodes[n.Name] = n
		}
	}
	return nodes
}

func (d *differ) node(where string, b, a result.RunNode) {
	d.add(Forbids, where, "CPUs", countOf(b.CPUs), countOf(a.CPUs))
	d.add(Forbids, where, "CPUs shared with another node", strconv.FormatBool(b.Shared), strconv.FormatBool(a.Shared))
	d.add(Tells, where, "numbers of CPUs", fmt.Sprint(b.CPUs), fmt.Sprint(a.CPUs))
	d.add(Tells, where, "host", b.Host, a.Host)
	d.add(Warns, where, "entered by", strings.Join(b.Exec, " "), strings.Join(a.Exec, " "))
	lines := map[string]bool{}
	for _, print := range []result.Fingerprint{b.Fingerprint, a.Fingerprint} {
		for line := range print {
			lines[line] = true
		}
	}
	for _, line := range sortedKeys(lines) {
		before, after := shorter(b.Fingerprint[line], a.Fingerprint[line])
		d.add(effectOf(line), where, line, before, after)
	}
}

// countOf is "" of none: what another tool measured has none that are known.
func countOf(cpus []int) string {
	if len(cpus) == 0 {
		return ""
	}
	return strconv.Itoa(len(cpus))
}

// longPrint is from how many characters on of two values only the words are told that one of them has alone: a kernel's
// command line, the CPU's features.
const longPrint = 60

func shorter(before, after string) (string, string) {
	if before == "" || after == "" || before == after || max(len(before), len(after)) < longPrint {
		return before, after
	}
	b, a := strings.Fields(before), strings.Fields(after)
	onlyBefore, onlyAfter := without(b, a), without(a, b)
	if onlyBefore == onlyAfter { // the same words in another order
		return before, after
	}
	return onlyBefore, onlyAfter
}

// without are the words that others do not have, in dots.
func without(words, others []string) string {
	has := map[string]bool{}
	for _, w := range others {
		has[w] = true
	}
	left := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return has[w] })
	return strings.TrimSpace("... " + strings.Join(left, " "))
}

// cellDifferences are those of one cell in two runs: another load, window, path or place makes another cell of it.
func cellDifferences(before, after result.Run, b, a Cell) []Difference {
	var d differ
	foreign := before.Foreign != "" || after.Foreign != ""
	add := func(what, one, other string) { d.add(Forbids, "", what, one, other) }
	may := func(what, one, other string) { // what a cell may be without, of which another tool does not tell
		if !foreign {
			one, other = orAbsent(one), orAbsent(other)
		}
		add(what, one, other)
	}
	add("traffic", b.Spec.Traffic, a.Spec.Traffic)
	d.options("", b.Spec.Load, a.Spec.Load, foreign)
	may("load beside", b.Spec.Beside, a.Spec.Beside)
	d.options("beside ", b.Spec.BesideLoad, a.Spec.BesideLoad, foreign)
	may("search", asText(b.Spec.Find), asText(a.Spec.Find))
	d.window(b.WindowSeconds, a.WindowSeconds, foreign)
	if foreign { // of which neither path nor place is known
		return d.sorted()
	}
	add("path", b.Spec.Path, a.Spec.Path)
	d.options("path's ", b.Spec.PathOptions, a.Spec.PathOptions, false)
	add("wire", b.Spec.Wire, a.Spec.Wire)
	add("segmentation", b.Spec.Segmentation, a.Spec.Segmentation)
	may("checksum", b.Spec.Checksum, a.Spec.Checksum)
	may("queueing", asText(b.Spec.Queueing), asText(a.Spec.Queueing))
	may("settings of the wire", b.Spec.Wired.Words(), a.Spec.Wired.Words())
	add("MTU of the wire", strconv.Itoa(b.Spec.MTU.Wire), strconv.Itoa(a.Spec.MTU.Wire))
	add("MTU of the endpoints", strconv.Itoa(b.Spec.MTU.Endpoint), strconv.Itoa(a.Spec.MTU.Endpoint))
	add("pairs", asText(b.Spec.Pairs), asText(a.Spec.Pairs))
	d.add(Warns, "", "TCP's congestion control", b.Congestion, a.Congestion)
	for _, key := range sortedKeys(union(b.Spec.Layout, a.Spec.Layout)) {
		d.add(Warns, "", key, b.Spec.Layout[key], a.Spec.Layout[key])
	}
	if b.Spec.Configuration != a.Spec.Configuration {
		d.add(Warns, "", "configuration of the path's programs", "as its report shows", "another, as its report shows")
	}
	return d.sorted()
}

// options compares a load's or a path's. What another tool does not tell of its load may be the same.
func (d *differ) options(of string, before, after result.Options, foreign bool) {
	for _, key := range sortedKeys(union(before, after)) {
		b, a := optionText(before[key]), optionText(after[key])
		effect := Forbids
		if b == "" || a == "" {
			if foreign {
				effect = Warns
			} else {
				b, a = orAbsent(b), orAbsent(a)
			}
		}
		d.add(effect, "", of+key, b, a)
	}
}

func orAbsent(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

// optionText is the same of a number before and after a trip through JSON.
func optionText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return fmt.Sprint(v)
}

// windowTolerance is by how much windows may differ: other tools' are as long as their run happened to be.
const windowTolerance = 0.05

func (d *differ) window(before, after float64, foreign bool) {
	if math.Abs(before-after) <= windowTolerance*math.Max(before, after) {
		return
	}
	effect := Forbids
	if foreign {
		effect = Warns
	}
	d.add(effect, "", "window", seconds(before), seconds(after))
}

func seconds(v float64) string {
	if v <= 0 {
		return ""
	}
	return strconv.FormatFloat(v, 'g', 3, 64) + " s"
}

// asText is a part of a record as its file has it, "" for none.
func asText(part any) string {
	text, err := json.Marshal(part)
	if err != nil || string(text) == "null" {
		return ""
	}
	return string(text)
}

func union[V any](a, b map[string]V) map[string]V {
	all := map[string]V{}
	for _, m := range []map[string]V{a, b} {
		for key, v := range m {
			all[key] = v
		}
	}
	return all
}

package scenario

import (
	"fmt"
	"slices"
	"strings"

	"windtunnel/result"
)

// The grammar of ratios and predicates:
//
//	ratio      = [ METRIC ":" ] CELL "/" CELL
//	comparison = ratio ( "<=" N | ">=" N | "between" N "and" N | "within" N "%" "of" N )
//	predicate  = comparison { "and" comparison }
//
// "<" and ">" are read as "<=" and ">=": a measured ratio is never exactly N.

// grammar reads one scalar. After the first complaint it says nothing more.
type grammar struct {
	r      *reader
	n      *node
	words  []lexeme
	next   int
	failed bool
}

func (r *reader) grammar(n *node) *grammar {
	return &grammar{r: r, n: n, words: lexemes(n.text)}
}

func (g *grammar) peek() lexeme { return g.words[g.next] }

func (g *grammar) take() lexeme {
	l := g.peek()
	if g.next < len(g.words)-1 {
		g.next++
	}
	return l
}

func (g *grammar) accept(text string) bool {
	if g.peek().text != text {
		return false
	}
	g.take()
	return true
}

func (g *grammar) complain(l lexeme, says string) {
	if !g.failed {
		g.r.add(g.r.inside(g.n, l.at), says)
	}
	g.failed = true
}

// expect takes one word or sign, or complains and names the place in the text.
func (g *grammar) expect(text, where string) {
	if l := g.peek(); !g.failed && !g.accept(text) {
		g.complain(l, fmt.Sprintf("%s stands where %s needs `%s`", l.describe(), where, text))
	}
}

func (l lexeme) describe() string {
	if l.text == "" {
		return "the end"
	}
	return "`" + result.Clip(l.text) + "`"
}

// ratio reads `[METRIC:] X/Y`.
func (g *grammar) ratio() result.Ratio {
	made := result.Ratio{Metric: result.ReceivedRate}
	first := g.take()
	if g.accept(":") {
		made.Metric = g.metric(first)
		first = g.take()
	}
	made.Over = g.cell(first)
	g.expect("/", "a ratio (X/Y)")
	if g.failed {
		return made
	}
	second := g.take()
	made.Under = g.cell(second)
	if !g.failed && made.Over == made.Under {
		g.complain(second, fmt.Sprintf("the ratio of %s to itself is always 1; name another cell", made.Over))
	}
	return made
}

func (g *grammar) metric(l lexeme) result.Metric {
	if g.failed {
		return ""
	}
	m, ok := g.r.metric(g.r.inside(g.n, l.at), l.text)
	g.failed = !ok
	return m
}

func (g *grammar) cell(l lexeme) string {
	_, planned := g.r.plans[l.text]
	switch {
	case planned || g.failed:
	case l.text == "" || strings.Contains(signs, l.text):
		g.complain(l, l.describe()+" stands where a cell's name is needed: X/Y")
	case !g.r.unsure:
		g.complain(l, result.UnknownWord("cell", l.text, g.r.order))
	}
	return l.text
}

// predicate reads comparisons joined by `and`.
func (g *grammar) predicate() result.Predicate {
	made := result.Predicate{Text: strings.TrimSpace(g.n.text)}
	for !g.failed {
		if len(made.All) == maxComparison {
			g.complain(g.peek(), fmt.Sprintf("a predicate has at most %d comparisons", maxComparison))
			break
		}
		made.All = append(made.All, g.comparison())
		if l := g.peek(); l.text == "" {
			break
		}
		g.expect("and", "a predicate")
	}
	return made
}

var comparisons = []string{"<=", ">=", "between", "within"}

func (g *grammar) comparison() result.Comparison {
	made := result.Comparison{Ratio: g.ratio()}
	if g.failed {
		return made
	}
	switch l := g.take(); l.text {
	case "<", "<=":
		made.High = g.plain()
	case ">", ">=":
		made.Low = g.plain()
	case "between":
		made.Low, made.High = g.between()
	case "within":
		made.Low, made.High = g.within()
	case "=", "==":
		g.complain(l, "no measured ratio is exactly a number; say `within P% of N`")
	case "":
		g.complain(l, fmt.Sprintf("the predicate ends after its ratio; say what holds of it (valid: %s)", result.Listed(comparisons)))
	default:
		g.complain(l, result.UnknownWord("comparison", l.text, comparisons))
	}
	return made
}

func (g *grammar) between() (low, high *float64) {
	at := g.peek()
	low = g.number()
	g.expect("and", "`between N and N`")
	high = g.number()
	if !g.failed && *low > *high {
		g.complain(at, fmt.Sprintf("nothing lies between %g and %g; the smaller one comes first", *low, *high))
	}
	return low, high
}

func (g *grammar) within() (low, high *float64) {
	at := g.peek()
	percent := g.number()
	g.expect("%", "`within P% of N`")
	g.expect("of", "`within P% of N`")
	middle := g.number()
	if g.failed {
		return nil, nil
	}
	if *percent > 100 {
		g.complain(at, fmt.Sprintf("within %g%% would hold below zero too; at most 100%%", *percent))
	}
	below, above := *middle*(100-*percent)/100, *middle*(100+*percent)/100
	return &below, &above
}

// plain reads a number that no percent sign follows.
func (g *grammar) plain() *float64 {
	v := g.number()
	if l := g.peek(); !g.failed && l.text == "%" {
		g.complain(l, fmt.Sprintf("a ratio is a plain number; for %g%% say %g", *v, *v/100))
	}
	return v
}

func (g *grammar) number() *float64 {
	if g.failed {
		return nil
	}
	l := g.take()
	v, err := result.ParseNumber(l.text)
	if err != nil {
		g.complain(l, fmt.Sprintf("%s stands where a number is needed, like 0.5", l.describe()))
		return nil
	}
	return &v
}

// end complains about what follows a whole ratio.
func (g *grammar) end(what string) bool {
	if l := g.peek(); l.text != "" {
		g.complain(l, fmt.Sprintf("%s stands after the end of %s", l.describe(), what))
	}
	return !g.failed
}

// readRatios reads `ratios: [B/A, "cpu.b: B/A"]`.
func (r *reader) readRatios(n *node) {
	if !r.isList(n, "`ratios`", maxRatios) {
		return
	}
	for _, item := range n.items {
		if r.full() {
			return
		}
		if !r.isQuoted(item, "a ratio") {
			continue
		}
		g := r.grammar(item)
		made := g.ratio()
		switch {
		case !g.end("the ratio"):
		case slices.Contains(r.spec.Ratios, made):
			r.add(item.at, fmt.Sprintf("the ratio %s stands here a second time", result.Clip(item.text)))
		default:
			r.spec.Ratios = append(r.spec.Ratios, made)
		}
	}
}

// isQuoted complains about a ratio with a metric that lacks its quotes: YAML
// then reads `cpu.b: B/A` as a key and a value.
func (r *reader) isQuoted(n *node, what string) bool {
	if n.shape == mapping && len(n.fields) == 1 && n.fields[0].value.shape == scalar {
		f := n.fields[0]
		r.add(f.at, fmt.Sprintf("%s with a metric stands in quotes: \"%s: %s\"", what, result.Clip(f.key), result.Clip(f.value.text)))
		return false
	}
	_, ok := r.text(n, what)
	return ok
}

package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"windtunnel/analysis"
)

// branch is a call, or several in a row of which each made only the next, and what it called. A page shows it as something to
// be opened, by keys as well as by a mouse: without scripts a picture has neither (HTML standard, section 4.11.1).
type branch struct {
	says  string
	under []branch
}

// The measures of a flame graph's tree.
const (
	treeLeast = 0.01 // of the graph's CPU time: what took less is left out
	treeMost  = 400  // calls of a graph
	treeNames = 6    // calls in a row that are written out
)

// flameTree are a flame graph's widest calls, the widest first.
func flameTree(flame analysis.Flame) []branch {
	shown := map[*analysis.FlameFrame]bool{}
	for _, p := range widestFrames(flame.Root, treeLeast*flame.Root.Seconds, treeMost) {
		shown[p.FlameFrame] = true
	}
	return branches(flame.Root, flame.Root.Seconds, shown)
}

func branches(f *analysis.FlameFrame, all float64, shown map[*analysis.FlameFrame]bool) []branch {
	called := slices.DeleteFunc(f.Called(), func(c *analysis.FlameFrame) bool { return !shown[c] })
	slices.SortStableFunc(called, func(a, b *analysis.FlameFrame) int { return cmp.Compare(b.Seconds, a.Seconds) })
	var under []branch
	for _, c := range called {
		row, last := inARow(c, shown)
		says := fmt.Sprintf("%s: %.3g %% (%s)", rowOf(row), 100*c.Seconds/all, last.Layer)
		if own := 100 * last.Own / all; own >= 100*treeLeast && len(last.Called()) > 0 {
			says += fmt.Sprintf(", %.3g %% by itself", own)
		}
		under = append(under, branch{says, branches(last, all, shown)})
	}
	return under
}

// inARow are the names of a call and of those below it that took all of its time, and the last of them.
func inARow(f *analysis.FlameFrame, shown map[*analysis.FlameFrame]bool) (names []string, last *analysis.FlameFrame) {
	for names = []string{f.Name}; ; names = append(names, f.Name) {
		called := f.Called()
		if len(called) != 1 || f.Own > 0 || !shown[called[0]] {
			return names, f
		}
		f = called[0]
	}
}

// rowOf writes calls in a row, the outermost first.
func rowOf(names []string) string {
	if n := len(names); n > treeNames {
		names = slices.Concat(names[:treeNames/2], []string{fmt.Sprintf("(%d more)", n-treeNames)}, names[n-treeNames/2:])
	}
	return strings.Join(names, " → ")
}

// tree writes calls to be opened one by one.
func (p *page) tree(all []branch) {
	p.open("ul")
	for _, b := range all {
		p.open("li")
		if len(b.under) == 0 {
			p.text(b.says)
		} else {
			p.open("details")
			p.element("summary", b.says)
			p.tree(b.under)
			p.close("details")
		}
		p.close("li")
	}
	p.close("ul")
}

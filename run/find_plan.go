package run

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"windtunnel/result"
	"windtunnel/search"
)

// searchOverhead is what a search's trial takes beside its warm-up and its window: readying its ends, the start, and
// reading what came.
const searchOverhead = 150 * time.Millisecond

// exactEnough is how far off, in per cent, a rate may be that is worth a search's time.
const exactEnough = 5

// PlannedSearch is what the budget leaves a cell's search, and what may be expected of that.
type PlannedSearch struct {
	Cells    []string // that are searched in the same way, for as long
	Find     result.Find
	Budget   time.Duration
	Expected search.Expected
}

// searches shares out what the least number of blocks leaves, as the conductor does.
func (p Plan) searches() []PlannedSearch {
	cells := p.Runnable()
	searching := slices.DeleteFunc(slices.Clone(cells), func(c PlannedCell) bool { return c.Record.Find == nil })
	budget := time.Duration(p.Times.BudgetSeconds * float64(time.Second))
	after := p.after(budget)
	spare := budget - closingTime - p.setUp() - after.halves - after.equal - p.generators()*calibrationTime -
		time.Duration(p.Times.MinimumBlocks)*blockTime(p.Times, cells)
	for _, cell := range searching {
		spare -= flatOutTime(*cell.Record.Find)
	}
	var all []PlannedSearch
	for i, cell := range searching {
		f := *cell.Record.Find
		share := max(0, spare/time.Duration(len(searching)-i)-latenciesTime())
		if own := time.Duration(f.BudgetSeconds * float64(time.Second)); own > 0 {
			share = min(share, own)
		}
		spare -= share + latenciesTime()
		share = share.Truncate(time.Second)
		at := slices.IndexFunc(all, func(s PlannedSearch) bool { return s.Budget == share && alike(s.Find, f) })
		if at < 0 {
			at = len(all)
			all = append(all, PlannedSearch{Find: f, Budget: share})
		}
		all[at].Cells = append(all[at].Cells, cell.Record.Name)
	}
	for i := range all {
		all[i].Expected = expected(all[i].Find, all[i].Budget)
	}
	return all
}

// alike reports whether two searches differ in nothing that says how long they take.
func alike(f, g result.Find) bool {
	return slices.Equal(f.Losses, g.Losses) && f.Method == g.Method && f.BudgetSeconds == g.BudgetSeconds && f.Min == g.Min && f.Max == g.Max
}

// flatOutTime is what it takes to learn what the generator reaches, where nobody says up to where to search.
func flatOutTime(f result.Find) time.Duration {
	if f.Max > 0 {
		return 0
	}
	return flatOut + searchWarmUp + searchOverhead
}

// expected is of a search with a budget; 0: it has none.
func expected(f result.Find, budget time.Duration) search.Expected {
	c := searchConfig(f, cmp.Or(f.Max, max(1, 2*f.Min)))
	if c.Budget = budget.Seconds(); budget == 0 {
		return search.Expected{Percent: math.Inf(1)}
	}
	return search.Expect(c, (searchWarmUp + searchOverhead).Seconds())
}

// useful reports whether a search is likely to say something.
func (s PlannedSearch) useful() bool { return s.Expected.Percent <= exactEnough }

// Words are of the search in a plan.
func (s PlannedSearch) Words() string {
	e := s.Expected
	text := fmt.Sprintf("%s each, about %d trials", s.Budget, e.Trials)
	if len(s.Cells) == 1 {
		text = strings.Replace(text, " each", "", 1)
	}
	paths := fmt.Sprintf("if a path's limit varies by %.0f %% from trial to trial", 100*search.Varying)
	switch {
	case e.Trials == 0:
		return strings.Replace(text, "about 0 trials", "no trial", 1)
	case math.IsInf(e.Percent, 1):
		return text + ": too few for a rate, " + paths
	}
	return text + fmt.Sprintf(": rates within %.2g %% in nine of ten searches, %s", e.Percent, paths)
}

// named are the cells, or how many they are.
func (s PlannedSearch) named() string {
	const few = 6
	if n := len(s.Cells); n > few {
		return fmt.Sprintf("%d cells from %s on", n, s.Cells[0])
	}
	return strings.Join(s.Cells, ", ")
}

// searchDoubts tell of searches that are likely to say little.
func (p Plan) searchDoubts() []result.Doubt {
	var doubts []result.Doubt
	for _, s := range p.Searches {
		if s.useful() {
			continue
		}
		advice := fmt.Sprintf("give a longer --budget (%s), fewer --cells, or fewer losses", p.leastBudget())
		if own := time.Duration(s.Find.BudgetSeconds * float64(time.Second)); own > 0 && s.Budget >= own.Truncate(time.Second) {
			advice = "give its `find` a longer `budget`, or fewer losses"
		}
		doubts = append(doubts, result.Doubt{Kind: "short-search",
			Says: fmt.Sprintf("the search of %s is short (%s); %s", s.named(), s.Words(), advice)})
	}
	return doubts
}

// searchesWant is what all searches take that have the time that they ask for.
func (p Plan) searchesWant() (all time.Duration) {
	for _, cell := range p.Runnable() {
		f := cell.Record.Find
		if f == nil {
			continue
		}
		seconds := f.BudgetSeconds
		if seconds == 0 { // a strict search, which ends by itself
			seconds = search.Expect(searchConfig(*f, cmp.Or(f.Max, max(1, 2*f.Min))), (searchWarmUp + searchOverhead).Seconds()).Seconds
		}
		all += time.Duration(seconds*float64(time.Second)) + latenciesTime() + flatOutTime(*f)
	}
	return all
}

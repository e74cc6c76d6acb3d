package run

import (
	"strings"
	"testing"
	"time"

	"windtunnel/scenario"
	"windtunnel/suites"
)

// plannedFind is the plan of two cells, each searched as told.
func plannedFind(t *testing.T, find string, budget time.Duration) Plan {
	t.Helper()
	text := strings.NewReplacer("find: {loss: [0.5%]}", "find: "+find, "like: A, FIND", "like: A, says: b", "ratios: [\"found: B/A\", B/A]\n", "").Replace(foundSuite)
	spec, err := scenario.Parse([]byte(text), "f.yaml", Vocabulary())
	if err != nil {
		t.Fatal(err)
	}
	p, err := MakePlan(spec, Host{CPUs: []int{0, 1}}, Settings{Budget: budget})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAPlanSaysWhatSearchesGet(t *testing.T) {
	for name, c := range map[string]struct {
		find   string
		budget time.Duration
		says   string   // of the searches, in the plan's words
		doubts []string // "": none
	}{
		"enough":              {"{loss: [0, 0.5%], max: 1Gbit/s}", 5 * time.Minute, "A, B: 1m0s each, about ", nil},
		"too short a budget":  {"{loss: [0, 0.5%], max: 1Gbit/s}", 30 * time.Second, "A, B: 2s each, about ", []string{"the search of A, B is short", "--budget (2m"}},
		"too short a find":    {"{loss: [0, 0.5%], max: 1Gbit/s, budget: 2s}", 5 * time.Minute, "A, B: 2s each, about ", []string{"give its `find` a longer `budget`"}},
		"no time at all":      {"{loss: 0, max: 1Gbit/s}", 15 * time.Second, "A, B: 0s each, no trial", []string{"the search of A, B is short"}},
		"a strict one":        {"{loss: 0, max: 1Gbit/s, method: rfc2544}", 3 * time.Minute, "too few for a rate", []string{"is short"}},
		"where nobody bounds": {"{loss: 0}", 5 * time.Minute, "A, B: 1m0s each, about ", nil},
	} {
		p := plannedFind(t, c.find, c.budget)
		var out strings.Builder
		if err := Describe(&out, p); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), c.says) {
			t.Errorf("%s: it does not say %q:\n%s", name, c.says, out.String())
		}
		all := ""
		for _, d := range p.Doubts {
			if d.Kind == "short-search" {
				all += d.Says + "\n"
			}
		}
		for _, want := range c.doubts {
			if !strings.Contains(all, want) {
				t.Errorf("%s: doubts %q, want %q", name, all, want)
			}
		}
		if len(c.doubts) == 0 && all != "" {
			t.Errorf("%s: doubts %q", name, all)
		}
	}
}

// TestTheBudgetThatIsAdvisedHoldsTheSearches: with it, nothing is doubted.
func TestTheBudgetThatIsAdvisedHoldsTheSearches(t *testing.T) {
	const find = "{loss: [0, 0.5%], max: 1Gbit/s, budget: 40s}"
	enough := plannedFind(t, find, 20*time.Second).leastBudget()
	if p := plannedFind(t, find, enough); len(p.Doubts) > 0 || p.Searches[0].Budget != 40*time.Second {
		t.Errorf("with %s: %+v, %+v", enough, p.Searches, p.Doubts)
	}
}

// TestShippedSuitesHaveTheTimeThatTheyNeed: nobody who runs one as it is gets a search that is likely to say nothing, or too few
// blocks for bounds.
func TestShippedSuitesHaveTheTimeThatTheyNeed(t *testing.T) {
	searching := 0
	for _, name := range suites.List() {
		for _, host := range []Host{small, large} {
			p, err := MakePlan(shipped(t, name), host, Settings{})
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range p.Doubts {
				if d.Kind == "short-search" || d.Kind == "few-blocks" {
					t.Errorf("%s: %s", name, d.Says)
				}
			}
			for _, s := range p.Searches {
				searching += len(s.Cells)
				if own := time.Duration(s.Find.BudgetSeconds * float64(time.Second)); s.Budget < own {
					t.Errorf("%s: %v get %s of the %s that they ask for", name, s.Cells, s.Budget, own)
				}
			}
		}
	}
	if searching == 0 {
		t.Error("no shipped suite searches")
	}
}

// TestWhoseBudget: of who starts it, else the suite's, else the program's.
func TestWhoseBudget(t *testing.T) {
	spec := shipped(t, "wire-aa")
	for _, c := range []struct{ suite, given, want time.Duration }{
		{0, 0, DefaultBudget}, {8 * time.Minute, 0, 8 * time.Minute}, {8 * time.Minute, time.Minute, time.Minute}, {0, time.Minute, time.Minute},
	} {
		spec.Budget = c.suite
		p, err := MakePlan(spec, small, Settings{Budget: c.given})
		if err != nil || p.Times.BudgetSeconds != c.want.Seconds() {
			t.Errorf("%+v: %g s, %v", c, p.Times.BudgetSeconds, err)
		}
	}
}

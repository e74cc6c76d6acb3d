package run

import (
	"strings"
	"testing"

	"windtunnel/result"
	"windtunnel/scenario"
)

func TestTheLoadOfBlocks(t *testing.T) {
	least, most := 35.0, 45.0
	for name, c := range map[string]struct {
		found []result.SearchResult
		want  float64
	}{
		"met":               {[]result.SearchResult{{LowerBound: 90, UpperBound: 91, Rate: result.Figure{Mean: 90.5, N: 9}}}, 90},
		"no load met it":    {[]result.SearchResult{{UpperBound: 10, Rate: result.Missing("no load met the goal")}}, 0},
		"generator by fits": {[]result.SearchResult{{Rate: result.Figure{Mean: 40, N: 9}}}, 40},
		"at least so high":  {[]result.SearchResult{{Rate: result.Figure{Mean: 40, Low: &least, N: 9}}}, 35},
		"fitted outcomes":   {[]result.SearchResult{{UpperBound: 50, Rate: result.Figure{Mean: 40, Low: &least, High: &most, N: 9}}}, 35},
		"ended at once":     {nil, 0},
	} {
		if got := foundLoad(result.Search{Found: c.found}); got != c.want {
			t.Errorf("%s: %g, want %g", name, got, c.want)
		}
	}
}

const foundSuite = `suite: f
nodes: {a: {}, b: {}}
traffic: {kind: datagram}
cells:
  A: {path: wire, pairs: [{from: a, to: b}], traffic: {find: {loss: [0.5%]}}}
  B: {like: A, FIND}
ratios: ["found: B/A", B/A]
`

func TestAFoundRatioNeedsSearches(t *testing.T) {
	for find, says := range map[string]string{
		"says: b": "", "traffic: {burst: 8}": "", "traffic: {kind: frame, burst: 8, find: {loss: [0.5%]}}": "", "traffic: {find: none}": "cell B has no `find`",
		"traffic: {find: none, burst: 8}": "`burst: 8` has no effect without rate or packets",
	} {
		spec, err := scenario.Parse([]byte(strings.Replace(foundSuite, "FIND", find, 1)), "f.yaml", Vocabulary())
		if err != nil {
			t.Fatal(err)
		}
		plan, err := MakePlan(spec, Host{CPUs: []int{0, 1}}, Settings{Budget: 60e9})
		switch {
		case says == "" && err != nil, says != "" && (err == nil || !strings.Contains(err.Error(), says)):
			t.Errorf("%s: %v, want %q", find, err, says)
		case says == "" && (len(plan.Ratios) != 2 || len(plan.blockRatios()) != 1):
			t.Errorf("%v, blocks for %v", plan.Ratios, plan.blockRatios())
		}
	}
}

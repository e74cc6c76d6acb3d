package analysis

import (
	"strings"
	"testing"

	"windtunnel/result"
)

// doubtsOf are a cell's doubts of a kind.
func doubtsOf(f Findings, cell, kind string) (says []string) {
	for _, d := range f.Doubts {
		if d.Cell == cell && d.Kind == kind {
			says = append(says, d.Says)
		}
	}
	return says
}

// TestLayersThatDoNotAddUpAreDoubted: by more than 10 %, and not by what few samples make by chance.
func TestLayersThatDoNotAddUpAreDoubted(t *testing.T) {
	for name, c := range map[string]struct {
		measured float64 // beside 80 % that were sampled
		cut      uint64
		lost     uint64 // of the samples
		kind     string // none: no doubt
		says     string
	}{
		"as measured":         {measured: 0.80},
		"nearly":              {measured: 0.87},
		"too little":          {measured: 0.95, kind: "layers", says: "16 % less than the CPU time that was measured"},
		"too much":            {measured: 0.60, kind: "layers", says: "33 % more than the CPU time that was measured"},
		"stacks that are cut": {measured: 0.80, cut: 100, kind: "stacks-cut", says: "10 % of the stacks on node b were shortened"},
		"a few of them":       {measured: 0.80, cut: 10},
		"stacks that are lost": {measured: 0.80, lost: 100, kind: "stacks-lost",
			says: "nothing is known of 10 % of the stacks on node b"},
	} {
		file := sampled(6)
		for i := range file.Trials {
			file.Trials[i].Nodes["b"].CPUs[0].Busy = c.measured
		}
		for i := range file.Profiles {
			if p := &file.Profiles[i]; p.Missing == "" {
				p.Cut, p.Lost = c.cut, c.lost
				p.Tasks[0].Frames[0][2] -= int32(c.lost)
			}
		}
		f := Of(file)
		var kinds []string
		for _, kind := range []string{"layers", "stacks-cut", "stacks-lost"} {
			if doubts := doubtsOf(f, "B", kind); len(doubts) > 0 {
				kinds = append(kinds, kind)
				if len(doubts) > 1 || !strings.Contains(doubts[0], c.says) {
					t.Errorf("%s: %q", name, doubts)
				}
			}
		}
		if strings.Join(kinds, " ") != c.kind {
			t.Errorf("%s: doubts of %q, want %q", name, kinds, c.kind)
		}
	}
}

// TestFewSamplesAreNoDoubt: of a node that is hardly busy, a few samples more or less are many percent.
func TestFewSamplesAreNoDoubt(t *testing.T) {
	l := NodeLayers{}
	one := trialLayers{busy: map[Layer]float64{"TCP": 0.016}, measured: 0.02, asked: 400, profile: result.Profile{CPUs: []int{0}, Taken: 400}}
	if l.trust(map[int]trialLayers{1: one}); l.Misses != 0 {
		t.Errorf("8 samples too few of 400 are doubted: %g", l.Misses)
	}
	many := map[int]trialLayers{}
	for block := range 1000 {
		many[block] = one
	}
	l = NodeLayers{}
	if l.trust(many); l.Misses > -19 || l.Misses < -21 {
		t.Errorf("of a thousand such trials all too few: %g", l.Misses)
	}
}

package frame

import (
	"testing"

	"pgregory.net/rapid"
)

func TestSequences(t *testing.T) {
	cases := map[string]struct {
		flows uint32
		came  []uint64
		want  totals
	}{
		"in order":           {1, []uint64{0, 1, 2}, totals{packets: 3}},
		"one missing":        {1, []uint64{0, 2, 3}, totals{packets: 3, skipped: 1}},
		"the first missing":  {1, []uint64{5}, totals{packets: 1, skipped: 5}},
		"exchanged":          {1, []uint64{0, 2, 1, 3}, totals{packets: 4, skipped: 1, reordered: 1}},
		"twice":              {1, []uint64{0, 1, 1, 0}, totals{packets: 2, duplicate: 2}},
		"reordered twice":    {1, []uint64{1, 0, 0}, totals{packets: 2, skipped: 1, reordered: 1, duplicate: 1}},
		"just in time":       {1, []uint64{65535, 0}, totals{packets: 2, skipped: 65535, reordered: 1}},
		"too late":           {1, []uint64{65536, 0}, totals{packets: 1, skipped: 65536, late: 1}},
		"a million: in time": {1_000_000, []uint64{63, 32, 0}, totals{packets: 3, skipped: 63, reordered: 2}},
		"a million: late":    {1_000_000, []uint64{64, 32, 31}, totals{packets: 2, skipped: 64, reordered: 1, late: 1}},
		"out of all reason":  {1, []uint64{0, 1 << 40}, totals{packets: 1, corrupt: 1}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := newSequences(c.flows)
			var got totals
			for _, sequence := range c.came {
				s.count(&got, number{window, c.flows - 1, sequence}, 0)
			}
			if got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

// TestSequencesAgainstASet: within what a flow remembers, the sums are those of
// somebody who remembers everything.
func TestSequencesAgainstASet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const flows, within = 3, 64
		s := newSequences(flows)
		came, highest := map[[2]uint64]bool{}, [flows]uint64{}
		var got, want totals
		for range rapid.IntRange(1, 300).Draw(t, "frames") {
			flow := rapid.IntRange(0, flows-1).Draw(t, "flow")
			next := highest[flow]
			sequence := max(next+5, within) - within + uint64(rapid.IntRange(0, within+4).Draw(t, "back"))
			s.count(&got, number{window, uint32(flow), sequence}, 0)
			key := [2]uint64{uint64(flow), sequence}
			switch {
			case came[key]:
				want.duplicate++
				continue
			case sequence < next:
				want.reordered++
			default:
				want.skipped += sequence - next
				highest[flow] = sequence + 1
			}
			came[key] = true
			want.packets++
		}
		if got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		if missing := highest[0] + highest[1] + highest[2] - uint64(len(came)); got.gaps() != missing {
			t.Errorf("%d gaps, %d are missing", got.gaps(), missing)
		}
	})
}

func TestMemoryIsBounded(t *testing.T) {
	for flows := uint32(1); flows <= maxFlows; flows = flows*3 + 1 {
		words := wordsPerFlow(flows)
		if words&(words-1) != 0 || words < wordsAtLeast || uint64(words)*uint64(flows) > max(wordsTogether, uint64(flows)*wordsAtLeast) {
			t.Errorf("%d words for each of %d flows", words, flows)
		}
	}
}

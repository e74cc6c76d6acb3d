package oneoff

import (
	"testing"

	"windtunnel/result"
)

// TestJoiner puts four quarters together, and neither the warm-up's with the window's
// nor what is missing.
func TestJoiner(t *testing.T) {
	var got []result.Interval
	j := joiner{length: 1, out: func(i result.Interval) { got = append(got, i) }}
	for _, at := range [][2]float64{
		{-0.4, -0.25}, {-0.25, 0.001}, // the warm-up, which ends late
		{0.001, 0.25}, {0.25, 0.5}, {0.5, 0.75}, {0.75, 0.999},
		{0.999, 1.25}, {1.25, 2.3}, // long held up
		{2.3, 2.5},
	} {
		j.take(result.Interval{From: at[0], To: at[1], Bytes: 10, BackBytes: 1, Packets: 2, Lost: 3, Retransmits: 4})
	}
	j.flush()
	j.flush()
	want := []struct {
		from, to float64
		parts    uint64
	}{{-0.4, 0.001, 2}, {0.001, 0.999, 4}, {0.999, 2.3, 2}, {2.3, 2.5, 1}}
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for n, w := range want {
		if got[n] != (result.Interval{From: w.from, To: w.to, Bytes: 10 * w.parts, BackBytes: w.parts, Packets: 2 * w.parts, Lost: 3 * w.parts, Retransmits: 4 * w.parts}) {
			t.Errorf("%+v, want %+v", got[n], w)
		}
	}
}

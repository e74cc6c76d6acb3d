package oneoff

import (
	"testing"
	"time"

	"windtunnel/result"
)

// An end that had no CPU when its warm-up began has a short first interval, which is not the window's
// first one.
func TestALateBeginningIsStillTheWarmUps(t *testing.T) {
	for _, late := range []float64{-0.9, -0.4, -0.04, -0.0004} {
		var got []Paired
		p := newPairing(time.Second, func(pair Paired) { got = append(got, pair) })
		p.receiver(result.Interval{From: -1, To: 0.001, Bytes: 1})
		p.sender(result.Interval{From: late, To: 0.002, Bytes: 2})
		p.receiver(result.Interval{From: 0.001, To: 1, Bytes: 3})
		p.sender(result.Interval{From: 0.002, To: 1, Bytes: 4})
		p.flush()
		if len(got) != 2 {
			t.Fatalf("from %g: %d lines, want the warm-up's and the window's: %+v", late, len(got), got)
		}
		if w := got[0]; w.From >= 0 || w.Receiver == nil || w.Sender == nil || w.Receiver.Bytes != 1 || w.Sender.Bytes != 2 {
			t.Errorf("from %g: the warm-up's line is %+v", late, w)
		}
		if w := got[1]; w.From < 0 || w.To != 1 || w.Receiver == nil || w.Sender == nil || w.Receiver.Bytes != 3 || w.Sender.Bytes != 4 {
			t.Errorf("from %g: the window's line is %+v", late, w)
		}
	}
}

// Intervals are told late, may be slept through, and the last may be short.
func TestIntervalsKeepTheirPlaces(t *testing.T) {
	for name, these := range map[string][][2]float64{
		"each told late": {{-0.5, 0.01}, {0.01, 1.3}, {1.3, 2.02}, {2.02, 2.5}},
		"slept through":  {{-1, 1.3}, {1.3, 2}, {2, 4.4}, {4.4, 5}},
	} {
		var got []Paired
		p := newPairing(time.Second, func(pair Paired) { got = append(got, pair) })
		for i, at := range these {
			p.sender(result.Interval{From: at[0], To: at[1], Bytes: uint64(i)})
			p.receiver(result.Interval{From: at[0], To: at[1], Bytes: uint64(i)})
		}
		p.flush()
		if len(got) != len(these) {
			t.Fatalf("%s: %d lines of %d intervals: %+v", name, len(got), len(these), got)
		}
		for i, pair := range got {
			if pair.From != these[i][0] || pair.To != these[i][1] || pair.Sender.Bytes != uint64(i) || pair.Receiver.Bytes != uint64(i) {
				t.Errorf("%s: line %d is %+v", name, i, pair)
			}
		}
	}
}

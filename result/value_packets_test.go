package result

import "testing"

// TestJitterIsOfTheEndsThatSawPackets: an end to which none came has none, and does not halve the others'.
func TestJitterIsOfTheEndsThatSawPackets(t *testing.T) {
	came := PairSample{Receiver: PairEnd{Packets: 100, Arrived: &Arrived{Expected: 100, Jitter: 2e-3}}}
	none := PairSample{Receiver: PairEnd{Arrived: &Arrived{Expected: 100, Lost: 100}}}
	for name, c := range map[string]struct {
		pairs []PairSample
		want  float64
		fails bool
	}{
		"all came":     {[]PairSample{came, came}, 2e-3, false},
		"one came":     {[]PairSample{none, came, none}, 2e-3, false},
		"none came":    {[]PairSample{none, none}, 0, true},
		"not numbered": {[]PairSample{{}}, 0, true},
	} {
		if got, err := arrival(Trial{Pairs: c.pairs}, Jitter); got != c.want || (err != nil) != c.fails {
			t.Errorf("%s: %g s, %v; want %g, an error: %v", name, got, err, c.want, c.fails)
		}
	}
	if lost, err := arrival(Trial{Pairs: []PairSample{none, came}}, Loss); err != nil || lost != 50 {
		t.Errorf("of 200 packets, half of which came, %g %% are lost, %v", lost, err)
	}
}

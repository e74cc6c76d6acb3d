package result

import (
	"reflect"
	"testing"
)

// TestWaysOfAnEndThatWasNotHeardOf: what the end here counted has its direction also where the other one has gone.
func TestWaysOfAnEndThatWasNotHeardOf(t *testing.T) {
	sent, received := PairEnd{WindowSeconds: 1, Bytes: 7, Offered: &Offered{}}, PairEnd{WindowSeconds: 1, Bytes: 9}
	both := sent
	both.Opposite = &received
	reads := PairEnd{WindowSeconds: 1, Offered: &Offered{}, Opposite: &received}
	for name, c := range map[string]struct {
		here, there PairEnd
		want        []Way
	}{
		"forth":             {sent, received, []Way{{Sender: sent, Receiver: received}}},
		"forth, alone":      {sent, PairEnd{}, []Way{{Sender: sent}}},
		"back":              {received, sent, []Way{{Sender: sent, Receiver: received, Back: true}}},
		"back, alone":       {received, PairEnd{}, []Way{{Receiver: received, Back: true}}},
		"both":              {both, PairEnd{WindowSeconds: 1, Opposite: &sent}, []Way{{Sender: both, Receiver: PairEnd{WindowSeconds: 1, Opposite: &sent}}, {Sender: sent, Receiver: received, Back: true}}},
		"both, alone":       {both, PairEnd{}, []Way{{Sender: both}, {Receiver: received, Back: true}}},
		"reads, alone":      {reads, PairEnd{}, []Way{{Receiver: received, Back: true}}},
		"neither was there": {PairEnd{}, PairEnd{}, []Way{{}}},
	} {
		if got := Ways(c.here, c.there); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

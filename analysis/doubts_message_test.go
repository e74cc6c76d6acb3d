package analysis

import (
	"testing"

	"windtunnel/result"
)

func TestJoinedMessagesAreDoubted(t *testing.T) {
	trial := func(bytes, segments uint64) []result.Trial {
		return []result.Trial{{Pairs: []result.PairSample{{Sender: result.PairEnd{Bytes: bytes,
			Connections: []result.Connection{{MSS: 1448, SegmentsOut: segments}}}}}}}
	}
	small := result.Options{"message": 1390.0, "nodelay": true}
	for name, c := range map[string]struct {
		load            result.Options
		bytes, segments uint64
		doubted         bool
	}{
		"one by one":      {small, 1390 * 1000, 1000, false},
		"acknowledgments": {small, 1390 * 1000, 1100, false},
		"joined":          {small, 1448 * 1000, 1000, true},
		"bulk":            {result.Options{"message": 131072.0}, 1448 * 1000, 1000, false},
		"no segments":     {small, 1390, 0, false},
		"over a segment":  {result.Options{"message": 8000.0, "nodelay": true}, 1448 * 1000, 100, false},
	} {
		_, doubted := joinedMessages(Cell{Spec: result.Cell{Name: "F", Load: c.load}}, trial(c.bytes, c.segments))
		if doubted != c.doubted {
			t.Errorf("%s: doubted %v", name, doubted)
		}
	}
}

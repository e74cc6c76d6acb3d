package result

import (
	"strings"
	"testing"
)

// TestALatencyOfSurvivorsIsNone: a request without an answer took longer than any, of the load and of the probe beside one.
func TestALatencyOfSurvivorsIsNone(t *testing.T) {
	r := NewRecorder()
	r.RecordMany(1_000_000, 985)
	end := PairEnd{WindowSeconds: 1, Packets: 985, Latencies: map[string]Histogram{LatencyIntended: r.Histogram(), LatencyActual: r.Histogram()},
		Arrived: &Arrived{Expected: 990, Lost: 5}, Offered: &Offered{Refused: 10}}
	trial := Trial{Pairs: []PairSample{{Sender: end, Beside: &Beside{Sender: end}}}}
	for quantile, known := range map[string]bool{"p50": true, "p90": true, "p99": false, "p99.9": false, "max": true} {
		for _, m := range []Metric{Latency(LatencyIntended, quantile), Latency(LatencyActual, quantile), BesideLatency(quantile)} {
			v, err := Cell{}.Value(trial, m)
			if (err == nil) != known || known && (v < 0.9e-3 || v > 1.1e-3) || !known && !strings.Contains(err.Error(), "15 of 1000 requests had no answer") {
				t.Errorf("%s: %g, %v", m, v, err)
			}
		}
	}
	// Over TCP the time that an open one had waited is in the distribution.
	end.Arrived, end.Offered = &Arrived{Expected: 985, Lost: 20}, nil
	if _, err := (Cell{}).Value(Trial{Pairs: []PairSample{{Sender: end}}}, Latency(LatencyIntended, "p99.9")); err != nil {
		t.Error(err)
	}
}

package traffic

import (
	"strings"
	"testing"

	"windtunnel/result"
)

func withLatencies(end result.PairEnd) result.PairEnd {
	end.Latencies = map[string]result.Histogram{result.LatencyActual: {}}
	return end
}

func both(end, opposite result.PairEnd) result.PairEnd {
	end.Opposite = &opposite
	return end
}

func TestJudgeDevice(t *testing.T) {
	flatOut, rated := packets(100, 1), offering(packets(10, 1), result.Offered{TargetPacketsPerSecond: 10e3})
	cases := []struct {
		name             string
		sender, receiver result.PairEnd
		share            float64
		want, says       string
	}{
		{"cores at their limit, between ends at theirs", flatOut, arriving(packets(99.9, 1), 100, 0), 0.97, result.PathLimited, "busy 97 %"},
		{"cores that had time", flatOut, arriving(packets(100, 0.3), 0, 0), 0.6, result.GeneratorLimited, "gave them no more"},
		{"cores that had time, and losses", flatOut, arriving(packets(90, 0.3), 20e3, 0), 0.6, result.PathLimited, "10 % of the packets were lost on the way"},
		{"a rate that was kept", rated, arriving(packets(10, 1), 0, 0), 0.99, result.RateReached, "asked for"},
		{"a rate that was not", rated, arriving(packets(9, 0.4), 2000, 0), 0.3, result.PathLimited, "lost on the way"},
		{"a stream that the path paces", bulk(970e6, 0.1), bulk(970e6, 0.1), 0.1, result.PathLimited, "neither end"},
		{"requests, one after the other", withLatencies(packets(20, 0.1)), packets(20, 0.1), 0.1, result.PathLimited, "neither end"},
		{"a rate that was kept, from the far end", packets(10, 0.1), rated, 0.1, result.RateReached, "asked for"},
		{"losses of what flows back alone", both(packets(100, 0.3), arriving(packets(80, 0.3), 40e3, 0)), both(packets(100, 0.3), packets(100, 0.3)), 0.5, result.PathLimited, "lost"},
		{"nothing was sent", bulk(0, 0), bulk(0, 0), 0.99, "", "no verdict"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := JudgeDevice(Judge(nil, c.sender, c.receiver), c.sender, c.receiver, c.share)
			if got.Verdict != c.want || !strings.Contains(got.Says, c.says) {
				t.Errorf("got %q (%s), want %q with %q", got.Verdict, got.Says, c.want, c.says)
			}
		})
	}
}

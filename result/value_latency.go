package result

import (
	"errors"
	"fmt"
	"strings"
)

// Where a latency was measured: by the load itself, or by the probe beside it.
const (
	latencyOfLoad   = "latency_seconds."
	latencyOfBeside = "beside_latency_seconds."
)

// quantiles are the points of a latency's distribution that are metrics. Of so large a share of the requests there must be an
// answer: one that never came is longer than all others. The longest is the one that came.
var quantiles = []struct {
	word     string
	of       func(Histogram) float64
	answered float64
}{
	{"p50", func(h Histogram) float64 { return h.P50 }, 0.5},
	{"p90", func(h Histogram) float64 { return h.P90 }, 0.9},
	{"p99", func(h Histogram) float64 { return h.P99 }, 0.99},
	{"p99.9", func(h Histogram) float64 { return h.P999 }, 0.999},
	{"max", func(h Histogram) float64 { return h.Max }, 0},
}

// Latency is the metric of a quantile (p50, p90, p99, p99.9, max) of the load's
// own transactions, from the LatencyIntended or the LatencyActual send time.
func Latency(from, quantile string) Metric {
	return Metric(latencyOfLoad + from + "." + quantile)
}

// BesideLatency is the same of the probe that runs beside the load, from the
// intended time.
func BesideLatency(quantile string) Metric {
	return Metric(latencyOfBeside + LatencyIntended + "." + quantile)
}

// withLatencies adds the words of the latencies' quantiles.
func withLatencies(words map[string]Metric) map[string]Metric {
	for _, q := range quantiles {
		words["latency."+q.word] = Latency(LatencyIntended, q.word)
		words["latency.actual."+q.word] = Latency(LatencyActual, q.word)
		words["beside.latency."+q.word] = BesideLatency(q.word)
	}
	return words
}

// IsLatency reports whether the metric is a time from a latency's distribution.
func (m Metric) IsLatency() bool {
	return strings.HasPrefix(string(m), latencyOfLoad) || strings.HasPrefix(string(m), latencyOfBeside)
}

// latency is a quantile over all pairs' transactions, in seconds.
func latency(t Trial, m Metric) (float64, error) {
	name, beside := strings.CutPrefix(string(m), latencyOfBeside)
	name = strings.TrimPrefix(name, latencyOfLoad)
	from, quantile, _ := strings.Cut(name, ".")
	merged, err := t.Latencies(from, beside)
	if err != nil {
		return 0, err
	}
	for _, q := range quantiles {
		if q.word != quantile {
			continue
		}
		if none, due := t.unanswered(from, beside); TooFewAnswered(none, due, q.answered) {
			return 0, fmt.Errorf("%d of %d requests had no answer, so that it is not known how long %g %% of them took at most", none, due, 100*q.answered)
		}
		return q.of(merged), nil
	}
	return 0, fmt.Errorf("no metric %q", string(m))
}

func (t Trial) unanswered(from string, beside bool) (none, due uint64) {
	for _, p := range t.Pairs {
		end := p.Sender
		if beside {
			end = p.Beside.Sender
		}
		some, all := end.Unanswered(from)
		none, due = none+some, due+all
	}
	return none, due
}

// Unanswered are the requests of those due in the window that are in no distribution: lost, or never sent. No quantile is known that
// they may be below.
func (e PairEnd) Unanswered(from string) (none, due uint64) {
	h, asks := e.Latencies[from]
	if !asks || e.Arrived == nil {
		return 0, 0
	}
	due = e.Arrived.Expected
	if e.Offered != nil {
		due += e.Offered.Refused
	}
	return due - min(due, h.Count), due
}

// TooFewAnswered tells whether so many requests of those due had no answer that the quantile of a share of them, 0 to 1, is not known.
func TooFewAnswered(none, due uint64, share float64) bool {
	return float64(none) > (1-share)*float64(due)
}

// Latencies merges the pairs' distributions from the LatencyIntended or the
// LatencyActual send time: the load's own, or those of the probe beside it.
func (t Trial) Latencies(from string, beside bool) (Histogram, error) {
	var parts []Histogram
	for _, p := range t.Pairs {
		end := p.Sender
		if beside {
			if p.Beside == nil {
				return Histogram{}, errors.New("no probe ran beside the load")
			}
			end = p.Beside.Sender
		}
		h, ok := end.Latencies[from]
		if !ok && !beside { // of a load in one direction, the receiver tells
			h, ok = p.Receiver.Latencies[from]
		}
		switch {
		case end.Error != "" && !ok:
			return Histogram{}, fmt.Errorf("%s to %s: %s", p.From, p.To, end.Error)
		case !ok:
			return Histogram{}, errors.New("the load measures no latency")
		case h.Count == 0:
			return Histogram{}, fmt.Errorf("%s to %s: no transaction was completed", p.From, p.To)
		}
		parts = append(parts, h)
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	if len(parts) == 0 {
		return Histogram{}, errors.New("no pair reported")
	}
	return MergeHistograms(parts...)
}

package search

import (
	"context"

	"windtunnel/result"
)

// Shares of what was found, at which latency is measured.
var shares = []float64{0.1, 0.5, 0.9}

// Latency measures at a load: seconds by quantile, and the share that was lost.
type Latency func(ctx context.Context, load float64) (quantiles map[string]result.Figure, lost float64, err error)

// Latencies measures latency at 10, 50 and 90 % of what was found for the first goal that
// something was found for. A share that could not be measured says why.
func Latencies(ctx context.Context, s result.Search, measure Latency) []result.SearchLatency {
	rate := 0.0
	for _, r := range s.Found {
		if rate == 0 && r.Rate.Known() {
			rate = r.Rate.Mean
		}
	}
	if rate == 0 {
		return nil
	}
	var all []result.SearchLatency
	for _, share := range shares {
		l := result.SearchLatency{Share: share, Load: share * rate}
		quantiles, lost, err := measure(ctx, l.Load)
		if l.Seconds, l.LossRatio = quantiles, lost; err != nil {
			l.Reason = err.Error()
		}
		all = append(all, l)
	}
	return all
}

// QuantilesBeside are those of the requests beside a trial's load, as figures of all their answers; an error where there is none.
func QuantilesBeside(t result.Trial) (map[string]result.Figure, error) {
	h, err := t.Latencies(result.LatencyIntended, true)
	if err != nil {
		return nil, err
	}
	all := map[string]result.Figure{}
	for name := range Quantiles(h) {
		v, err := result.Cell{}.Value(t, result.BesideLatency(name))
		if all[name] = (result.Figure{Mean: v, N: int(h.Count)}); err != nil {
			all[name] = result.Missing(err.Error())
		}
	}
	return all, nil
}

// Quantiles are those of a distribution, as figures of all its samples.
func Quantiles(h result.Histogram) map[string]result.Figure {
	all := map[string]result.Figure{}
	for name, v := range map[string]float64{"p50": h.P50, "p90": h.P90, "p99": h.P99, "max": h.Max} {
		all[name] = result.Figure{Mean: v, N: int(h.Count)}
	}
	return all
}

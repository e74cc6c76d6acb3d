package analysis

import (
	"slices"

	"windtunnel/result"
)

// metricsOf are the metrics in which a cell is compared: those that are asked for, or what its load is for and what
// that cost. Those that neither run has are left out.
func metricsOf(p pairedCell, asked []result.Metric) []result.Metric {
	if len(asked) == 0 {
		asked = metricsOfLoad(p.after)
	}
	return slices.DeleteFunc(slices.Clone(asked), func(m result.Metric) bool {
		return !p.before.Figure(m).Known() && !p.after.Figure(m).Known()
	})
}

// metricsOfLoad: a rate that somebody asked for does not tell what a path can do, but what it lost is missing
// from it; requests are for their time.
func metricsOfLoad(c Cell) []result.Metric {
	if c.Figure(result.FoundRate).Known() {
		return []result.Metric{result.FoundRate}
	}
	p50, p99 := result.Latency(result.LatencyIntended, "p50"), result.Latency(result.LatencyIntended, "p99")
	switch c.Spec.Traffic {
	case "ping":
		return []result.Metric{result.TransactionRate, p50, p99, result.TogetherPacketCost}
	case "frame":
		if c.Figure(result.DevicePacketCost).Known() {
			return []result.Metric{result.ReceivedPacketRate, result.DevicePacketCost}
		}
		return []result.Metric{result.ReceivedPacketRate, result.TogetherPacketCost}
	case "datagram":
		return []result.Metric{result.ReceivedPacketRate, result.TogetherPacketCost}
	}
	metrics := []result.Metric{result.ReceivedRate, result.TogetherCost}
	if c.Spec.Beside != "" {
		metrics = append(metrics, result.BesideLatency("p50"), result.BesideLatency("p99"))
	}
	return metrics
}

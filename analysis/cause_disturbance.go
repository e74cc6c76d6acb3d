package analysis

import (
	"math"

	"windtunnel/result"
)

// disturbanceCause compares what CPUs do beside their work, by the MiB that was received: interrupts, switches of
// context, and time that a hypervisor took. They follow from most other causes, so they are never more than seen.
func disturbanceCause(c contrast) []Cause {
	var all []Cause
	for _, k := range []struct {
		factor, format string
		of             func(result.NodeSample) float64
	}{
		{"interrupts", "%.3g interrupts a MiB received", func(s result.NodeSample) float64 { return float64(s.Interrupts) }},
		{"context-switches", "%.3g context switches a MiB received", func(s result.NodeSample) float64 { return float64(s.ContextSwitches) }},
		{"steal", "%.3g ms a MiB that the hypervisor took", func(s result.NodeSample) float64 {
			sum := 0.0
			for _, cpu := range s.CPUs {
				sum += 1e3 * cpu.Steal
			}
			return sum
		}},
	} {
		both := c.two(func(of Cell, t result.Trial) (float64, bool) { return perMiB(of, t, k.of) })
		if ratio, differs := both.ratio(); differs && ratio >= doubled {
			all = append(all, Cause{Factor: k.factor, Says: c.compared(k.format, both) + " (" + times(ratio) + ")", Share: notKnown(), rank: rank{seen, math.Log(ratio)}})
		}
	}
	return all
}

// doubled is the factor from which such a difference is told.
const doubled = 2

func perMiB(c Cell, t result.Trial, of func(result.NodeSample) float64) (float64, bool) {
	count, bytes := 0.0, 0.0
	for _, node := range c.involved() {
		count += of(t.Nodes[node])
	}
	for _, p := range t.Pairs {
		for _, e := range p.Receivers() {
			bytes += float64(e.Bytes)
		}
	}
	return count / (bytes / (1 << 20)), bytes > 0 && count > 0
}

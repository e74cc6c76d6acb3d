package analysis

import (
	"fmt"
	"math"

	"windtunnel/result"
)

// disturbanceCause compares what CPUs do beside their work, by the MiB that was received: interrupts, switches of
// context, virtual machines' exits to their host, and time that a hypervisor took. They follow from most other causes, so they are never more than seen.
func disturbanceCause(c contrast) []Cause {
	var all []Cause
	for _, k := range []struct {
		factor, what string
		of           func(result.NodeSample) float64
	}{
		{"interrupts", "interrupts a MiB received", func(s result.NodeSample) float64 { return float64(s.Interrupts) }},
		{"context-switches", "context switches a MiB received", func(s result.NodeSample) float64 { return float64(s.ContextSwitches) }},
		{"vm-exits", "VM exits a MiB received", exits},
		{"steal", "ms a MiB that the hypervisor took", func(s result.NodeSample) float64 {
			sum := 0.0
			for _, cpu := range s.CPUs {
				sum += 1e3 * cpu.Steal
			}
			return sum
		}},
	} {
		both := c.two(func(of Cell, t result.Trial) (float64, bool) { return perMiB(of, t, k.of) })
		if ratio, differs := both.ratio(); differs && ratio >= doubled {
			all = append(all, Cause{Factor: k.factor, Says: c.counted(k.what, both) + " (" + times(ratio) + ")", Share: notKnown(), rank: rank{seen, math.Log(ratio)}})
		}
	}
	return all
}

// counted writes a count of both cells: "23.1 interrupts a MiB received in B, 8.92 in A".
func (c contrast) counted(what string, both two) string {
	digits := func(v float64) string {
		if v >= 1000 {
			return fmt.Sprintf("%.0f", v)
		}
		return fmt.Sprintf("%.3g", v)
	}
	w, b := both.means()
	worse, better := c.names()
	return fmt.Sprintf("%s %s in %s, %s in %s", digits(w), what, worse, digits(b), better)
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

// exits are those of a node's virtual machines, 0 where one's are not known: a part of them is none to compare.
func exits(s result.NodeSample) (sum float64) {
	for _, vm := range s.VMs {
		if vm.Exits == nil {
			return 0
		}
		sum += float64(*vm.Exits)
	}
	return sum
}

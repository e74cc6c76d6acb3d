//go:build e2e

package e2e

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/cilium/ebpf"

	"windtunnel/bench/agentcost"
)

// agents are measured, until one keeps the bounds: on a machine that others use, a window may have a page fault of milliseconds, or a
// collection of garbage, where it has 3 ms in all.
const agents = 3

// TestWhatAnAgentCosts while it waits, and in the window of a trial, without stacks and with them; `make bench-sampling` writes the figures
// down. Stacks take more where others' programs make more of them, so they have three times their goal here: all of the kernel's
// symbols, read in a window, were six times it.
func TestWhatAnAgentCosts(t *testing.T) {
	needsRoot(t)
	for name, c := range map[string]struct {
		work         agentcost.Work
		mostSampling float64
	}{
		"counters": {agentcost.Work{Waits: 4 * time.Second, Window: 2 * time.Second}, agentcost.MostSampling},
		"stacks":   {agentcost.Work{Waits: time.Second, Window: 2 * time.Second, Stacks: true}, 3 * agentcost.MostSampling},
	} {
		t.Run(name, func(t *testing.T) {
			for range agents {
				cost, err := agentcost.Measure(t.Context(), filepath.Join(bin, "windtunnel"), filepath.Join(t.TempDir(), "lease"), c.work)
				if errors.Is(err, ebpf.ErrNotSupported) {
					t.Skipf("skip: not measured here: %v", err)
				}
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%+v", cost)
				if cost.Waiting <= agentcost.MostWaiting && cost.Sampling <= c.mostSampling && cost.ResidentBytes <= agentcost.MostResidentBytes {
					return
				}
			}
			t.Errorf("each takes more than %g of a CPU or %g bytes while it waits, or %g for sampling", agentcost.MostWaiting, agentcost.MostResidentBytes, c.mostSampling)
		})
	}
}

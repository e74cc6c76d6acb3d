//go:build e2e

package e2e

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/cilium/ebpf"

	"windtunnel/bench/agentcost"
)

// agents are measured, of whose clocks the least count: what others do on the machine and its host only adds to an agent's own. On
// one machine windows of one program had 3 to 14 ms; of three windows the median was 3 ms on one and 12 on another. Medians
// and spreads are in bench/RESULTS.md.
const agents = 3

// TestWhatAnAgentCosts while it waits, and in the window of a trial, without stacks and with them; `make bench-sampling` writes the figures
// down. Stacks take more where others' programs make more of them, so they have three times their goal here: all of the kernel's
// symbols, read in a window, were six times it.
func TestWhatAnAgentCosts(t *testing.T) { measured(t, testWhatAnAgentCosts) }

func testWhatAnAgentCosts(t *attempt) {
	needsRoot(t)
	for name, c := range map[string]struct {
		work         agentcost.Work
		mostSampling float64
	}{
		"counters": {agentcost.Work{Waits: 2 * time.Second, Window: 2 * time.Second}, agentcost.MostSampling},
		"stacks":   {agentcost.Work{Waits: time.Second, Window: 2 * time.Second, Stacks: true}, 3 * agentcost.MostSampling},
	} {
		t.Run(name, func(t *attempt) {
			var waiting, sampling, resident []float64
			for range agents {
				cost, err := agentcost.Measure(t.Context(), filepath.Join(bin, "windtunnel"), filepath.Join(t.TempDir(), "lease"), c.work)
				if errors.Is(err, ebpf.ErrNotSupported) {
					t.Skipf("skip: not measured here: %v", err)
				}
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%+v", cost)
				waiting, sampling, resident = append(waiting, cost.Waiting), append(sampling, cost.Sampling), append(resident, float64(cost.ResidentBytes))
			}
			slices.Sort(resident)
			mayBe(t, "CPUs while it waits, at least", slices.Min(waiting), agentcost.MostWaiting)
			mayBe(t, "CPUs for sampling, at least", slices.Min(sampling), c.mostSampling)
			mayBe(t, "bytes behind a trial, the median", resident[len(resident)/2], agentcost.MostResidentBytes)
		})
	}
}

// mayBe holds what agents cost to a bound.
func mayBe(t testing.TB, what string, cost, most float64) {
	t.Helper()
	if cost > most {
		t.Errorf("%s: %g, which is more than %g", what, cost, most)
	}
}

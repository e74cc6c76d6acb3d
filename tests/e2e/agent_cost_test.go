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

// TestWhatAnAgentCosts while it waits, and in the window of a trial; `make bench-sampling` writes the figures down, and has those
// with stacks, which depend on how many there are.
func TestWhatAnAgentCosts(t *testing.T) {
	needsRoot(t)
	c, err := agentcost.Measure(t.Context(), filepath.Join(bin, "windtunnel"), filepath.Join(t.TempDir(), "lease"), agentcost.Work{Waits: 4 * time.Second, Window: 2 * time.Second})
	if errors.Is(err, ebpf.ErrNotSupported) {
		t.Skipf("skip: not measured here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", c)
	if c.Waiting > agentcost.MostWaiting || c.Sampling > agentcost.MostSampling || c.ResidentBytes > agentcost.MostResidentBytes {
		t.Error("more than 1 % of a CPU or 50 MB while it waits, or 0.5 % for sampling")
	}
}

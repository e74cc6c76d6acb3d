package golden

import (
	"testing"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
)

// flowTable is a mover's.
type flowTable interface {
	EachFlow(func(core.FlowKey, core.Flow) error) error
	FlowsOf(vrf uint32) uint64
	Image() config.Image
}

// CountFlows counts the entries, and compares them with what the networks are said to have.
func CountFlows(t *testing.T, table flowTable) (count uint64) {
	t.Helper()
	err := table.EachFlow(func(core.FlowKey, core.Flow) error {
		count++
		return nil
	})
	used := uint64(0)
	for vrf := range table.Image().VRFs {
		used += table.FlowsOf(vrf)
	}
	if err != nil || used != count {
		t.Errorf("%d flows are there, %d are counted: %v", count, used, err)
	}
	return count
}

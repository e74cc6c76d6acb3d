package netns

import (
	"maps"
	"testing"

	"windtunnel/testbed"
)

// TestLargeReceiveGoesWithGRO: who wants single packets wants no NIC to join them either, and who wants GRO has not asked for that.
func TestLargeReceiveGoesWithGRO(t *testing.T) {
	nic := map[string]bool{"rx-gro": true, "rx-lro": true}
	for on, want := range map[bool]map[string]bool{false: {"rx-gro": false, "rx-lro": false}, true: {}} {
		if got := features(nic, map[string]bool{testbed.GRO: on}); !maps.Equal(got, want) {
			t.Errorf("gro %v: %v is set, not %v", on, got, want)
		}
	}
	if got := features(map[string]bool{"rx-gro": true}, map[string]bool{testbed.GRO: false}); len(got) != 1 {
		t.Errorf("%v is set on a device without LRO", got)
	}
}

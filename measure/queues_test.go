package measure

import (
	"errors"
	"slices"
	"testing"
)

func TestQueueCounters(t *testing.T) {
	for name, c := range map[string]struct {
		counters map[string]uint64
		want     []uint64
	}{
		"virtual pair": {map[string]uint64{"peer_ifindex": 9, "rx_queue_1_xdp_packets": 7, "rx_queue_0_xdp_packets": 3, "rx_queue_0_drops": 1}, []uint64{3, 7}},
		"ixgbe":        {map[string]uint64{"rx_queue_0_packets": 5, "rx_queue_0_bytes": 500, "rx_packets": 5, "tx_queue_0_packets": 2}, []uint64{5}},
		"virtio":       {map[string]uint64{"rx0_packets": 1, "rx1_packets": 2, "rx0_xdp_packets": 90}, []uint64{1, 2}},
		"i40e":         {map[string]uint64{"rx-0.packets": 4, "rx-2.packets": 6}, []uint64{4, 0, 6}},
		"ena":          {map[string]uint64{"queue_0_rx_cnt": 8, "queue_0_tx_cnt": 1}, []uint64{8}},
	} {
		if got, err := queueCounters(c.counters); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	for _, none := range []map[string]uint64{nil, {"rx_packets": 3}, {"rx_queue_99999_packets": 3}} {
		if got, err := queueCounters(none); err == nil {
			t.Errorf("%v: %v", none, got)
		}
	}
}

func TestQueuesBetween(t *testing.T) {
	of := func(n ...uint64) reading[[]uint64] { return read(n, nil) }
	if got, err := queuesBetween(of(1, 2), of(4, 2)); err != nil || !slices.Equal(got, []uint64{3, 0}) {
		t.Error(got, err)
	}
	if _, err := queuesBetween(of(1), of(1, 2)); err == nil {
		t.Error("a queue that was not there counted something")
	}
	if _, err := queuesBetween(of(5), of(4)); !errors.Is(err, errReset) {
		t.Error(err)
	}
	if _, err := queuesBetween(read([]uint64(nil), errors.New("no")), of(1)); err == nil {
		t.Error("what was not read counted something")
	}
}

package measure

import (
	"slices"
	"testing"
)

func TestOffloadsThatAreOn(t *testing.T) {
	for name, c := range map[string]struct {
		have    map[string]bool
		longest int
		want    []string
	}{
		"a virtual pair": {map[string]bool{"tx-checksum-ip-generic": true, "tx-scatter-gather": true, "tx-scatter-gather-fraglist": true, "tx-tcp-segmentation": true,
			"tx-tcp6-segmentation": true, "tx-generic-segmentation": true, "rx-checksum": true, "rx-gro": false, "rx-gro-list": true},
			65536, []string{"tx checksum", "scatter-gather", "TSO", "GSO", "rx checksum"}},
		"a wire's end":            {map[string]bool{"tx-tcp-segmentation": false, "tx-generic-segmentation": false, "rx-gro": true}, 0, []string{"GRO"}},
		"GRO that joins nothing":  {map[string]bool{"rx-gro": true, "rx-lro": true}, 1, []string{"LRO"}},
		"nothing":                 {map[string]bool{"highdma": true}, 65536, []string{}},
		"a tunnel's segmentation": {map[string]bool{"tx-udp_tnl-csum-segmentation": true, "tx-nocache-copy": true}, 0, []string{"tunnel segmentation"}},
	} {
		if got := offloadsOn(c.have, c.longest); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, not %q", name, got, c.want)
		}
	}
}

func TestSettingsAreReadBack(t *testing.T) {
	if got, err := readSettings("lo"); err != nil || got.MTU < 1500 {
		t.Errorf("lo: %+v, %v", got, err)
	}
	if got, err := readSettings("nosuch0"); err == nil || got != nil {
		t.Errorf("an interface that is not there: %+v", got)
	}
}

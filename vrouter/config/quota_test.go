package config

import (
	"fmt"
	"maps"
	"testing"
)

// TestFlowQuotas: no network without a number of its own can fill the table while others have flows.
func TestFlowQuotas(t *testing.T) {
	for _, c := range []struct {
		name  string
		table int
		flows []uint32 // of networks n0, n1 ...; all of them in flow mode
		plain int      // more networks, that are not
		want  map[string]uint32
	}{
		{"alone", 1000, []uint32{0}, 0, map[string]uint32{"n0": 0}},
		{"alone in flow mode", 1000, []uint32{0}, 2, map[string]uint32{"n0": 0, "p0": 0, "p1": 0}},
		{"two", 1000, []uint32{0, 0}, 1, map[string]uint32{"n0": 750, "n1": 750, "p0": 0}},
		{"two of the default", 0, []uint32{0, 0}, 0, map[string]uint32{"n0": 49152, "n1": 49152}},
		{"beside one with a number", 1000, []uint32{900, 0}, 0, map[string]uint32{"n0": 900, "n1": 750}},
		{"five", 1000, []uint32{0, 0, 0, 10, 0}, 0, map[string]uint32{"n0": 600, "n1": 600, "n2": 600, "n3": 10, "n4": 600}},
		{"a table too small to share", 3, []uint32{0, 0}, 0, map[string]uint32{"n0": 3, "n1": 3}},
	} {
		var wanted Config
		wanted.Limits.Flows = c.table
		for i, flows := range c.flows {
			name := fmt.Sprintf("n%d", i)
			wanted.Networks = append(wanted.Networks, Network{Name: name, Flows: flows})
			wanted.Ports = append(wanted.Ports, Port{Network: name, Flow: PortFlow{Policy: "web"}}, Port{Network: name})
		}
		for i := range c.plain {
			wanted.Networks = append(wanted.Networks, Network{Name: fmt.Sprintf("p%d", i)})
			wanted.Ports = append(wanted.Ports, Port{Network: fmt.Sprintf("p%d", i)})
		}
		if got := wanted.FlowQuotas(); !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, not %v", c.name, got, c.want)
		}
	}
}

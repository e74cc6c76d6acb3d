package frame

import (
	"net/netip"
	"testing"

	"windtunnel/traffic"
)

// TestClocksOfTwoMachines are not compared: at ports, where sinks tell how long frames were on their way, frames say when they left
// only to a sink on the same machine.
func TestClocksOfTwoMachines(t *testing.T) {
	port := traffic.Port{Name: "one", MAC: "02:00:00:00:00:01", NextHop: "02:00:00:00:00:02"}
	for _, c := range []struct {
		rate        float64
		apart, tell bool
	}{
		{rate: 1000, tell: true}, {rate: 1000, apart: true}, {}, {apart: true},
	} {
		s := &session{from: netip.MustParseAddr("172.16.0.21"), to: netip.MustParseAddrPort("172.16.0.22:20000"), apart: c.apart}
		h, err := headerAtPort(&sendWorker{load: load{sizes: mix{64}, flows: 1, rate: c.rate}, session: s}, port)
		if err != nil || h.stamped != c.tell {
			t.Errorf("%+v: %t, %v", c, h.stamped, err)
		}
	}
}

package kernel

import (
	"encoding/hex"
	"testing"

	"windtunnel/vrouter/core"
)

// TestPortHints: the fast path finds an interface's vif where another one's number ends in the same bits,
// and none for an interface that has none any more.
func TestPortHints(t *testing.T) {
	bed, cases := newFastBed(t)
	ports, err := bed.plane.Ports()
	bed.must(t, err)
	var in []byte
	for _, k := range cases {
		if k.Name == "udp into a tunnel" && k.At == "vif1" {
			in, err = hex.DecodeString(k.In)
			bed.must(t, err)
		}
	}
	try := func(want uint32) {
		t.Helper()
		if action, _ := bed.runFast(t, "vif1", in); action != want {
			t.Errorf("action %d, not %d", action, want)
		}
	}
	try(xdpActionRedirect)
	alike := bed.ifindex["vif1"] + core.MaxVifs
	bed.must(t, bed.plane.SetPort(alike, ports[bed.ifindex["vif2"]]))
	try(xdpActionRedirect)
	bed.must(t, bed.plane.ClearPort(alike))
	try(xdpActionRedirect)
	bed.must(t, bed.plane.ClearPort(bed.ifindex["vif1"]))
	try(xdpPass)
	bed.must(t, bed.plane.SetPort(bed.ifindex["vif1"], ports[bed.ifindex["vif1"]]))
	try(xdpActionRedirect)
}

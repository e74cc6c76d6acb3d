package result

import (
	"strings"
	"testing"
)

// TestWireBytesHaveTheirHeader whoever counts them: an end that polls counts a packet without it, and a frame of XDP with it.
func TestWireBytesHaveTheirHeader(t *testing.T) {
	number := func(n uint64) *uint64 { return &n }
	gro, none := &LinkSettings{On: []string{OffloadTSO, OffloadGRO}}, &LinkSettings{On: []string{OffloadTSO}}
	for name, c := range map[string]struct {
		wire   string
		bytes  uint64 // of 200 packets, as counted
		far    LinkSample
		xdp    *uint64
		frames bool
		want   float64 // 0: not known
	}{
		"memory":                     {"memory", 300_000, LinkSample{}, nil, false, 1500},
		"a real NIC":                 {"network", 300_000, LinkSample{}, nil, false, 1500},
		"polled":                     {wireNIC, 300_000, LinkSample{RxNAPI: number(198)}, number(0), false, 1514},
		"not polled":                 {wireNIC, 302_800, LinkSample{RxNAPI: number(0)}, number(0), false, 1514},
		"frames of XDP":              {wireNIC, 12_000, LinkSample{RxNAPI: number(198)}, number(200), true, 60},
		"and others":                 {wireNIC, 10_600, LinkSample{RxNAPI: number(198)}, number(100), true, 60},
		"an older record":            {wireNIC, 300_000, LinkSample{Settings: gro}, nil, false, 1514},
		"one without GRO":            {wireNIC, 302_800, LinkSample{Settings: none}, nil, false, 1514},
		"of frames":                  {wireNIC, 12_000, LinkSample{Settings: gro}, nil, true, 0},
		"one that tells nothing":     {wireNIC, 300_000, LinkSample{}, nil, false, 0},
		"more of XDP than of all":    {wireNIC, 12_000, LinkSample{RxNAPI: number(198)}, number(201), true, 60}, // read a little later
		"a probe that failed midway": {wireNIC, 300_000, LinkSample{Settings: gro}, number(0), false, 1514},
	} {
		cell, trial := across, oneTrial()
		cell.Wire = c.wire
		own := &trial.Nodes["a"].Links[0]
		own.TxBytes, own.TxXDP, own.RxNAPI = c.bytes, c.xdp, number(7)
		far := trial.Nodes["b"]
		c.far.Role = RoleWire
		far.Links = append(far.Links, c.far)
		trial.Nodes["b"] = far
		if c.frames {
			trial.Pairs[0].Sender.Frames = &Frames{}
		}
		got, err := cell.Value(trial, WirePacketSize)
		if c.want == 0 && (err == nil || !strings.Contains(err.Error(), "Ethernet headers")) || c.want > 0 && (err != nil || got != c.want) {
			t.Errorf("%s: %g %v, want %g", name, got, err, c.want)
		}
		if bits, found := cell.WireBits(trial); c.want > 0 && (!found || bits != 8*c.want*200/2) {
			t.Errorf("%s: %g bit/s", name, bits)
		}
	}
}

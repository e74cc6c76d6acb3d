package scenario

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWire(t *testing.T) {
	spec := parse(t, head+`
wire: {mtu: 9000, vmq: on, rate: 1.5Gbit/s, gro: off}
cells:
  A: {path: wire, pairs: [{from: a, to: b}]}
  B: {like: A, wire: {vmq: off, spread: both, queues: 4, loss: 1%, steer: sender, gro: auto}, segmentation: no-lso}
`)
	want := []Wire{
		{Kind: WireNIC, MTU: 9000, VMQ: "on", Spread: Auto, GRO: "off", Steer: Auto, BitsPerSecond: 1.5e9},
		{Kind: WireNIC, MTU: 9000, VMQ: "off", Spread: SpreadBoth, Queues: 4, GRO: Auto, Steer: SteerSender, BitsPerSecond: 1.5e9, Loss: 0.01},
	}
	for i, w := range want {
		if diff := cmp.Diff(w, spec.Cells[i].Wire); diff != "" {
			t.Error(diff)
		}
	}
	if spec.Cells[1].Segmentation != SegmentationNoLSO {
		t.Error(spec.Cells[1].Segmentation)
	}
}

func TestWireNamesTheNearestWord(t *testing.T) {
	_, err := Parse([]byte(head+`
wire: {vmq: true, spread: recieve, rate: 1kbit/s, loss: 100%, steer: receiver}
cells:
  A: {path: wire, pairs: [{from: a, to: b}]}
`), "s.yaml", words())
	for _, want := range []string{"unknown value of `vmq` `true`", "did you mean `receive`?", "it is at least 1Mbit/s", "`100%` is all or more", "value of `steer` `receiver`"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

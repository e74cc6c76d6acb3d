package scenario

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWire(t *testing.T) {
	spec := parse(t, head+`
wire: {mtu: 9000, vmq: on}
cells:
  A: {path: wire, pairs: [{from: a, to: b}]}
  B: {like: A, wire: {vmq: off, spread: both, queues: 4}, segmentation: no-lso}
`)
	want := []Wire{
		{Kind: WireNIC, MTU: 9000, VMQ: "on", Spread: Auto},
		{Kind: WireNIC, MTU: 9000, VMQ: "off", Spread: SpreadBoth, Queues: 4},
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
wire: {vmq: true, spread: recieve}
cells:
  A: {path: wire, pairs: [{from: a, to: b}]}
`), "s.yaml", words())
	for _, want := range []string{"unknown value of `vmq` `true`", "did you mean `receive`?"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

package kernel

import (
	"testing"

	"github.com/cilium/ebpf"

	"windtunnel/vrouter/internal/golden"
	"windtunnel/vrouter/internal/lab"
)

// TestWays: the kernel keeps each flow on one of several ways.
func TestWays(t *testing.T) {
	lab.NeedRoot(t)
	_, c := golden.Load(t)
	bed := newRoutedBed(t, c)
	golden.CheckWays(t, bed.change, func(frame []byte) []byte { return bed.leaves(t, frame) })
}

// leaves is the frame that leaves for one that the port sender sends.
func (b *packetBed) leaves(t *testing.T, frame []byte) []byte {
	t.Helper()
	options := &ebpf.RunOptions{Data: frame, DataOut: make([]byte, len(frame)+256), Context: skbContext{Ifindex: b.ifindex["vif1"]}}
	before := b.totals(t)
	action := b.give(b.plane.objects.VrVifIngress, options)
	if action != actionRedirect {
		t.Fatalf("the packet is lost: %s", lost(before, b.totals(t)))
	}
	return options.DataOut
}

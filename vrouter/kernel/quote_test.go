package kernel

import (
	"encoding/hex"
	"testing"

	"github.com/cilium/ebpf"

	"windtunnel/vrouter/internal/golden"
	"windtunnel/vrouter/internal/lab"
)

// TestQuotes: where there are several ways, an ICMP error has that of the flow that it is about, at tc.
func TestQuotes(t *testing.T) {
	lab.NeedRoot(t)
	quotes, c := golden.LoadQuotes(t)
	bed := newPacketBed(t, c)
	golden.CheckQuotes(t, quotes, func(at string, frame []byte) []byte {
		program := bed.plane.objects.VrVifIngress
		if at == "fabric" {
			program = bed.plane.objects.VrFabricIngress
		}
		options := &ebpf.RunOptions{Data: frame, DataOut: make([]byte, len(frame)+256), Context: skbContext{Ifindex: bed.ifindex[at]}}
		var action uint32
		before := bed.totals(t)
		bed.here.Do(func() (err error) {
			action, err = program.Run(options)
			return err
		})
		if action != actionRedirect {
			t.Fatalf("a packet is lost: %s", lost(before, bed.totals(t)))
		}
		return options.DataOut
	})
}

// TestQuotesByTheFastPath: and at XDP, which leaves those with options, extensions and other protocols to tc.
func TestQuotesByTheFastPath(t *testing.T) {
	lab.NeedRoot(t)
	quotes, c := golden.LoadQuotes(t)
	bed := fastBedOf(t, c)
	var taken []golden.Quote
	for _, q := range quotes {
		if bed.takes(t, q.At, q.Flow) && bed.takes(t, q.At, q.Error) {
			taken = append(taken, q)
		}
	}
	if len(taken) < len(quotes)/2 {
		t.Errorf("%d of %d were taken", len(taken), len(quotes))
	}
	golden.CheckQuotes(t, taken, func(at string, frame []byte) []byte {
		_, out := bed.runFast(t, at, frame)
		return out
	})
}

// takes tells whether XDP forwards a frame.
func (b *packetBed) takes(t *testing.T, at, frame string) bool {
	t.Helper()
	in, err := hex.DecodeString(frame)
	b.must(t, err)
	action, _ := b.runFast(t, at, in)
	return action == xdpActionRedirect
}

package kernel

import (
	"encoding/binary"
	"encoding/hex"
	"testing"

	"github.com/cilium/ebpf"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/internal/golden"
	"windtunnel/vrouter/internal/lab"
)

const (
	xdpPass    = 2
	handedLen  = 16 // struct vr_handed
	handedMark = 0x76724801
)

// TestGoldenPacketsAtXDP: what tc would deliver out of a tunnel, XDP hands over as the same bytes;
// all else stays as it came, and nothing is counted.
func TestGoldenPacketsAtXDP(t *testing.T) {
	lab.NeedRoot(t)
	cases, c := golden.Load(t)
	bed := newPacketBed(t, c)
	handed := 0
	for _, k := range cases {
		if k.At != "fabric" || k.GSO != 0 {
			continue
		}
		t.Run(k.Name, func(t *testing.T) {
			in, _ := hex.DecodeString(k.In)
			out := bed.runXDP(t, in)
			if k.Op != "decap" {
				if string(out) != string(in) {
					t.Errorf("the frame was changed:\ngot  %x\nwant %x", out, in)
				}
				return
			}
			handed++
			if len(out) < handedLen || binary.LittleEndian.Uint32(out) != handedMark {
				t.Fatalf("nothing was handed over: %x", out)
			}
			if err := k.Compare(hex.EncodeToString(out[handedLen:])); err != nil {
				t.Error(err)
			}
			want := uint32(0)
			for _, p := range c.Ports {
				if want == 0 && p.MAC == config.MAC(out[handedLen:handedLen+6]) {
					want = bed.ifindex[p.Interface]
				}
			}
			if ifindex := binary.LittleEndian.Uint32(out[4:]); ifindex != want {
				t.Errorf("handed over to interface %d, not %d", ifindex, want)
			}
		})
	}
	if totals := bed.totals(t); totals.Received().Packets != 0 {
		t.Errorf("XDP counted: %+v", totals.Received())
	}
	if handed == 0 {
		t.Error("no frame was handed over")
	}
}

func (b *packetBed) runXDP(t *testing.T, in []byte) []byte {
	t.Helper()
	program, err := b.plane.fabricXDP()
	if err != nil {
		t.Fatal(err)
	}
	options := &ebpf.RunOptions{Data: in, DataOut: make([]byte, len(in)+256)}
	action := b.give(program, options)
	if action != xdpPass {
		t.Fatalf("action %d", action)
	}
	return options.DataOut
}

package wire

import (
	"os"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
)

// TestCounter: each packet is counted once and dropped, whatever the hook.
func TestCounter(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("skip: needs root (BPF)")
	}
	for kind, verdict := range map[ebpf.ProgramType]uint32{ebpf.XDP: xdpDrop, ebpf.SchedCLS: tcShot} {
		t.Run(kind.String(), func(t *testing.T) {
			c, err := newCounter(kind, int32(verdict), func(*ebpf.Program) (link.Link, error) { return nil, nil })
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			for want := range uint64(5) {
				if got, err := c.Count(); err != nil || got != want {
					t.Fatalf("%d packets were counted, not %d: %v", got, want, err)
				}
				if got, _, err := c.program.Test(make([]byte, 64)); err != nil || got != verdict {
					t.Fatalf("the verdict is %d, not %d: %v", got, verdict, err)
				}
			}
		})
	}
}

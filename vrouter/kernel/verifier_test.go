package kernel

import (
	"testing"

	"github.com/cilium/ebpf"

	"windtunnel/vrouter/internal/lab"
)

// verified is how many instructions the verifier may look at for one program. The kernel's limit is a
// million; ours keeps a change from coming near it unseen.
const verified = 200_000

// Older verifiers find fewer states alike, and look at more than twice as many.
const verifiedByOld = 500_000

func TestVerifierEffort(t *testing.T) {
	lab.NeedRoot(t)
	d, err := Load(Options{Name: "verifier"})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	most := verified
	if !lab.IsLinux(t, 6, 12) {
		most = verifiedByOld
	}
	if err := d.loadFast(); err != nil {
		t.Fatal(err)
	}
	xdp, err := d.fabricXDP()
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]*ebpf.Program{
		"vif": d.objects.VrVifIngress, "fabric": d.objects.VrFabricIngress, "XDP": xdp,
		"fast vif": d.fast.objects.VrFastVif, "fast fabric": d.fast.objects.VrFastFabric,
	} {
		info, err := p.Info()
		if err != nil {
			t.Fatal(err)
		}
		if n, ok := info.VerifiedInstructions(); ok && int(n) > most {
			t.Errorf("%s: the verifier looked at %d instructions; at most %d", name, n, most)
		} else {
			t.Logf("%s: %d instructions", name, n)
		}
	}
}

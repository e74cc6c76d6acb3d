package kernel

import (
	"testing"

	"github.com/cilium/ebpf"

	"windtunnel/vrouter/internal/lab"
)

// verified is how many instructions the verifier may look at for one program. The kernel's limit is a
// million; ours keeps a change from coming near it unseen.
const verified = 200_000

func TestVerifierEffort(t *testing.T) {
	lab.NeedRoot(t)
	d, err := Load(Options{Name: "verifier"})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.loadFast(); err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]*ebpf.Program{
		"vif": d.objects.VrVifIngress, "fabric": d.objects.VrFabricIngress, "XDP": d.objects.VrFabricXdp,
		"fast vif": d.fast.objects.VrFastVif, "fast fabric": d.fast.objects.VrFastFabric,
	} {
		info, err := p.Info()
		if err != nil {
			t.Fatal(err)
		}
		if n, ok := info.VerifiedInstructions(); ok && n > verified {
			t.Errorf("%s: the verifier looked at %d instructions; at most %d", name, n, verified)
		} else {
			t.Logf("%s: %d instructions", name, n)
		}
	}
}

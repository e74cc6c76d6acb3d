package kernel

import (
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/rlimit"

	"windtunnel/vrouter/internal/lab"
)

// TestHaveTCX: the kernel has tcx exactly if a program can be attached by it.
func TestHaveTCX(t *testing.T) {
	lab.NeedRoot(t)
	if err := rlimit.RemoveMemlock(); err != nil {
		t.Fatal(err)
	}
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type: ebpf.SchedCLS, License: "Dual BSD/GPL", Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	namespace := lab.NewNamespace(t)
	index := namespace.Link("lo").Attrs().Index
	var have, can bool
	namespace.Do(func() error {
		have = HaveTCX()
		l, err := link.AttachTCX(link.TCXOptions{Program: program, Attach: ebpf.AttachTCXIngress, Interface: index})
		if can = err == nil; can {
			return l.Close()
		}
		t.Logf("attaching by tcx: %v", err)
		return nil
	})
	if have != can {
		t.Errorf("HaveTCX says %t, and attaching %t", have, can)
	}
}

// everySpec checks each of the programs that are committed.
func everySpec(t *testing.T, check func(t *testing.T, spec *ebpf.CollectionSpec, name string)) {
	t.Helper()
	for object, load := range map[string]func() (*ebpf.CollectionSpec, error){"vr": loadVr, "fast": loadFast, "trace": loadTrace} {
		spec, err := load()
		if err != nil {
			t.Fatalf("reading %s_bpfel.o: %v", object, err)
		}
		for name := range spec.Programs {
			t.Run(name, func(t *testing.T) { check(t, spec, name) })
		}
	}
}

// newestHelper is bpf_task_pt_regs, the last helper function that Linux 5.15 has.
const newestHelper = 175

// TestHelpers: the programs call nothing that Linux 5.15 lacks.
func TestHelpers(t *testing.T) {
	everySpec(t, func(t *testing.T, spec *ebpf.CollectionSpec, name string) {
		for at, i := range spec.Programs[name].Instructions {
			if i.IsKfuncCall() || i.IsBuiltinCall() && i.Constant > newestHelper {
				t.Errorf("instruction %d: %v is newer than Linux 5.15", at, i)
			}
		}
	})
}

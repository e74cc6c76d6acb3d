package analysis

import (
	"strings"
	"testing"

	"windtunnel/result"
)

func TestMachines(t *testing.T) {
	trial := func(busy float64) result.Trial {
		guest := &result.NodeSample{WindowSeconds: 1, CPUs: []result.CPUSample{{Busy: busy}, {CPU: 1}}}
		vm := result.VMSample{VM: "one", Accelerator: "tcg", CPUs: 2, MemoryBytes: 256 << 20, VCPUSeconds: 1, QEMUSeconds: 0.5, PasstSeconds: 0.25, Guest: guest}
		return result.Trial{Record: result.RecordTrial, Cell: "V", Nodes: map[string]result.NodeSample{"a": {WindowSeconds: 2, VMs: []result.VMSample{vm}}}}
	}
	trials := []result.Trial{trial(0.5), trial(1)}
	got := machines(trials)
	if len(got) != 1 || got[0].GuestBusy.Mean != 37.5 || got[0].VCPU.Mean != 50 || got[0].QEMU.Mean != 25 || got[0].Passt.Mean != 12.5 || got[0].Vhost.Mean != 0 || !got[0].Emulated() {
		t.Errorf("%+v", got)
	}
	doubts := cellDoubts(Cell{Spec: result.Cell{Name: "V"}, Machines: got}, trials)
	if len(doubts) == 0 || doubts[0].Kind != result.DoubtEmulated || !strings.Contains(doubts[0].Says, "emulated") {
		t.Errorf("the doubts are %v", doubts)
	}
	trials[1].Nodes["a"].VMs[0].Guest, trials[0].Nodes["a"].VMs[0].Guest = nil, nil
	if m := machines(trials)[0]; m.GuestBusy.Known() || m.GuestBusy.Reason == "" || !m.VCPU.Known() {
		t.Errorf("of a guest that told nothing: %+v", m)
	}
}

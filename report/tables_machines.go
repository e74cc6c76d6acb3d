package report

import (
	"fmt"

	"windtunnel/analysis"
)

// machines is what virtual machines used of their own CPUs, and what they cost their hosts.
func machines(f analysis.Findings) section {
	t := &table{columns: []column{
		{name: "cell", text: true}, {name: "VM", text: true}, {name: "by", text: true}, {name: "CPUs"}, {name: "MiB"},
		{"in the guest, %", "of its CPUs", false},
		{"on the host, % of a CPU", "vCPUs", false}, {"on the host, % of a CPU", "vhost", false}, {"on the host, % of a CPU", "QEMU", false},
		{"on the host, % of a CPU", "passt", false}, {name: "exits/s"},
	}}
	for _, c := range f.Cells {
		for _, m := range c.Machines {
			t.rows = append(t.rows, []string{
				c.Spec.Name, m.Name, by(m), fmt.Sprint(m.CPUs), fmt.Sprint(m.MemoryBytes >> 20),
				share(m.GuestBusy), share(m.VCPU), share(m.Vhost), share(m.QEMU), share(m.Passt), whole(m.Exits),
			})
		}
	}
	if len(t.rows) == 0 {
		return section{}
	}
	return section{heading: "Virtual machines", table: t, notes: []string{
		"What a guest says of its own CPUs it says by its own clock. The host's CPU time is in that of its node, too. Exits are its CPUs' from the guest to the host, as KVM counts them.",
	}}
}

func by(m analysis.Machine) string {
	if m.Emulated() {
		return "emulation"
	}
	return "KVM"
}

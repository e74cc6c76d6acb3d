package analysis

import (
	"cmp"

	"windtunnel/result"
	"windtunnel/stats"
)

// Machine is one virtual machine of a cell, on the mean of its trials. Shares are of one CPU of the host's, and may
// be more than 1.
type Machine struct {
	Name        string        `json:"name"`
	Node        string        `json:"node"`
	Accelerator string        `json:"accelerator"`
	CPUs        int           `json:"cpus"`
	MemoryBytes uint64        `json:"memory_bytes"`
	GuestBusy   result.Figure `json:"guest_busy_percent"` // of its own CPUs, as the guest saw it
	VCPU        result.Figure `json:"vcpu_percent"`       // of a CPU of the host's: the threads that are the guest's CPUs
	Vhost       result.Figure `json:"vhost_percent"`      // the kernel's, which carry its packets
	QEMU        result.Figure `json:"qemu_percent"`       // QEMU's own
	Passt       result.Figure `json:"passt_percent"`      // passt's, which makes its network
	Exits       result.Figure `json:"exits_per_second"`   // from the guest to the host, of all of its CPUs
}

// Emulated tells whether its instructions were not the CPU's own.
func (m Machine) Emulated() bool { return result.VMSample{Accelerator: m.Accelerator}.Emulated() }

// machines are those of a cell, in the order of the nodes.
func machines(trials []result.Trial) []Machine {
	if len(trials) == 0 {
		return nil
	}
	var all []Machine
	last := trials[len(trials)-1]
	for _, node := range sortedKeys(last.Nodes) {
		for _, s := range last.Nodes[node].VMs {
			all = append(all, machine(trials, node, s))
		}
	}
	return all
}

func machine(trials []result.Trial, node string, s result.VMSample) Machine {
	m := Machine{Name: s.VM, Node: node, Accelerator: s.Accelerator, CPUs: s.CPUs, MemoryBytes: s.MemoryBytes}
	var guest, vcpu, vhost, qemu, exits, passt []float64
	for _, t := range trials {
		window := t.Nodes[node].WindowSeconds
		for _, s := range t.Nodes[node].VMs {
			if s.VM != m.Name {
				continue
			}
			if s.Exits != nil && window > 0 {
				exits = append(exits, float64(*s.Exits)/window)
			}
			if share, told := s.GuestBusy(); told {
				guest = append(guest, 100*share)
			}
			if s.Accelerator != "" && s.Error == "" && window > 0 {
				vcpu, vhost = append(vcpu, 100*s.VCPUSeconds/window), append(vhost, 100*s.VhostSeconds/window)
				qemu, passt = append(qemu, 100*s.QEMUSeconds/window), append(passt, 100*s.PasstSeconds/window)
			}
		}
	}
	m.GuestBusy, m.VCPU, m.Vhost = meanOr(guest, "the guest has not told"), meanOr(vcpu, s.Error), meanOr(vhost, s.Error)
	m.QEMU, m.Passt = meanOr(qemu, s.Error), meanOr(passt, s.Error)
	m.Exits = meanOr(exits, cmp.Or(s.ExitsMissing, s.Error, "the run did not count them"))
	return m
}

func meanOr(samples []float64, reason string) result.Figure {
	if len(samples) == 0 {
		return result.Missing(reason)
	}
	return stats.Mean(samples)
}

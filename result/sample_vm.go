package result

// VMSample is one virtual machine over the window: what it cost its host, by whose threads, and what its guest
// saw of itself. CPUSample.Busy of its node's CPUs has all of these threads' time in it.
type VMSample struct {
	VM          string `json:"vm"`
	Accelerator string `json:"accelerator"` // kvm, or tcg: emulated
	CPUs        int    `json:"cpus"`
	MemoryBytes uint64 `json:"memory_bytes"`
	// CPU time of the host, in seconds: of the threads that are the guest's CPUs, of the kernel's that carry
	// its packets (vhost), of QEMU's own, and of passt, which carries its packets in vhost's place.
	VCPUSeconds  float64 `json:"vcpu_seconds"`
	VhostSeconds float64 `json:"vhost_seconds"`
	QEMUSeconds  float64 `json:"qemu_seconds"`
	PasstSeconds float64 `json:"passt_seconds,omitempty"`
	// Exits is how often its CPUs left the guest for the host, by KVM's count; nil: not known, for the reason beside.
	Exits        *uint64 `json:"exits,omitempty"`
	ExitsMissing string  `json:"exits_missing,omitempty"`
	// Guest is what the guest's own probes saw, by its own clock; its links and stacks are among its node's.
	Guest *NodeSample `json:"guest,omitempty"`
	Error string      `json:"error,omitempty"`
}

// DoubtEmulated is the kind of doubt about figures of emulated machines.
const DoubtEmulated = "emulated"

// Emulated tells whether the guest's instructions were not the CPU's own.
func (s VMSample) Emulated() bool { return s.Accelerator != "kvm" }

// GuestBusy is the share of its CPUs that the guest itself says was busy, from 0 to 1.
func (s VMSample) GuestBusy() (share float64, told bool) {
	if s.Guest == nil || len(s.Guest.CPUs) == 0 || !(s.Guest.WindowSeconds > 0) {
		return 0, false
	}
	for _, cpu := range s.Guest.CPUs {
		share += cpu.Busy
	}
	return share / (s.Guest.WindowSeconds * float64(len(s.Guest.CPUs))), true
}

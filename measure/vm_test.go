package measure

import (
	"testing"
	"time"

	"windtunnel/result"
)

func TestThreadsOfAMachine(t *testing.T) {
	for name, want := range map[string]vmThread{
		"CPU 0/KVM": vmCPU, "CPU 11/TCG": vmCPU, "ALL CPUs/TCG": vmCPU, "vhost-7": vmVhost, "vhost-70": vmOther,
		"qemu-system-x86": vmOther, "worker": vmOther, "IO mon_iothread": vmOther,
	} {
		if got := vmThreadOf(name, "vhost-7"); got != want {
			t.Errorf("%s is %d, not %d", name, got, want)
		}
	}
}

// A thread that began in the window counts whole, and one that ended is not taken off.
func TestTimeOfAMachine(t *testing.T) {
	config := Config{VMs: []VM{{Name: "one", PID: 7}, {Name: "gone", PID: 8}}}
	gone := read(readVM(VM{Name: "gone", PID: 1 << 30}))
	s := sampler{
		before: Snapshot{config: config, vms: []reading[vmReading]{{value: vmReading{1: {vmCPU, time.Second}, 2: {vmOther, time.Second}, 9: {vmPasst, time.Second}}}, gone}},
		after:  Snapshot{config: config, vms: []reading[vmReading]{{value: vmReading{1: {vmCPU, 3 * time.Second}, 3: {vmVhost, time.Second / 2}, 9: {vmPasst, 2 * time.Second}}}, gone}},
	}
	s.vms()
	want := result.VMSample{VM: "one", VCPUSeconds: 2, VhostSeconds: 0.5, PasstSeconds: 1}
	if got := s.sample.VMs[0]; got != want {
		t.Errorf("%+v, not %+v", got, want)
	}
	if got := s.sample.VMs[1]; got.Error == "" || s.sample.Missing["vm gone"] == "" {
		t.Errorf("a machine that has ended: %+v, %v", got, s.sample.Missing)
	}
}

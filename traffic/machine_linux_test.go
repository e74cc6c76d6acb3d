package traffic

import "testing"

// TestGenerationsOfOneNameAreTwoMachines: what one reached is no calibration of the other.
func TestGenerationsOfOneNameAreTwoMachines(t *testing.T) {
	const fifth = "processor\t: 0\ncpu family\t: 26\nmodel\t\t: 2\nmodel name\t: AMD EPYC\nstepping\t: 1\n\nprocessor\t: 1\nmodel name\t: AMD EPYC\n"
	const fourth = "processor\t: 0\ncpu family\t: 25\nmodel\t\t: 17\nmodel name\t: AMD EPYC\nstepping\t: 1\n"
	if a, b := modelIn(fifth), modelIn(fourth); a == b {
		t.Errorf("both are %q", a)
	}
	if a := modelIn(fifth); a != modelIn("cpu family\t: 26\nmodel\t\t: 2\nmodel name\t: AMD EPYC\n") {
		t.Errorf("more than one CPU's lines are in %q", a)
	}
	if arm := modelIn("CPU implementer\t: 0x41\nCPU part\t: 0xd0c\n"); arm == modelIn("CPU implementer\t: 0x41\nCPU part\t: 0xd49\n") {
		t.Errorf("both are %q", arm)
	}
}

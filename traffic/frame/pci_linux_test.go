package frame

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"windtunnel/result"
)

// polledWires are those of NIC_WIRES (scripts/pci.sh) with both NICs DPDK's: a model and two PCI addresses.
func polledWires(t *testing.T) (wires [][]string) {
	t.Helper()
	for _, word := range strings.Fields(os.Getenv("NIC_WIRES")) {
		wire := strings.Split(word, ",")
		polled := 0
		for _, address := range wire[1:] {
			if driver, err := os.Readlink("/sys/bus/pci/devices/" + address + "/driver"); err == nil && filepath.Base(driver) == "vfio-pci" {
				polled++
			}
		}
		if polled == 2 {
			wires = append(wires, wire)
		}
	}
	if len(wires) == 0 {
		t.Skip("skip: needs NICs that are for tests only, such as those of the guest that `make pci` boots")
	}
	return wires
}

// TestPCI: frames go from NIC to NIC, each way, and every one is counted. No faster than an emulated NIC is,
// which drops what it has no room for.
func TestPCI(t *testing.T) {
	for _, wire := range polledWires(t) {
		t.Run(wire[0], func(t *testing.T) {
			_, ports := startTester(t, pollProgram(t), socketFolder(t), []string{"one", "two"}, wire[1:])
			for _, load := range []result.Options{
				{"packets": 500.0}, {"packets": 500.0, "size": int64(1518), "flows": 100},
			} {
				for i := range ports {
					sent, got := bothEnds(t, load, ports[i], ports[1-i], soon(400*time.Millisecond))
					adds(t, sent, got)
					if got.Arrived != nil && got.Arrived.Lost != 0 {
						t.Errorf("from %s: %d of %d frames are lost", ports[i].Name, got.Arrived.Lost, sent.Packets)
					}
				}
			}
		})
	}
}

// TestPCIRefusals: a NIC that DPDK cannot have ends the tester, which says what to do.
func TestPCIRefusals(t *testing.T) {
	program := pollProgram(t)
	for place, says := range map[string]string{
		"ffff:ff:1e.7": "is it bound to vfio-pci?", "eth0": "or a PCI address",
	} {
		c := exec.Command(program, "--no-huge", socketFolder(t)+"/tester", "0", "one=02:00:00:00:00:01,"+place)
		if text, err := c.CombinedOutput(); err == nil || !strings.Contains(string(text), says) {
			t.Errorf("%s: %v, %s", place, err, text)
		}
	}
}

package netns

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSmartNIC: a NIC with a switch of its own is told by its name, and measured by nobody.
func TestSmartNIC(t *testing.T) {
	devices := t.TempDir()
	for _, device := range []struct{ name, id string }{{"lo", ""}, {"eth0", "e41d2d"}} {
		if err := smartNIC(devices); err == nil || !strings.Contains(err.Error(), "no NIC here") {
			t.Errorf("before %s: %v", device.name, err)
		}
		if err := os.Mkdir(filepath.Join(devices, device.name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(devices, device.name, ownSwitch), []byte(device.id), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := smartNIC(devices); err == nil || !strings.Contains(err.Error(), "eth0 has a switch") {
		t.Errorf("with eth0: %v", err)
	}
}

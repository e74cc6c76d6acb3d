package netns

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// hostDevices are the host's interfaces. A NIC that forwards by itself names its switch
// (Documentation/networking/switchdev.rst).
const (
	hostDevices = "/sys/class/net"
	ownSwitch   = "phys_switch_id"
)

// trySmartNIC always has a reason: Windtunnel has no path through a NIC's own switch, so one that is
// there must not be taken for measured.
func trySmartNIC(*Stack) error { return smartNIC(hostDevices) }

func smartNIC(devices string) error {
	ids, err := filepath.Glob(filepath.Join(devices, "*", ownSwitch))
	if err != nil {
		return err
	}
	for _, file := range ids {
		if id, err := os.ReadFile(file); err == nil && len(id) > 0 {
			return fmt.Errorf("%s has a switch of its own, and no path goes through it: docs/howto-add-a-data-plane.md says how to add one", filepath.Base(filepath.Dir(file)))
		}
	}
	return errors.New("no NIC here has a switch of its own (phys_switch_id) that could take a vRouter's rules")
}

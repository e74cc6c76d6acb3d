package netns

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestReceiveQueues are counted, and whether they are steered is read of every one's mask.
func TestReceiveQueues(t *testing.T) {
	for name, c := range map[string]struct {
		masks   []string
		steered bool
	}{
		"none": {}, "one": {[]string{"0\n"}, false}, "many CPUs": {[]string{"00000000,00000000\n", "00000000,00000000\n"}, false},
		"the second": {[]string{"00000000,00000000\n", "00000001,00000000\n"}, true},
	} {
		sysfs := t.TempDir()
		for i, mask := range c.masks {
			queue := filepath.Join(sysfs, "class/net/eth1/queues/rx-"+string(rune('0'+i)))
			if err := errors.Join(os.MkdirAll(queue, 0o700), os.WriteFile(filepath.Join(queue, "rps_cpus"), []byte(mask), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		if count, steered := receiveQueues(sysfs, "eth1"); count != len(c.masks) || steered != c.steered {
			t.Errorf("%s: %d queues, steered %v", name, count, steered)
		}
	}
}

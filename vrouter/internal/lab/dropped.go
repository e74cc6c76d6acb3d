package lab

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// Dropped is how many packets the machine's CPUs have dropped until now because their queues were full
// (net.core.netdev_max_backlog). They take packets of all network namespaces, and of whatever else runs.
func Dropped(t *testing.T) (packets uint64) {
	t.Helper()
	text, err := os.ReadFile("/proc/net/softnet_stat")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var processed, dropped uint64
		if _, err := fmt.Sscanf(line, "%x %x", &processed, &dropped); err != nil {
			t.Fatalf("reading /proc/net/softnet_stat: %q: %v", line, err)
		}
		packets += dropped
	}
	return packets
}

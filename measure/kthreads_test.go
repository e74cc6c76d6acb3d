package measure

import (
	"os"
	"testing"
)

func TestPacketThreadsAreToldByNameAndPlace(t *testing.T) {
	for name, want := range map[string]bool{
		"ksoftirqd/0": true, "ksoftirqd/1": false, "ksoftirqd/x": false, "ksoftirqd": false, "kworker/0:1": false, "bash": false,
	} {
		if isPacketThread(name, os.Getpid(), []int{0}) != want {
			t.Errorf("%s: not %v", name, want)
		}
	}
	if isPacketThread("napi/wire0-1", 1<<22, []int{0}) {
		t.Error("a thread that has ended belongs to the node")
	}
}

func TestPacketThreadsHaveClocks(t *testing.T) {
	found := findPacketThreads([]int{0})
	if found.err != nil {
		t.Skip("this PID namespace shows no kernel threads:", found.err)
	}
	before := readPacketThreads(found)
	after := readPacketThreads(found)
	if before.err != nil || after.err != nil || after.value < before.value {
		t.Errorf("%+v, then %+v", before, after)
	}
	if gone := readPacketThreads(read(packetThreads{1 << 22}, nil)); gone.err == nil {
		t.Error("a thread that is not there has a clock")
	}
}

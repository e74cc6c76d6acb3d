package vrouter_test

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/control"
)

// soakTime is a few seconds; POLL_SOAK=10m makes it longer.
func soakTime(t *testing.T) time.Duration {
	text := os.Getenv("POLL_SOAK")
	if text == "" {
		return 4 * time.Second
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("POLL_SOAK: %v", err)
	}
	return d
}

var resident = regexp.MustCompile(`(?m)^VmRSS:\s+(\d+) kB$`)

// memoryOf is how many KiB of memory a process has.
func memoryOf(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	found := resident.FindSubmatch(text)
	if found == nil {
		t.Fatalf("process %d has no memory: %s", pid, text)
	}
	size, err := strconv.Atoi(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	return size
}

// TestPollSoak: a VM sends another one all that it can; nothing fails, all is accounted for, and the process has
// no more memory at the end than when all was under way.
func TestPollSoak(t *testing.T) {
	const mayGrow = 512 // KiB, of what a process touches late
	n := vhostNode(t, config.VhostServer)
	n.runPoll()
	vm1, vm2 := n.config.Ports[0], n.config.Ports[1]
	soak := soakTime(t)
	receiver := startVMFor(t, soak, vm2, nil)
	receiver.awaitReady()
	sender := startVMFor(t, soak, vm1, way(vm1, vm2))
	n.awaitLinked()
	n.awaitMore("vm2")
	time.Sleep(soak / 8) // rings have gone round, buffers have all been used
	pid, begun := n.pollPID(), ask[control.Stats](n, "stats").Received.Packets
	before := memoryOf(t, pid)
	for range 7 {
		time.Sleep(soak / 8)
		ask[[]control.Vif](n, "vif") // somebody looks
		t.Logf("%d KiB, %d packets", memoryOf(t, pid), ask[control.Stats](n, "stats").Received.Packets-begun)
	}
	if after := memoryOf(t, pid); after > before+mayGrow {
		t.Errorf("the process had %d KiB, and has %d", before, after)
	}
	if again := n.pollPID(); again != pid {
		t.Errorf("the process %d has ended, and %d is in its place", pid, again)
	}
	sender.end()
	n.awaitQuiet()
	s := n.addsUp()
	onlyFull(t, s)
	if received, _ := receiver.end(); received != s.Forwarded.Packets {
		t.Errorf("%d packets were forwarded, and %d arrived", s.Forwarded.Packets, received)
	}
}

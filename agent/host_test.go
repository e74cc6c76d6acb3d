//go:build linux

package agent

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"windtunnel/testbed"
	"windtunnel/testbed/netns"
)

// lendingHost gives the calling goroutine's thread, which it never gives back, the network namespace of a host with
// an interface for data, and the agent's side of that. It returns what runs ip there.
func lendingHost(t *testing.T) (h *hostNIC, ip func(args string)) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: network namespaces are made")
	}
	runtime.LockOSThread() // not unlocked: the thread ends with the test, and its namespaces with it
	if err := unix.Unshare(unix.CLONE_NEWNET | unix.CLONE_NEWNS); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("sysfs", "/sys", "sysfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	ip = func(args string) {
		t.Helper()
		if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
			t.Fatalf("ip %s: %v: %s", args, err, out)
		}
	}
	ip("link add data mtu 1400 type veth peer name far")
	ip("address add 10.0.0.2/24 dev data")
	ip("link set far up")
	ip("link set data up")
	config := NodeConfig{Name: "b", Dir: filepath.Join(t.TempDir(), "b"), Way: &netns.Way{Address: netip.MustParseAddr("10.0.0.2")}}
	notes, err := openJournal(config.Dir)
	if err != nil {
		t.Fatal(err)
	}
	backend := netns.New(config.Name, []int{0}, config.Dir)
	h = findNIC(config, backend, notes)
	if h.refused != nil {
		t.Fatal(h.refused)
	}
	t.Cleanup(func() { // before the folder goes, which has the pin
		if err := backend.Close(); err != nil {
			t.Error(err)
		}
	})
	return h, ip
}

func mustDo(t *testing.T, steps ...func() error) {
	t.Helper()
	for i, step := range steps {
		if err := step(); err != nil {
			t.Fatalf("step %d: %v", i+1, err)
		}
	}
}

// mtu is the interface's, as the host has it.
func mtu(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("/sys/class/net/data/mtu")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// TestAnOwnersChangesStay: the interface goes to and fro, and is put back to how it was the last time, not the first.
func TestAnOwnersChangesStay(t *testing.T) {
	h, ip := lendingHost(t)
	journal := filepath.Join(filepath.Dir(h.nic.Pin), journalName)
	mustDo(t, h.take, h.leave)
	ip("link set data mtu 1300")
	mustDo(t, h.take, h.leave)
	if got := mtu(t); got != "1300" {
		t.Errorf("given back with the MTU %s", got)
	}
	ip("link set data mtu 1200")
	mustDo(t, h.take, h.leave)
	ip("link set data mtu 1250")
	if said, _, err := undoJournal(journal); err != nil || len(said) > 0 || mtu(t) != "1250" {
		t.Errorf("%q, %v: it was the host's, with its MTU %s", said, err, mtu(t))
	}
	mustDo(t, h.take)
	h.backend = nil // killed
	if said, _, err := undoJournal(journal); err != nil || !slices.Contains(said, "put the interface data back") || mtu(t) != "1250" {
		t.Errorf("%q, %v: the MTU is %s", said, err, mtu(t))
	}
}

// TestAnInterfaceThatHasChangedIsNotTaken: cells were laid out by its address.
func TestAnInterfaceThatHasChangedIsNotTaken(t *testing.T) {
	h, ip := lendingHost(t)
	mustDo(t, h.take, h.leave)
	ip("address add 10.0.0.2/16 dev data")
	ip("address del 10.0.0.2/24 dev data")
	if err := h.take(); err == nil || !strings.Contains(err.Error(), "10.0.0.2/16 on data by now, and was 10.0.0.2/24") {
		t.Errorf("%v", err)
	}
	ip("address del 10.0.0.2/16 dev data")
	if err := h.take(); err == nil || !strings.Contains(err.Error(), "not as it was when the run began: no interface has the address") {
		t.Errorf("%v", err)
	}
	ip("address add 10.0.0.2/24 dev data")
	mustDo(t, h.take, h.leave)
}

// TestAnInterfaceThatIsNotGivenBackIsTakenStill: what is in the way goes, and then it is.
func TestAnInterfaceThatIsNotGivenBackIsTakenStill(t *testing.T) {
	h, _ := lendingHost(t)
	mustDo(t, h.take)
	g := testbed.Graph{Cell: "A", Nodes: []testbed.Node{{Name: "b", CPUs: []int{0}, NIC: &testbed.NIC{Device: "data", Address: "10.0.0.2/24"}}}}
	if _, err := h.backend.Place(context.Background(), g); err != nil {
		t.Fatal(err)
	}
	if err := h.leave(); err == nil || !strings.Contains(err.Error(), "cell A stands with the interface") {
		t.Errorf("%v", err)
	}
	mustDo(t, h.take, func() error { return h.backend.Restore(context.Background(), "A") }, h.leave, h.take, h.leave)
	if mtu(t) != "1400" {
		t.Error(mtu(t))
	}
}

// TestAHostsInterfaceComesBeforeItsEngine, which may be slow to end, or never answer.
func TestAHostsInterfaceComesBeforeItsEngine(t *testing.T) {
	h, _ := lendingHost(t)
	brought := filepath.Join(t.TempDir(), "brought", "0123456789abcdef")
	if err := os.MkdirAll(brought, 0o700); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(t.TempDir(), "s")
	engine, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	returned := make(chan bool, 1)
	go func() {
		defer close(returned)
		if c, err := engine.Accept(); err == nil {
			_, err := os.Stat(h.nic.Pin)
			returned <- errors.Is(err, os.ErrNotExist)
			c.Close()
		}
	}()
	mustDo(t, h.take,
		func() error { return h.journal.write(entry{Copied: brought}) },
		func() error { return h.journal.write(entry{Engine: Engine{Socket: socket, Lease: "L"}}) })
	h.backend = nil // killed
	said, _, err := undoJournal(filepath.Join(filepath.Dir(h.nic.Pin), journalName))
	engine.Close()
	if err == nil || !slices.Contains(said, "put the interface data back") || !<-returned {
		t.Errorf("%q, %v", said, err)
	}
	if _, err := os.Stat(brought); err != nil {
		t.Errorf("what could clean the rest is gone: %v", err)
	}
}

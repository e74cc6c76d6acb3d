//go:build linux

package agent

import (
	"context"
	"errors"
	"fmt"
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

// lentNICs are a host's interfaces for data in a test, taken for cells with one link, or with all.
type lentNICs struct {
	*hostNICs
	pin string // of the first one
}

func (h *lentNICs) take() error { return h.hostNICs.take(testbed.Node{NIC: &h.all[0].nic.Data}) }
func (h *lentNICs) takeAll() error {
	return h.hostNICs.take(testbed.Node{NIC: &h.all[0].nic.Data, Members: []testbed.NIC{h.all[1].nic.Data}})
}

// lendingHost gives the calling goroutine's thread, which it never gives back, the network namespace of a host with
// an interface for data, and the agent's side of that. It returns what runs ip there.
func lendingHost(t *testing.T) (h *lentNICs, ip func(args string)) {
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
	config := NodeConfig{Name: "b", Dir: filepath.Join(t.TempDir(), "b")}
	for i, device := range []string{"data", "data2"} {
		ip("link add " + device + " mtu 1400 type veth peer name far-" + device)
		address := fmt.Sprintf("10.%d.0.2", i)
		ip("address add " + address + "/24 dev " + device)
		ip("link set far-" + device + " up")
		ip("link set " + device + " up")
		config.Ways = append(config.Ways, netns.Way{Address: netip.MustParseAddr(address)})
	}
	notes, err := openJournal(config.Dir)
	if err != nil {
		t.Fatal(err)
	}
	backend := netns.New(config.Name, []int{0}, config.Dir)
	nics := findNICs(config, backend, notes)
	if nics.refused != nil {
		t.Fatal(nics.refused)
	}
	h = &lentNICs{nics, nics.all[0].nic.Pin}
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
	journal := filepath.Join(filepath.Dir(h.pin), journalName)
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

// TestFurtherInterfaces are taken when a cell uses them, stay until all are given back, and are put back for the dead like the first one.
func TestFurtherInterfaces(t *testing.T) {
	h, ip := lendingHost(t)
	taken := func() (all []string) {
		for _, device := range []string{"data", "data2"} {
			if h.backend.Has(device) {
				all = append(all, device)
			}
		}
		return all
	}
	for i, step := range []struct {
		do   func() error
		want string
	}{{h.take, "data"}, {h.takeAll, "data data2"}, {h.take, "data data2"}, {h.leave, ""}, {h.takeAll, "data data2"}} {
		if err := step.do(); err != nil || strings.Join(taken(), " ") != step.want {
			t.Errorf("step %d: %v, %v", i, taken(), err)
		}
	}
	mustDo(t, h.leave)
	ip("address add 10.1.0.2/16 dev data2")
	ip("address del 10.1.0.2/24 dev data2")
	if err := h.takeAll(); err == nil || !strings.Contains(err.Error(), "10.1.0.2/16 on data2 by now") || strings.Join(taken(), " ") != "data" {
		t.Errorf("%v, and taken are %v", err, taken())
	}
	ip("address del 10.1.0.2/16 dev data2")
	ip("address add 10.1.0.2/24 dev data2")
	mustDo(t, h.takeAll)
	h.backend = nil // killed
	said, _, err := undoJournal(filepath.Join(filepath.Dir(h.pin), journalName))
	if err != nil || !slices.Contains(said, "put the interface data back") || !slices.Contains(said, "put the interface data2 back") {
		t.Errorf("%q, %v", said, err)
	}
	ip("link show far-data2") // and with it its other end
	ip("link show data2")
	if pins, _ := filepath.Glob(filepath.Join(filepath.Dir(h.pin), "netns*")); len(pins) > 0 {
		t.Errorf("%v are left", pins)
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
			_, err := os.Stat(h.pin)
			returned <- errors.Is(err, os.ErrNotExist)
			c.Close()
		}
	}()
	mustDo(t, h.take,
		func() error { return h.journal.write(entry{Copied: brought}) },
		func() error { return h.journal.write(entry{Engine: Engine{Socket: socket, Lease: "L"}}) })
	h.backend = nil // killed
	said, _, err := undoJournal(filepath.Join(filepath.Dir(h.pin), journalName))
	engine.Close()
	if err == nil || !slices.Contains(said, "put the interface data back") || !<-returned {
		t.Errorf("%q, %v", said, err)
	}
	if _, err := os.Stat(brought); err != nil {
		t.Errorf("what could clean the rest is gone: %v", err)
	}
}

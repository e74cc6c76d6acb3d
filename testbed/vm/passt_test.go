//go:build linux

package vm

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"windtunnel/testbed"
)

// behindPasst is a machine whose second interface is behind passt.
func behindPasst() (testbed.VM, testbed.Graph) {
	tap := testbed.Interface{Place: "one", Device: "eth0", MAC: "02:00:00:00:00:01", MTU: 1500}
	inside := testbed.Interface{Place: "one-1", Device: "eth1", MAC: "02:00:00:00:00:02", MTU: 1400, Addresses: []string{"10.0.2.15/24"}}
	v := testbed.VM{Name: "one", Node: "a", CPUs: 1, MemoryBytes: 256 << 20, NICs: []testbed.VNIC{{Place: "one"}, {
		Place: "one-1", Inside: &inside,
		User: &testbed.UserNetwork{By: testbed.UserByPasst, Subnet: "10.0.2.0/24", Gateway: "10.0.2.2", Device: "nic0", Forward: []int{5201, 5202}},
	}}}
	return v, testbed.Graph{Links: []testbed.Link{{Ends: [2]testbed.Interface{tap, {Place: "a", Device: "v-one", MTU: 1500}}}}}
}

func TestPasstArguments(t *testing.T) {
	v, g := behindPasst()
	inside, _ := g.Attached(v.NICs[1])
	words, err := passtArguments(*v.NICs[1].User, inside, 3)
	line := strings.Join(words, " ")
	for _, want := range []string{"--foreground", "--interface nic0", "--address 10.0.2.15 --netmask 24 --gateway 10.0.2.2", "--mtu 1400",
		"--tcp-ports 5201,5202 --udp-ports 5201,5202", "--fd 3"} {
		if err != nil || !strings.Contains(line, want) {
			t.Errorf("%q is not in %q (%v)", want, line, err)
		}
	}
	none := *v.NICs[1].User
	none.Forward = nil
	if words, err = passtArguments(none, inside, 3); err != nil || !strings.Contains(strings.Join(words, " "), "--tcp-ports none --udp-ports none") {
		t.Errorf("without ports: %q (%v)", words, err)
	}
	inside.Addresses = nil
	if _, err = passtArguments(none, inside, 3); err == nil {
		t.Error("a guest without an address is no error")
	}
	l := launch{vm: v, graph: g, accelerator: Emulated, socket: func(text string) string { return text }}
	if line := strings.Join(l.arguments(), " "); !strings.Contains(line, "-netdev stream,id=net1,server=off,addr.type=fd,addr.str=3 -device virtio-net-pci,netdev=net1,mac=02:00:00:00:00:02") {
		t.Errorf("QEMU is not given the socket: %s", line)
	}
}

// besides runs a script in the place of passt, and returns it with QEMU's end of its sockets.
func besides(t *testing.T, script string) (*passt, *os.File, error) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "passt")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	v, _ := behindPasst()
	return startPasst(Config{
		Dir: t.TempDir(), Find: func(string) (string, error) { return program, nil }, Start: (*exec.Cmd).Start,
		Note: func(int, string) error { return nil }, Console: func() Console { return &said{} },
	}, v, *v.NICs[1].User, *v.NICs[1].Inside)
}

// It has one end of the sockets, whose other end is QEMU's alone, so that it learns when QEMU is gone.
func TestPasstEndsWithItsSocket(t *testing.T) {
	p, socket, err := besides(t, "echo hello >&3; cat <&3; echo gone >&2; exit 7")
	if err != nil {
		t.Fatal(err)
	}
	hello := make([]byte, 6)
	if _, err := io.ReadFull(socket, hello); err != nil || string(hello) != "hello\n" || p.alive() != nil {
		t.Fatalf("%q, %v, %v", hello, err, p.alive())
	}
	if err := socket.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.ended:
	case <-time.After(10 * time.Second):
		t.Fatal("it outlives its socket")
	}
	if err := p.alive(); err == nil || !strings.Contains(err.Error(), "exit status 7") || !strings.Contains(err.Error(), "gone") {
		t.Errorf("its end is told as %v", err)
	}
	if err := p.close(); err != nil {
		t.Error(err)
	}
}

func TestPasstIsMissing(t *testing.T) {
	v, _ := behindPasst()
	_, _, err := startPasst(Config{Find: func(string) (string, error) { return "", errors.New("it is not there") }}, v, *v.NICs[1].User, *v.NICs[1].Inside)
	if err == nil || !strings.Contains(err.Error(), "apt-get install passt") {
		t.Errorf("no word of how to get it: %v", err)
	}
}

package vrouter_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/control"
	"windtunnel/vrouter/internal/lab"
)

const hugePages = "/sys/kernel/mm/hugepages/hugepages-2048kB/"

// pages reads one of the kernel's counts of huge pages.
func pages(t *testing.T, name string) int {
	t.Helper()
	text, err := os.ReadFile(hugePages + name)
	if err != nil {
		t.Skip("skip: needs huge pages of 2 MiB")
	}
	count, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return count
}

// reserve reserves so many more until the test ends.
func reserve(t *testing.T, more int) {
	t.Helper()
	set := func(count int) {
		if err := os.WriteFile(hugePages+"nr_hugepages", []byte(fmt.Sprint(count)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	before := pages(t, "nr_hugepages")
	set(before + more)
	t.Cleanup(func() { set(pages(t, "nr_hugepages") - more) })
	if pages(t, "nr_hugepages") != before+more {
		t.Skip("skip: needs memory for huge pages")
	}
}

// TestPollHugePages: where too few are free, the wish for them is refused, and auto does without; where there
// are enough, packets go through them, to a VM and to a switch, and a killed vRouter gives them back.
func TestPollHugePages(t *testing.T) {
	const need = 96
	a := vhostNode(t, config.VhostServer)
	if free := pages(t, "free_hugepages"); free < need {
		if text, code := a.second("--poll-memory", "huge"); code != 1 || !strings.Contains(text, fmt.Sprintf("and %d are needed; `echo", need)) {
			t.Errorf("without huge pages: exit code %d, %s", code, text)
		}
		a.runPoll("--poll-memory", "auto")
		if s := ask[control.Status](a, "status").Poll; s.Memory != "ordinary" {
			t.Errorf("without huge pages, the memory is %q", s.Memory)
		}
		a.end()
	}
	reserve(t, need)
	free := pages(t, "free_hugepages")
	vm1, vm2 := a.config.Ports[0], a.config.Ports[1]
	a.config.Ports[1].Vhost, a.config.Ports[1].VhostMode, a.config.Ports[1].VirtioUser = "", "", filepath.Join(a.folder, "switch")
	a.runPoll("--poll-memory", "huge")
	if s := ask[control.Status](a, "status").Poll; s.Memory != "huge" || pages(t, "free_hugepages") > free-need {
		t.Errorf("the memory is %q, and %d of %d pages are free", s.Memory, pages(t, "free_hugepages"), free)
	}
	b := vhostNode(t, config.VhostServer) // the switch
	b.config.Ports[0].Vhost = a.config.Ports[1].VirtioUser
	b.config.Ports[0].Address, b.config.Ports[0].MAC = vm1.Address, vm1.MAC
	b.config.Ports[1].Vhost = filepath.Join(b.folder, "vm")
	b.runPoll()
	a.awaitUnlinked("vm1")
	startVM(t, vm1, way(vm1, vm2))
	a.awaitMore("vm2")
	lab.Await(t, "packets come to the switch", func() bool { return b.vif("vm1").Rx.Packets > enough })
	pid := a.pollPID()
	lab.Stop(t, pid) // so that it cannot clear up
	a.signal(syscall.SIGKILL)
	a.Must("killing the process", unix.Kill(pid, unix.SIGKILL))
	b.end() // it has the memory, too
	lab.Await(t, "the pages are free", func() bool { return pages(t, "free_hugepages") == free })
}

func (n *node) awaitUnlinked(name string) {
	n.t.Helper()
	lab.Await(n.t, "only "+name+" is not there", func() bool { return strings.Join(n.unlinked(), " ") == name })
}

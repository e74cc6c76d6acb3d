package vrouter_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/control"
	"windtunnel/vrouter/internal/lab"
	"windtunnel/vrouter/kernel"
)

// held are the kernel's numbers of the BPF objects that a process holds: "prog_id" and so on.
func (n *node) held() map[string][]uint32 {
	n.t.Helper()
	found := make(map[string][]uint32)
	folder := filepath.Join("/proc", strconv.Itoa(n.process.Process.Pid), "fdinfo")
	files, err := os.ReadDir(folder)
	n.Must("reading what the vRouter holds", err)
	for _, file := range files {
		text, _ := os.ReadFile(filepath.Join(folder, file.Name()))
		for _, line := range strings.Split(string(text), "\n") {
			name, value, ok := strings.Cut(line, ":")
			id, err := strconv.ParseUint(strings.TrimSpace(value), 10, 32)
			if ok && err == nil && strings.HasSuffix(name, "_id") {
				found[name] = append(found[name], uint32(id))
			}
		}
	}
	return found
}

// alive counts those that are still there.
func alive(held map[string][]uint32) int {
	count := 0
	for _, id := range held["prog_id"] {
		if p, err := ebpf.NewProgramFromID(ebpf.ProgramID(id)); err == nil {
			p.Close()
			count++
		}
	}
	for _, id := range held["map_id"] {
		if m, err := ebpf.NewMapFromID(ebpf.MapID(id)); err == nil {
			m.Close()
			count++
		}
	}
	for _, id := range held["link_id"] {
		if l, err := link.NewFromID(link.ID(id)); err == nil {
			l.Close()
			count++
		}
	}
	return count
}

// TestLease: however a leased vRouter ends, nothing of it stays in the kernel.
func TestLease(t *testing.T) {
	ends := map[string]func(*node){
		"the pipe closes": func(n *node) { n.end() },
		"SIGTERM":         func(n *node) { n.signal(syscall.SIGTERM) },
		"SIGINT":          func(n *node) { n.signal(syscall.SIGINT) },
		"SIGKILL":         func(n *node) { n.signal(syscall.SIGKILL) },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			if name == "SIGKILL" && !kernel.HaveTCX() {
				t.Skip("skip: needs tcx (Linux 6.6): a clsact filter stays until the next vRouter starts")
			}
			b := newBed(t, config.MPLSoUDP)
			b.a.run("--lease")
			held := b.a.held()
			if len(held["prog_id"]) < 2 || len(held["map_id"]) < 9 {
				t.Fatalf("a running vRouter holds %v", held)
			}
			end(b.a)
			lab.Await(t, "all BPF objects are gone", func() bool { return alive(held) == 0 })
			if _, err := os.Stat(b.a.socket()); name != "SIGKILL" && !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the socket is still there: %v", err)
			}
			b.a.run("--lease") // and the place is free again
			b.a.end()
		})
	}
}

// privateBPF gives nodes a mount namespace with a BPF file system of its own.
func (n *node) privateBPF(others ...*node) {
	n.t.Helper()
	holder := exec.Command("unshare", "--mount", "--propagation", "private", "sh", "-c", "mount -t bpf bpf /sys/fs/bpf && echo up && exec cat")
	stdin, err := holder.StdinPipe()
	n.Must("making a pipe", err)
	stdout, err := holder.StdoutPipe()
	n.Must("making a pipe", err)
	if err := holder.Start(); err != nil {
		n.t.Skipf("skip: needs unshare and mount: %v", err)
	}
	n.t.Cleanup(func() {
		stdin.Close()
		_ = holder.Wait()
	})
	if _, err := stdout.Read(make([]byte, 3)); err != nil {
		n.t.Skipf("skip: needs a mount namespace with bpffs: %v", err)
	}
	mounts := fmt.Sprintf("/proc/%d/ns/mnt", holder.Process.Pid)
	for _, n := range append(others, n) {
		n.start = func(c *exec.Cmd) {
			c.Args = append([]string{"nsenter", "--mount=" + mounts, c.Path}, c.Args[1:]...)
			c.Path, c.Err = exec.LookPath("nsenter")
			n.Start(c)
		}
	}
}

// TestAdopt: without a lease forwarding goes on when the process is killed; the next one takes the
// tables and counters over; delete removes all of it.
func TestAdopt(t *testing.T) {
	b := newBed(t, config.MPLSoUDP)
	b.a.privateBPF()
	b.a.config.Name = fmt.Sprintf("adopt-%d", unix.Getpid())
	b.run2("", "--lease")
	if err := ping(b.a1, b.b1.address, 56); err != nil {
		t.Fatal(err)
	}
	held, before := b.a.held(), ask[control.Stats](b.a, "stats")
	b.a.signal(syscall.SIGKILL)
	if err := ping(b.a1, b.b1.address, 56); err != nil {
		t.Errorf("with no process: %v", err)
	}
	b.a.config.Routes = append(b.a.config.Routes, b.a.config.Routes[0])
	b.a.config.Routes[1].Prefix = b.b.config.Networks[0].Subnet // now the rest of the subnet, too
	b.a.run()
	if after := ask[control.Stats](b.a, "stats"); after.Received.Packets <= before.Received.Packets {
		t.Errorf("the counters began anew: %+v after %+v", after.Received, before.Received)
	}
	if rt := ask[[]control.Route](b.a, "rt"); len(rt) != 5 {
		t.Errorf("routes after the restart: %+v", rt)
	}
	if err := ping(b.a1, b.b1.address, 56); err != nil {
		t.Errorf("after the restart: %v", err)
	}
	b.a.signal(syscall.SIGTERM)
	b.a.deletes()
	lab.Await(t, "all BPF objects are gone", func() bool { return alive(held) == 0 })
}

// run2 starts both nodes with flags of their own.
func (b *bed) run2(a, z string) {
	b.launch(strings.Fields(a), strings.Fields(z))
}

// deletes removes what a process without a lease has left.
func (n *node) deletes() {
	n.t.Helper()
	remove := vrouterCommand(n.t, "delete", "--name", n.config.Name)
	n.start(remove)
	if err := remove.Wait(); err != nil {
		n.t.Errorf("delete: %v", err)
	}
}

func (n *node) awaitNoXDP(interfaces ...string) {
	n.t.Helper()
	for _, name := range interfaces {
		lab.Await(n.t, "XDP is off at "+name, func() bool {
			x := n.Link(name).Attrs().Xdp
			return x == nil || !x.Attached
		})
	}
}

// TestNoPinWithoutBPFFS: where nothing can be kept, the error says so and what to do.
func TestNoPinWithoutBPFFS(t *testing.T) {
	b := newBed(t, config.MPLSoUDP)
	var at unix.Statfs_t
	if unix.Statfs("/sys/fs/bpf", &at) == nil && at.Type == unix.BPF_FS_MAGIC {
		t.Skip("skip: this machine has a BPF file system at /sys/fs/bpf")
	}
	text, err := json.Marshal(b.a.config)
	b.a.Must("writing the configuration", err)
	file := filepath.Join(b.a.folder, "config.json")
	writeFile(t, file, text)
	run := vrouterCommand(t, "run", "--config", file, "--socket", b.a.socket())
	run.Stderr = &b.a.stderr
	b.a.Start(run)
	err = run.Wait()
	if run.ProcessState.ExitCode() != 1 || !strings.Contains(b.a.stderr.String(), "mount -t bpf bpf /sys/fs/bpf") {
		t.Errorf("%v: %s", err, b.a.stderr.String())
	}
}

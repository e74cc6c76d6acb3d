package vrouter_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/control"
	"windtunnel/vrouter/internal/lab"
)

// double is a second vRouter on a node's interfaces, under another name.
func (n *node) double(name string) *node {
	other := &node{Namespace: n.Namespace, t: n.t, config: n.config, folder: n.t.TempDir()}
	other.config.Name, other.start = name, n.start
	return other
}

// refused starts a vRouter that must not come up, and looks for words in what it says.
func (n *node) refused(code int, words []string, flags ...string) {
	n.t.Helper()
	text, err := json.Marshal(n.config)
	n.Must("writing the configuration", err)
	file := filepath.Join(n.folder, "config.json")
	writeFile(n.t, file, text)
	n.command(code, words, append([]string{"run", "--config", file, "--socket", n.socket()}, flags...)...)
}

// command runs one that must end with an exit code, and say words.
func (n *node) command(code int, words []string, args ...string) {
	n.t.Helper()
	var said strings.Builder
	run := vrouterCommand(n.t, args...)
	run.Stdout, run.Stderr = &said, &said
	stdin, err := run.StdinPipe() // a lease's
	n.Must("making a pipe", err)
	defer stdin.Close()
	n.start(run)
	_ = run.Wait()
	if got := run.ProcessState.ExitCode(); got != code {
		n.t.Fatalf("%v: exit %d, not %d: %s", args, got, code, said.String())
	}
	for _, word := range words {
		if !strings.Contains(said.String(), word) {
			n.t.Errorf("%v does not say %q: %s", args, word, said.String())
		}
	}
}

// filters are the names of all BPF filters of the node's namespace.
func (n *node) filters() (names []string) {
	n.t.Helper()
	n.Do(func() error {
		links, err := netlink.LinkList()
		if err != nil {
			return err
		}
		for _, l := range links {
			filters, err := netlink.FilterList(l, netlink.HANDLE_MIN_INGRESS)
			if err != nil {
				return err
			}
			for _, f := range filters {
				if p, ok := f.(*netlink.BpfFilter); ok {
					names = append(names, l.Attrs().Name+" "+p.Name)
				}
			}
		}
		return nil
	})
	return names
}

// ownName is one that no other test's pins have.
func ownName(what string) string { return fmt.Sprintf("%s-%d", what, unix.Getpid()) }

// TestOwner: who has an interface keeps it. Another vRouter is refused with nothing changed and told whom to
// ask, whichever way either of them attaches, until that one has ended, or is killed, or deleted.
func TestOwner(t *testing.T) {
	for _, first := range []string{"", "--clsact"} {
		for _, second := range []string{"", "--clsact"} {
			t.Run(fmt.Sprintf("leased%s, then%s", first, second), func(t *testing.T) {
				ownerLeased(t, newBed(t, config.MPLSoUDP), strings.Fields(first+" --lease"), strings.Fields(second))
			})
			t.Run(fmt.Sprintf("pinned%s, then%s", first, second), func(t *testing.T) {
				ownerPinned(t, newBed(t, config.MPLSoUDP), strings.Fields(first), strings.Fields(second))
			})
		}
	}
}

func ownerLeased(t *testing.T, b *bed, first, second []string) {
	b.a.privateBPF()
	other := b.a.double(ownName("other"))
	b.run(first...)
	said := []string{"test-a", "runs", "end it first"}
	other.refused(2, said, append(second, "--lease")...)
	other.refused(2, said, second...)
	b.pings("beside one that was refused")
	b.a.config.Ports = b.a.config.Ports[:1] // the second port becomes free, and the other may have that
	b.a.Must("applying", b.a.apply())
	only := b.a.double(ownName("only"))
	only.config.Ports = only.config.Ports[1:]
	only.refused(2, append(said, "wire0"), append(second, "--lease")...)
	b.a.signal(syscall.SIGKILL)
	other.run(append(second, "--lease")...)
	b.pings("after the first was killed")
	other.end()
	if left := b.a.filters(); len(left) != 0 {
		t.Errorf("filters are left: %v", left)
	}
	b.b.end()
}

func ownerPinned(t *testing.T, b *bed, first, second []string) {
	b.a.privateBPF()
	b.a.config.Name = ownName("first")
	other := b.a.double(ownName("other"))
	b.run2(strings.Join(first, " "), "--lease")
	said := []string{b.a.config.Name, "vrouter delete --name " + b.a.config.Name}
	other.refused(2, said, append(second, "--lease")...)
	b.a.signal(syscall.SIGKILL)
	for _, lease := range [][]string{nil, {"--lease"}} {
		other.refused(2, said, append(second, lease...)...)
	}
	b.pings("with no process, beside one that was refused")
	b.a.run(second...) // the next of the same name takes it over, whichever way it attaches
	b.pings("after it was taken over")
	b.a.signal(syscall.SIGTERM)
	b.a.deletes()
	if left := b.a.filters(); len(left) != 0 {
		t.Errorf("filters are left: %v", left)
	}
	other.run(second...)
	b.pings("after the first was deleted")
	other.signal(syscall.SIGTERM)
	other.deletes()
	b.b.end()
}

func (b *bed) pings(when string) {
	b.a.t.Helper()
	for _, to := range []*container{b.a2, b.b1} {
		if err := ping(b.a1, to.address, 56); err != nil {
			b.a.t.Errorf("%s: ping to %s: %v", when, to.address, err)
		}
	}
}

// TestOwnNamespace: a name is a namespace's. In another one its tables would name other interfaces, so there
// it can neither be run nor deleted, until nothing uses them any more.
func TestOwnNamespace(t *testing.T) {
	for _, way := range []string{"", "--clsact"} {
		t.Run("attached"+way, func(t *testing.T) {
			b := newBed(t, config.MPLSoUDP)
			b.a.privateBPF(b.b)
			b.a.config.Name = ownName("one")
			b.b.config.Name = b.a.config.Name
			local := func(when string) {
				t.Helper()
				if err := ping(b.a1, b.a2.address, 56); err != nil {
					t.Errorf("%s: %v", when, err)
				}
			}
			b.a.run(strings.Fields(way)...)
			b.a.signal(syscall.SIGTERM)
			said := []string{b.a.config.Name, "another network namespace", "delete"}
			b.b.refused(1, said, strings.Fields(way)...)
			b.b.command(1, said, "delete", "--name", b.a.config.Name)
			local("after its name was refused elsewhere")
			b.a.run(strings.Fields(way)...)
			local("after the restart")
			if adopted := b.a.ready["adopted"]; adopted != true {
				t.Errorf("it adopted its tables: %v", adopted)
			}
			b.a.signal(syscall.SIGTERM)
			for _, name := range []string{"wire0", "v-a1", "v-a2"} { // as when the namespace goes
				b.a.Delete(name)
			}
			lab.Veth(b.a.Namespace, "wire0", b.b.Namespace, "wire0", wireMTU, "")
			b.b.Address("wire0", "10.0.0.2/24")
			b.b.run(strings.Fields(way)...)
			b.b.signal(syscall.SIGTERM)
			b.b.deletes()
			if left := b.b.filters(); len(left) != 0 {
				t.Errorf("filters are left: %v", left)
			}
		})
	}
}

// TestFiltersLeft: no filter stays at an interface that the vRouter has let go of, whether it ran then or not,
// and none after it was deleted.
func TestFiltersLeft(t *testing.T) {
	b := newBed(t, config.MPLSoUDP)
	b.a.privateBPF()
	b.a.config.Name = ownName("left")
	all := b.a.config.Ports
	b.a.run("--clsact")
	if now := b.a.filters(); len(now) != 3 {
		t.Errorf("filters: %v", now)
	}
	b.a.signal(syscall.SIGTERM)
	b.a.config.Ports = all[:1]
	b.a.run("--clsact")
	if now := b.a.filters(); len(now) != 2 || strings.Contains(fmt.Sprint(now), "v-a2") {
		t.Errorf("without a2: %v", now)
	}
	b.a.config.Ports = all
	b.a.Must("applying", b.a.apply())
	b.a.config.Ports = all[1:]
	b.a.Must("applying", b.a.apply())
	if now := b.a.filters(); len(now) != 2 || strings.Contains(fmt.Sprint(now), "v-a1") {
		t.Errorf("without a1: %v", now)
	}
	b.a.signal(syscall.SIGKILL)
	b.a.deletes()
	if now := b.a.filters(); len(now) != 0 {
		t.Errorf("after delete: %v", now)
	}
	b.a.run("--clsact", "--lease")
	b.a.signal(syscall.SIGKILL) // its filters stay until the next one starts, wherever that attaches
	next := b.a.double(ownName("next"))
	next.config.Ports = all[:1]
	next.run("--clsact", "--lease")
	if now := b.a.filters(); len(now) != 2 {
		t.Errorf("after a lease was killed: %v", now)
	}
	if status := ask[control.Status](next, "status"); status.Problem != "" {
		t.Errorf("status: %s", status.Problem)
	}
	next.end()
}

// TestForeignFilter: a filter of another program, at the place where ours would be, is not replaced.
func TestForeignFilter(t *testing.T) {
	b := newBed(t, config.MPLSoUDP)
	b.a.foreignFilter("v-a2")
	b.a.refused(1, []string{"another program", "tc filter show dev v-a2 ingress"}, "--clsact", "--lease")
	if left := b.a.filters(); len(left) != 1 || left[0] != "v-a2 foreign" {
		t.Errorf("filters: %v", left)
	}
}

// foreignFilter puts a program of somebody else's at the first place of an interface's ingress.
func (n *node) foreignFilter(device string) {
	n.t.Helper()
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type: ebpf.SchedCLS, License: "Dual BSD/GPL", Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()},
	})
	n.Must("loading a program", err)
	defer program.Close()
	index := n.Link(device).Attrs().Index
	n.Do(func() error {
		qdisc := netlink.QdiscAttrs{LinkIndex: index, Handle: netlink.MakeHandle(0xffff, 0), Parent: netlink.HANDLE_CLSACT}
		if err := netlink.QdiscAdd(&netlink.GenericQdisc{QdiscType: "clsact", QdiscAttrs: qdisc}); err != nil {
			return err
		}
		return netlink.FilterAdd(&netlink.BpfFilter{
			FilterAttrs: netlink.FilterAttrs{LinkIndex: index, Parent: netlink.HANDLE_MIN_INGRESS, Handle: 1, Protocol: unix.ETH_P_ALL, Priority: 1},
			Fd:          program.FD(), Name: "foreign", DirectAction: true,
		})
	})
}

package netns

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"windtunnel/result"
	"windtunnel/testbed"
)

// needBonding skips where the kernel has no bonds. Elsewhere it may have had to load them, which leaves no device behind.
func needBonding(t *testing.T) {
	t.Helper()
	needRoot(t)
	before := interfaces(t)
	stack, err := trialStack()
	if err != nil {
		t.Fatal(err)
	}
	err = stack.Do(func() error { return tryBonding(stack) })
	if err := errors.Join(stack.Close(), os.RemoveAll(stack.sysfs)); err != nil {
		t.Error(err)
	}
	if err != nil {
		t.Skipf("not measured here: %v (`make bonding` has a guest that can)", err)
	}
	if after := interfaces(t); !slices.Equal(before, after) {
		t.Errorf("interfaces before %v, after %v", before, after)
	}
}

// TestBondingByFiles: what a kernel has is known without making anything.
func TestBondingByFiles(t *testing.T) {
	for name, c := range map[string]struct{ file, text, says string }{
		"loaded":    {"sys/module/bonding/refcnt", "0\n", ""},
		"built in":  {"lib/modules/6.1.0/modules.builtin", "kernel/drivers/net/dummy.ko\nkernel/drivers/net/bonding/bonding.ko\n", ""},
		"a module":  {"lib/modules/6.1.0/modules.dep", "kernel/drivers/net/bonding/bonding.ko.xz: kernel/net/tls/tls.ko.xz\n", ""},
		"neither":   {"lib/modules/6.1.0/modules.dep", "kernel/drivers/net/dummy.ko:\n", "neither it nor its modules have them"},
		"no module": {"lib/modules/6.1.1/modules.dep", "kernel/drivers/net/bonding/bonding.ko:\n", "there are no modules of its in"},
	} {
		root := t.TempDir()
		file := filepath.Join(root, c.file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(c.text), 0o600)); err != nil {
			t.Fatal(err)
		}
		if why := noBonding(root, "6.1.0"); (why == "") != (c.says == "") || !strings.Contains(why, c.says) {
			t.Errorf("%s: %q", name, why)
		}
	}
}

func interfaces(t *testing.T) (names []string) {
	t.Helper()
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range all {
		names = append(names, i.Name)
	}
	return names
}

// bondGraph joins two nodes by two wires, of which bonds have an end each, at the ports of bridges that have addresses.
func bondGraph() testbed.Graph {
	g := testbed.Graph{Cell: "A", Nodes: []testbed.Node{{Name: "a", CPUs: []int{0}}, {Name: "b", CPUs: []int{1}}}}
	for i, node := range []string{"a", "b"} {
		g.Bridges = append(g.Bridges, testbed.Bridge{Name: "switch-" + node, Node: node, Device: "br0", MTU: 1400, Addresses: []string{fmt.Sprintf("10.9.0.%d/24", i+1)}})
		g.Bonds = append(g.Bonds, testbed.Bond{
			Name: "team-" + node, Node: node, Device: "bond0", MTU: 1400, Bridge: "switch-" + node, MonitorMilliseconds: 100,
			Offloads: map[string]bool{testbed.GRO: false},
		})
	}
	for member := range 2 {
		end := func(place string) testbed.Interface {
			return testbed.Interface{Place: place, Device: fmt.Sprintf("nic%d", member), MTU: 1400, MAC: "02:00:00:00:00:0" + place, Bridge: "team-" + place}
		}
		g.Links = append(g.Links, testbed.Link{
			Name: fmt.Sprintf("wire-%d", member), Role: result.RoleWire, Kind: "nic", Ends: [2]testbed.Interface{end("a"), end("b")},
		})
	}
	return g
}

// TestBonds: they are as the graph says, again after a change, and what is not is told.
func TestBonds(t *testing.T) {
	needBonding(t)
	p, g := newPair(t), bondGraph()
	if err := p.apply(g); err != nil {
		t.Fatal(err)
	}
	stack := p.a.Stack("A", "a")
	bond := device(t, stack, "bond0").Index
	for _, member := range []string{"nic0", "nic1"} {
		if d := device(t, stack, member); d.MasterIndex != bond || d.HardwareAddr.String() != "02:00:00:00:00:0a" {
			t.Errorf("%s: member of %d, not %d, at %s", member, d.MasterIndex, bond, d.HardwareAddr)
		}
	}
	g.Bonds[0].MonitorMilliseconds = 50 // which makes it anew, and with it its members
	if err := p.apply(g); err != nil {
		t.Fatal(err)
	}
	wrong := bondGraph()
	wrong.Bonds[0].MTU = 1500
	err := errors.Join((&cell{name: "A", cpus: []int{0}, graph: g, stacks: p.a.cells["A"].stacks}).differences(wrong.Part("a"))...)
	if err == nil || !strings.Contains(err.Error(), "looks at carriers every 100 ms") || !strings.Contains(err.Error(), "MTU is 1400, not 1500") {
		t.Errorf("told of another bond: %v", err)
	}
}

// TestBondPassesOverAPulledCable: one node's member goes down, and the other one's bond no longer sends by its own.
func TestBondPassesOverAPulledCable(t *testing.T) {
	needBonding(t)
	p := newPair(t)
	if err := p.apply(bondGraph()); err != nil {
		t.Fatal(err)
	}
	members := func(want string) {
		t.Helper()
		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			got := membersUp(t, p.a.Stack("A", "a"))
			if got == want {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("members that are up: %q, not %q", got, want)
			}
		}
	}
	members("nic0 nic1")
	if err := p.b.Pull("A", "b", "nic0", true); err != nil {
		t.Fatal(err)
	}
	members("nic1")
	if err := p.b.Pull("A", "b", "nic0", false); err != nil {
		t.Fatal(err)
	}
	members("nic0 nic1")
}

// membersUp are the bond's, by what it says of them itself.
func membersUp(t *testing.T, stack *Stack) string {
	t.Helper()
	var up []string
	err := stack.Do(func() error {
		return withLinks(func(h *handle) error {
			all, err := h.LinkList()
			for _, l := range all {
				if member, is := l.Attrs().Slave.(*netlink.BondSlave); is && member.MiiStatus == netlink.BondLinkUp {
					up = append(up, l.Attrs().Name)
				}
			}
			return err
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(up)
	return strings.Join(up, " ")
}

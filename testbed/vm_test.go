package testbed

import (
	"slices"
	"strings"
	"testing"

	"windtunnel/result"
)

// machine is a node with a VM of two interfaces, the one at a tap, the other at a daemon's socket.
func machine() Graph {
	return Graph{
		Cell: "V", Nodes: []Node{{Name: "a", CPUs: []int{0}}},
		Bridges: []Bridge{{Name: "bridge", Node: "a", Device: "br0", MTU: 1500}},
		Links: []Link{{Name: "endpoint-one", Role: result.RoleEndpoint, Ends: [2]Interface{
			{Place: "one", Device: "eth0", MAC: "02:00:00:00:00:01", Addresses: []string{"10.0.0.1/24"}, MTU: 1500},
			{Place: "a", Device: "v-one", MTU: 1500, Bridge: "bridge"},
		}}},
		Daemons: []Daemon{{Name: "switch", Node: "a", Program: "switch"}},
		VMs: []VM{{Name: "one", Node: "a", CPUs: 2, MemoryBytes: 256 << 20, NICs: []VNIC{
			{Place: "one"},
			{Place: "one-1", Socket: "{dir:switch}/s", Inside: &Interface{Place: "one-1", Device: "eth1", MAC: "02:00:00:00:00:02", MTU: 1500}},
		}}},
	}
}

func TestAMachineStandsOnItsLinksAndDaemons(t *testing.T) {
	changed := machine()
	changed.Daemons[0].Args = []string{"--other"}
	want := []string{"remove vm one", "remove daemon switch", "make daemon switch: a: switch --other", "make vm one: a: 2 CPUs, 256 MiB of memory, 2 virtio-net"}
	if got := lines(Diff(machine(), changed)); !slices.Equal(got, want) {
		t.Errorf("got %q, not %q", got, want)
	}
	changed = machine().Clone()
	changed.VMs[0].NICs[1].Inside.MTU = 9000
	if got := lines(Diff(machine(), changed)); len(got) != 2 || machine().VMs[0].NICs[1].Inside.MTU == 9000 {
		t.Errorf("another MTU in the guest: %q", got)
	}
	g := machine()
	if node := g.NodeOf("one-1"); node != "a" || len(g.Part("b").VMs) != 0 || len(g.Stacks()) != 1 || len(g.Places()) != 3 {
		t.Errorf("%q, %v, %v", node, g.Stacks(), g.Places())
	}
	if text := Configuration(g); !strings.Contains(text, "eth1: vhost-user {dir:switch}/s, MAC 02:00:00:00:00:02") || !strings.Contains(text, "eth0: tap v-one") {
		t.Errorf("the configuration says %q", text)
	}
}

func TestImpossibleMachines(t *testing.T) {
	if err := Validate(machine()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		want   string
		change func(*VM, *Graph)
	}{
		{"0 CPUs are not possible", func(v *VM, _ *Graph) { v.CPUs = 0 }},
		{"whole MiB", func(v *VM, _ *Graph) { v.MemoryBytes = 1 << 20 }},
		{`stands on "z"`, func(v *VM, _ *Graph) { v.Node = "z" }},
		{"0 interfaces", func(v *VM, _ *Graph) { v.NICs = nil }},
		{"neither the first end of a link nor at a socket", func(v *VM, _ *Graph) { v.NICs[1].Inside = nil }},
		{"and no other one does", func(v *VM, _ *Graph) { v.NICs[1].Socket = "" }},
		{"has a user-mode network behind it", func(v *VM, _ *Graph) { v.NICs[1].User = &UserNetwork{} }},
		{`cannot have the address "x"`, func(v *VM, _ *Graph) {
			v.NICs[1].Socket, v.NICs[1].User = "", &UserNetwork{Subnet: "10.0.2.0/24", Gateway: "x"}
		}},
		{"the port 70000", func(v *VM, _ *Graph) {
			v.NICs[1].Socket, v.NICs[1].User = "", &UserNetwork{Subnet: "10.0.2.0/24", Gateway: "10.0.2.2", Forward: []int{70000}}
		}},
		{`by "vpnkit" is unknown`, func(v *VM, _ *Graph) {
			v.NICs[1].Socket, v.NICs[1].User = "", &UserNetwork{By: "vpnkit", Subnet: "10.0.2.0/24", Gateway: "10.0.2.2"}
		}},
		{"passt's interface a/nic0 is not in the graph", func(v *VM, _ *Graph) {
			v.NICs[1].Socket, v.NICs[1].User = "", &UserNetwork{By: UserByPasst, Device: "nic0", Subnet: "10.0.2.0/24", Gateway: "10.0.2.2"}
		}},
		{"is no path", func(v *VM, _ *Graph) { v.NICs[1].Socket = "s" }},
		{"by which the guest knows it", func(v *VM, _ *Graph) { v.NICs[1].Inside.MAC = "" }},
		{"the interface eth0 twice", func(v *VM, _ *Graph) { v.NICs[1].Inside.Device = "eth0" }},
		{"not done within a VM", func(_ *VM, g *Graph) { g.Links[0].Ends[0].Steering = SteerRPS }},
	} {
		g := machine()
		c.change(&g.VMs[0], &g)
		if err := Validate(g); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.want, err)
		}
	}
}

package testbed

import (
	"slices"
	"strings"
	"testing"
)

// contained is a machine with a container in it.
func contained() Graph {
	g := machine()
	g.VMs[0].Container = &GuestContainer{Subnet: "172.17.0.0/16", Gateway: "172.17.0.1", Address: "172.17.0.2", Publish: []int{5201}}
	return g
}

func TestAMachineWithAContainer(t *testing.T) {
	if err := Validate(contained()); err != nil {
		t.Fatal(err)
	}
	changed := contained().Clone()
	changed.VMs[0].Container.Publish[0] = 5202
	if got := lines(Diff(contained(), changed)); !slices.Equal(got, []string{"remove vm one", "make vm one: a: 2 CPUs, 256 MiB of memory, 2 virtio-net"}) {
		t.Errorf("another port: %q", got)
	}
	if text := Configuration(contained()); !strings.Contains(text, "of no engine: 172.17.0.2 behind the bridge br0 (172.17.0.1), whose ports [5201]") {
		t.Errorf("the configuration says %q", text)
	}
	g, machine, container := contained().VMs[0].Container.GuestGraph(1400)
	if err := Validate(g); err != nil || g.NodeOf(container) != machine || g.Links[0].Ends[0].Addresses[0] != "172.17.0.2/16" {
		t.Errorf("%v: %+v", err, g)
	}
}

func TestImpossibleContainersInMachines(t *testing.T) {
	for want, change := range map[string]func(*GuestContainer){
		`"172.17.0.1/16" of its container is not an IPv4 prefix`: func(k *GuestContainer) { k.Subnet = "172.17.0.1/16" },
		`"fd00::/64" of its container is not an IPv4 prefix`:     func(k *GuestContainer) { k.Subnet = "fd00::/64" },
		`cannot have the addresses "10.0.0.2"`:                   func(k *GuestContainer) { k.Address = "10.0.0.2" },
		`cannot have the addresses "172.17.0.1" and`:             func(k *GuestContainer) { k.Address = k.Gateway },
		"port 0 is not possible":                                 func(k *GuestContainer) { k.Publish = []int{0} },
	} {
		g := contained()
		change(g.VMs[0].Container)
		if err := Validate(g); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

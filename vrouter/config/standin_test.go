package config_test

import (
	"testing"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
)

// TestPortsWithoutInterface: the tables tell such ports apart, so that none may send in another's name; and
// what tells them stays.
func TestPortsWithoutInterface(t *testing.T) {
	c, err := config.Parse([]byte(vhostSample(`"vhost":"/run/vm1.sock"`)), "f")
	if err != nil {
		t.Fatal(err)
	}
	second := c.Ports[0]
	second.Name, second.Vhost, second.Label = "vm2", "/run/vm2.sock", second.Label+1
	second.Address, second.MAC[5] = second.Address.Next(), second.MAC[5]+1
	c.Ports = append(c.Ports, second)
	facts := config.Facts{FabricIfindex: 2, FabricMTU: 1500, Interfaces: map[string]config.Interface{
		"/run/vm1.sock": {MTU: 1500}, "/run/vm2.sock": {MTU: 1500},
	}}
	numbers := func(m config.Image) map[uint64]uint32 {
		of := make(map[uint64]uint32)
		for _, vif := range m.Vifs {
			of[vif.ID] = vif.Ifindex
		}
		return of
	}
	image, err := c.Image(facts, config.Image{})
	if err != nil {
		t.Fatal(err)
	}
	both := numbers(image)
	first := c.Ports[0].Name
	if a, b := both[config.ID(first)], both[config.ID("vm2")]; a == b || a == 0 || b == 0 {
		t.Errorf("their numbers are %d and %d", a, b)
	}
	for _, n := range image.Nexthops {
		if n.Type == core.NexthopEncap && n.Ifindex != image.Vifs[n.Vif].Ifindex {
			t.Errorf("a nexthop to vif %d has number %d", n.Vif, n.Ifindex)
		}
	}
	c.Ports = c.Ports[1:]
	alone, err := c.Image(facts, image)
	if err != nil {
		t.Fatal(err)
	}
	if now := numbers(alone)[config.ID("vm2")]; now != both[config.ID("vm2")] {
		t.Errorf("once the other is gone, its number is %d, and was %d", now, both[config.ID("vm2")])
	}
}

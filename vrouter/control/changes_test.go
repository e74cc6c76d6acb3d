package control

import (
	"slices"
	"testing"

	"windtunnel/vrouter/config"
)

// TestMissingEffect: a port without its interface is told of, one at a VM's socket has no interface to miss.
func TestMissingEffect(t *testing.T) {
	next := view{config: config.Config{Ports: []config.Port{
		{Name: "here", Interface: "v-here"}, {Name: "gone", Interface: "v-gone"}, {Name: "vm", Vhost: "/run/vm.sock"},
	}}}
	facts := config.Facts{Interfaces: map[string]config.Interface{"v-here": {Ifindex: 1}, "/run/vm.sock": {}}}
	var c Changes
	c.effects(view{}, next, facts)
	if want := []string{"port gone: its interface v-gone is not there; it is missing until it is"}; !slices.Equal(c.Effects, want) {
		t.Errorf("%q", c.Effects)
	}
}

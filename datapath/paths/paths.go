// Package paths is the registry of paths: one line each.
package paths

import (
	"windtunnel/datapath"
	"windtunnel/datapath/bridge"
	"windtunnel/datapath/existing"
	"windtunnel/datapath/hostnetwork"
	"windtunnel/datapath/macvlan"
	"windtunnel/datapath/ovs"
	"windtunnel/datapath/publishedport"
	"windtunnel/datapath/redirect"
	"windtunnel/datapath/team"
	"windtunnel/datapath/testpmd"
	"windtunnel/datapath/usernetwork"
	"windtunnel/datapath/vrouter"
	"windtunnel/datapath/vxlan"
	"windtunnel/datapath/wire"
	"windtunnel/result"
)

var all = []datapath.Path{
	wire.Path{},
	bridge.Path{},
	team.Path{},
	vxlan.Path{},
	redirect.Path{},
	testpmd.Path{},
	ovs.Path{},
	ovs.DPDK{},
	vrouter.Path{},
	publishedport.Path{},
	macvlan.Path{},
	hostnetwork.Path{},
	usernetwork.Path{},
	usernetwork.Container{},
	existing.Path{},
}

// All lists every path, the plainest first.
func All() []datapath.Path { return all }

// ByName returns the path of that name.
func ByName(name string) (datapath.Path, bool) {
	for _, path := range all {
		if path.Name() == name {
			return path, true
		}
	}
	return nil, false
}

// Vocabulary is every path's options by its name, for scenario.
func Vocabulary() map[string][]result.Option {
	words := map[string][]result.Option{}
	for _, path := range all {
		words[path.Name()] = path.Options()
	}
	return words
}

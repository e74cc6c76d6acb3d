package paths_test

import (
	"fmt"
	"strings"
	"testing"

	"windtunnel/datapath"
	"windtunnel/datapath/paths"
	"windtunnel/testbed"
)

// TestOverHosts lays every path that real hosts will do for: the wire is their interfaces, as they are,
// and everything else is as between simulated nodes.
func TestOverHosts(t *testing.T) {
	laid := 0
	for _, path := range paths.All() {
		if !datapath.OverHosts(path) || datapath.InPlace(path) || path.Name() == "ovs" { // which has its own way with interfaces
			continue
		}
		laid++
		pairs := containers("a", "b")
		if path.Name() == "wire" {
			pairs = processes()
		}
		r := request(testbed.WireNetwork, datapath.SegmentationFound, pairs)
		r.Nodes[0].NIC = &testbed.NIC{Device: "eth1", Address: "10.0.0.1/16"}
		r.Nodes[1].NIC = &testbed.NIC{Device: "veth9", Address: "10.0.7.2/16", Virtual: true}
		l, err := path.Lay(r)
		if err != nil {
			t.Fatal(err)
		}
		wire := l.Graph.Links[0]
		for _, link := range l.Graph.Links {
			if link.Kind == testbed.WireNetwork {
				wire = link
			}
		}
		real, virtual := wire.Ends[0], wire.Ends[1]
		if real.Device != "eth1" || real.MAC != "" || len(real.Offloads) > 0 || real.Steering != "" || real.MTU != 1500 {
			t.Errorf("%s: a real interface is %+v", path.Name(), real)
		}
		if virtual.Device != "veth9" || virtual.MAC != "" || virtual.Offloads[testbed.TSO] || !virtual.Offloads[testbed.GRO] || !virtual.Threaded() {
			t.Errorf("%s: a virtual one is %+v", path.Name(), virtual)
		}
		if text := strings.Join(real.Addresses, " "); path.Name() != "bridge" && text != "10.0.0.1/16" {
			t.Errorf("%s: its address is %q", path.Name(), text)
		}
		for _, d := range l.Graph.Daemons {
			if config := d.Files["config.json"]; !strings.Contains(config, map[string]string{"a": `"eth1"`, "b": `"veth9"`}[d.Node]) {
				t.Errorf("%s: %s is told\n%s", path.Name(), d.Name, config)
			}
		}
	}
	if laid < 4 {
		t.Errorf("%d paths are laid between hosts", laid)
	}
}

// TestOpenVSwitchOverHosts takes the interfaces as they are but for what a program that reads packet by packet needs.
func TestOpenVSwitchOverHosts(t *testing.T) {
	path, _ := paths.ByName("ovs")
	for encapsulation, bridge := range map[string]string{"none": "br0", "vxlan": "br-phy"} {
		r := with(request(testbed.WireNetwork, datapath.SegmentationFound, containers("a", "b")), "encapsulation", encapsulation)
		r.Nodes[0].NIC = &testbed.NIC{Device: "eth1", Address: "10.0.0.1/16"}
		r.Nodes[1].NIC = &testbed.NIC{Device: "veth9", Address: "10.0.7.2/16", Virtual: true}
		l, err := path.Lay(r)
		if err != nil {
			t.Fatal(err)
		}
		for i, end := range l.Graph.Links[0].Ends {
			if end.Device != []string{"eth1", "veth9"}[i] || end.MAC != "" || len(end.Addresses) > 0 || end.Offloads[testbed.GRO] || end.Threaded() {
				t.Errorf("%s: %+v", encapsulation, end)
			}
		}
		if text := fmt.Sprintf("%+v", l.Graph.Daemons); !strings.Contains(text, "add-port "+bridge+" eth1") || !strings.Contains(text, "add-port "+bridge+" veth9") ||
			encapsulation == "vxlan" && !strings.Contains(text, "address add 10.0.7.2/16 dev br-phy") {
			t.Errorf("the switches are told\n%s", text)
		}
	}
}

// TestHostsAreRefused where no path could be laid.
func TestHostsAreRefused(t *testing.T) {
	path, _ := paths.ByName("wire")
	for _, nic := range []*testbed.NIC{nil, {Device: "eth1", Address: "fd00::1/64"}, {Device: "eth1", Address: "x"}} {
		r := request(testbed.WireNetwork, datapath.SegmentationFound, processes())
		r.Nodes[0].NIC = &testbed.NIC{Device: "eth1", Address: "10.0.0.1/24"}
		r.Nodes[1].NIC = nic
		if _, err := path.Lay(r); err == nil || !strings.Contains(err.Error(), "node b") {
			t.Errorf("%+v: %v", nic, err)
		}
	}
}

// TestCellsOfOneNodeNeedNoInterface of its host.
func TestCellsOfOneNodeNeedNoInterface(t *testing.T) {
	path, _ := paths.ByName("vrouter")
	r := request(testbed.WireNetwork, datapath.SegmentationFound, containers("a", "a"))
	r.Nodes[0].NIC = &testbed.NIC{Device: "eth1", Address: "10.0.0.1/24"}
	l, err := path.Lay(r)
	if err != nil {
		t.Fatal(err)
	}
	if l.Graph.Nodes[0].NIC != nil || strings.Contains(l.Graph.Daemons[0].Files["config.json"], "eth1") {
		t.Errorf("%+v", l.Graph)
	}
	if r.Nodes[0].NIC == nil {
		t.Error("what was asked for is changed")
	}
}

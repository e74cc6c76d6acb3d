package paths_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"windtunnel/datapath"
	"windtunnel/datapath/paths"
	"windtunnel/result"
	"windtunnel/testbed"
)

// ofTheirOwn are paths over hosts that have a way of their own with interfaces, or other endpoints.
var ofTheirOwn = []string{"team", "ovs", "ovs-dpdk", "testpmd", "redirect", "user-network", "vm-published-port"}

// overHosts gives a request's nodes real hosts' interfaces, a NIC and one end of a virtual pair.
func overHosts(r datapath.Request, from, to string) datapath.Request {
	r.Wire.Kind = testbed.WireNetwork
	r.Nodes[0].NIC = &testbed.NIC{Device: "eth1", Address: from}
	r.Nodes[1].NIC = &testbed.NIC{Device: "veth9", Address: to, Virtual: true}
	return r
}

// TestOverHosts lays every path that real hosts will do for: the wire is their interfaces, as they are,
// and everything else is as between simulated nodes.
func TestOverHosts(t *testing.T) {
	laid := 0
	for _, path := range paths.All() {
		if why := datapath.NotOverHosts(path); datapath.OverHosts(path) == (why != "") {
			t.Errorf("%s is laid over hosts: %v, and not since %q", path.Name(), datapath.OverHosts(path), why)
		}
		if !datapath.OverHosts(path) || datapath.InPlace(path) || slices.Contains(ofTheirOwn, path.Name()) {
			continue
		}
		laid++
		pairs := containers("a", "b")
		if path.Name() == "wire" {
			pairs = processes()
		}
		l, err := path.Lay(overHosts(request("", datapath.SegmentationFound, pairs), "10.0.0.1/16", "10.0.7.2/16"))
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

// TestSwitchesOverHosts: programs that read packet by packet take the interfaces as they are but for what they need, and tc's redirection
// does, too; all are told the interfaces' own names.
func TestSwitchesOverHosts(t *testing.T) {
	for _, c := range []struct {
		path, encapsulation string
		says                []string // of each interface
	}{
		{"ovs", "none", []string{"add-port br0 "}},
		{"ovs", "vxlan", []string{"add-port br-phy ", "address add 10.0.7.2/16 dev br-phy"}},
		{"ovs-dpdk", "none", []string{"add-port br0 ", "iface="}},
		{"ovs-dpdk", "vxlan", []string{"add-port br-phy ", "iface="}},
		{"testpmd", "", []string{"iface="}},
		{"redirect", "", []string{"qdisc add dev ", "redirect dev ", "promisc on"}},
	} {
		path, _ := paths.ByName(c.path)
		r := overHosts(with(request("", datapath.SegmentationFound, containers("a", "b")), "encapsulation", c.encapsulation), "10.0.0.1/16", "10.0.7.2/16")
		l, err := path.Lay(r)
		if err != nil {
			t.Fatal(err)
		}
		wire := l.Graph.Links[slices.IndexFunc(l.Graph.Links, func(l testbed.Link) bool { return l.Kind == testbed.WireNetwork })]
		for i, end := range wire.Ends {
			joins := c.path == "redirect" && end.Device == "veth9" // as any made to be as a NIC
			if end.Device != []string{"eth1", "veth9"}[i] || end.MAC != "" || len(end.Addresses) > 0 || end.Offloads[testbed.GRO] != joins || end.Threaded() != joins {
				t.Errorf("%s: %+v", c.path, end)
			}
			text := fmt.Sprintf("%+v", l.Graph.Daemons)
			for _, says := range c.says {
				if strings.HasSuffix(says, " ") || strings.HasSuffix(says, "=") {
					says += end.Device
				}
				if !strings.Contains(text, says) {
					t.Errorf("%s: nothing says %q in\n%s", c.path, says, text)
				}
			}
			if strings.Contains(text, datapath.NIC) {
				t.Errorf("%s: a made interface is named in\n%s", c.path, text)
			}
		}
	}
}

// TestATeamOverHosts: its links are hosts' interfaces with their own addresses, or the bond's, and nothing behind them has an address of those.
func TestATeamOverHosts(t *testing.T) {
	path, _ := paths.ByName("team")
	team := func(by string) datapath.Request {
		r := overHosts(with(request("", datapath.SegmentationFound, containers("a", "b")), "by", by), "10.0.0.1/24", "10.0.0.2/24")
		r.Options["pull"] = true
		r.Nodes[0].Members = []testbed.NIC{{Device: "eth2", Address: "10.1.0.1/24"}, {Device: "eth3", Address: "10.2.0.1/24"}}
		r.Nodes[1].Members = []testbed.NIC{{Device: "veth8", Address: "10.1.0.2/24", Virtual: true}}
		return r
	}
	for _, by := range []string{"route", "bond"} {
		l, err := path.Lay(team(by))
		if err != nil {
			t.Fatal(err)
		}
		g := l.Graph
		if len(g.Nodes[0].Members) != 1 || len(g.Nodes[1].Members) != 1 || g.Links[0].Pull == nil || g.Links[0].Pull.Node != "b" {
			t.Errorf("%s: %+v, pulled: %+v", by, g.Nodes, g.Links[0].Pull)
		}
		for i, devices := range [][2]string{{"eth1", "veth9"}, {"eth2", "veth8"}} {
			for side, end := range g.Links[i].Ends {
				own := fmt.Sprintf("[10.%d.0.%d/24]", i, side+1)
				if end.Device != devices[side] || end.MAC != "" || (by == "route") != (fmt.Sprint(end.Addresses) == own) || (by == "bond") != (end.Bridge == "team-"+end.Place) {
					t.Errorf("%s: %+v", by, end)
				}
				if end.Threaded() != (side == 1) {
					t.Errorf("%s: a NIC, or one end of a virtual pair, is %+v", by, end)
				}
			}
		}
		if by == "route" && fmt.Sprint(g.Routes[0].Hops) != "[{eth1 10.0.0.2} {eth2 10.1.0.2}]" {
			t.Errorf("the route is %+v", g.Routes)
		}
		if by == "route" && (g.Bridges[0].Addresses[0] != "10.201.1.1/24" || l.Addresses["receiver"] != "10.201.2.22") {
			t.Errorf("behind them are %+v, %v", g.Bridges, l.Addresses)
		}
	}
	short := team("route")
	short.Nodes[1].Members = nil
	if _, err := path.Lay(short); err == nil || !strings.Contains(err.Error(), "node b has 1 interfaces for data, and 2 links") {
		t.Errorf("%v", err)
	}
	broken := team("route")
	broken.Nodes[1].Members[0].Address = "fd00::1/64"
	if _, err := path.Lay(broken); err == nil || !strings.Contains(err.Error(), "no IPv4 address") {
		t.Errorf("%v", err)
	}
}

// TestMachinesOverHosts: user-mode networks lead to the hosts' own addresses, and are no networks that have one of these.
func TestMachinesOverHosts(t *testing.T) {
	for _, c := range []struct{ path, by, data, other, subnet, route, inner string }{
		{"user-network", "qemu", "10.9.0.1/24", "10.9.0.2/24", "10.0.2.0/24", "10.9.0.0/24", ""},
		{"user-network", "passt", "10.0.0.1/8", "10.0.2.15/8", "192.168.2.0/24", "10.0.0.0/8", ""},
		{"vm-published-port", "qemu", "172.17.4.1/16", "172.17.4.2/16", "10.0.2.0/24", "172.17.0.0/16", "172.29.0.0/16"},
	} {
		path, _ := paths.ByName(c.path)
		pair := result.Pair{From: result.Place{Node: "a"}, To: vms("a", "b").To}
		r := overHosts(request("", datapath.SegmentationFound, pair), c.data, c.other)
		r.Options = result.Options{"by": c.by, "network": c.by}
		l, err := path.Lay(r)
		if err != nil {
			t.Fatal(err)
		}
		machine := l.Graph.VMs[0]
		nic := machine.NICs[0]
		if nic.User.Subnet != c.subnet || nic.Inside.Routes[0].Prefix != c.route || nic.User.By == testbed.UserByPasst && nic.User.Device != "veth9" {
			t.Errorf("%s: %+v, %+v", c.path, nic.User, nic.Inside)
		}
		if want, _, _ := strings.Cut(c.other, "/"); l.Published[0].Address.String() != want {
			t.Errorf("%s is reached at %s, not %s", c.path, l.Published[0].Address, want)
		}
		if c.inner != "" && machine.Container.Subnet != c.inner {
			t.Errorf("its container is in %s, not %s", machine.Container.Subnet, c.inner)
		}
	}
	path, _ := paths.ByName("user-network")
	everything := overHosts(request("", datapath.SegmentationFound, result.Pair{From: result.Place{Node: "a"}, To: vms("a", "b").To}), "128.0.0.1/0", "128.0.0.2/0")
	if _, err := path.Lay(everything); err == nil || !strings.Contains(err.Error(), "a longer prefix") {
		t.Errorf("no network is left, and %v", err)
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

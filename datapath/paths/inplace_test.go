package paths_test

import (
	"fmt"
	"strings"
	"testing"

	"windtunnel/datapath"
	"windtunnel/datapath/paths"
	"windtunnel/result"
	"windtunnel/testbed"
)

// onHosts is a request to hosts with engines, whose interfaces have other MTUs than the wire is asked for.
func onHosts(pairs ...result.Pair) datapath.Request {
	r := request(testbed.WireNetwork, datapath.SegmentationFound, pairs...)
	r.Nodes[0].NIC = &testbed.NIC{Device: "eth1", Address: "10.0.0.1/16", MTU: 9000}
	r.Nodes[1].NIC = &testbed.NIC{Device: "veth9", Address: "10.0.255.254/16", Virtual: true, MTU: 1450}
	r.Nodes[0].Engine = &testbed.HostEngine{Socket: "/run/podman/podman.sock"}
	r.Nodes[1].Engine = &testbed.HostEngine{Socket: "/var/run/docker.sock", Proxy: testbed.ProxyOff, MTU: 1400}
	return r
}

func layInPlace(t *testing.T, name string, r datapath.Request) datapath.Laid {
	t.Helper()
	path, _ := paths.ByName(name)
	laid, err := path.Lay(r)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return laid
}

// TestInPlace lays every path of engines' containers on hosts: nothing is made there but by the hosts' engines, and interfaces,
// addresses and MTUs are as they were found.
func TestInPlace(t *testing.T) {
	laid := 0
	for _, path := range paths.All() {
		if !datapath.InPlace(path) {
			continue
		}
		laid++
		l := layInPlace(t, path.Name(), onHosts(containers("a", "b")))
		g := l.Graph
		if len(g.Daemons)+len(g.Containers)+len(g.Bridges) > 0 || len(g.Links) != 1 || len(g.Engines) != 2 || !g.Nodes[0].InPlace || !g.Nodes[1].InPlace {
			t.Errorf("%s: %+v", path.Name(), g)
		}
		if e := g.Engines[1]; e.Daemon != "" || e.Socket != "/var/run/docker.sock" || g.Engines[0].Socket != "/run/podman/podman.sock" {
			t.Errorf("%s: %+v", path.Name(), g.Engines)
		}
		for i, device := range []string{"eth1", "veth9"} {
			end := g.Links[0].Ends[i]
			if end.Device != device || end.MAC != "" || len(end.Offloads) > 0 || end.Steering != "" || end.MTU != 1450 || len(end.Addresses) != 1 {
				t.Errorf("%s: %+v", path.Name(), end)
			}
		}
		if l.NotHere != "" || len(l.Doubts) != 2 || l.Doubts[0].Kind != "virtual-wire" || !strings.Contains(l.Doubts[1].Says, "1450 and not 1500") || l.MTU.Wire != 1450 {
			t.Errorf("%s: %q %+v %+v", path.Name(), l.NotHere, l.Doubts, l.MTU)
		}
	}
	if laid < 3 {
		t.Errorf("%d paths are laid in place", laid)
	}
}

func TestPublishedPortsOfHosts(t *testing.T) {
	r := onHosts(containers("a", "b"))
	r.Options = result.Options{"proxy": true, "network": "user"}
	l := layInPlace(t, "published-port", r)
	if n := l.Graph.Engines[1].Networks[0]; n.Subnet != "" || n.Options["com.docker.network.driver.mtu"] != "1450" || l.MTU.Endpoint != 1450 {
		t.Errorf("%+v, %+v", n, l.MTU)
	}
	if at := l.Published[0].Address.String(); at != "10.0.255.254" || l.NotHere != "" {
		t.Errorf("reached at %s; %q", at, l.NotHere)
	}
	r.Options = result.Options{"network": testbed.NetworkDefault}
	if l = layInPlace(t, "published-port", r); l.MTU.Endpoint != 1400 {
		t.Errorf("behind the default bridge: %+v", l.MTU)
	}
	own := onHosts(result.Pair{From: result.Place{Node: "b"}, To: result.Place{Node: "b", Container: "receiver"}})
	own.Options = result.Options{"proxy": true}
	if l = layInPlace(t, "published-port", own); !strings.Contains(l.NotHere, "the engine of node b runs with its userland proxy off") || len(l.Doubts) > 0 || len(l.Graph.Links) > 0 {
		t.Errorf("%q %+v %+v", l.NotHere, l.Doubts, l.Graph.Links)
	}
	own.Options = result.Options{}
	if l = layInPlace(t, "published-port", own); l.NotHere != "" || l.Published[0].Address.String() != "10.0.255.254" {
		t.Errorf("%q %+v", l.NotHere, l.Published)
	}
	off := onHosts(containers("a", "b"))
	off.Segmentation = datapath.SegmentationOff
	if l = layInPlace(t, "host-network", off); !strings.Contains(l.NotHere, "stay as they are") || len(l.Graph.Links[0].Ends[0].Offloads) > 0 {
		t.Errorf("%q %+v", l.NotHere, l.Graph.Links)
	}
}

// TestMacvlanOfHosts: containers have spare addresses of the data network, or of the part of it that is named.
func TestMacvlanOfHosts(t *testing.T) {
	for _, c := range []struct {
		options                   result.Options
		gateway, sender, receiver string
	}{
		{result.Options{}, "10.0.255.253", "10.0.255.252", "10.0.255.251"},
		{result.Options{"subnet": "172.16.0.0/24", "gateway": "10.0.255.252"}, "10.0.255.252", "10.0.255.251", "10.0.255.250"},
		{result.Options{"subnet": "10.0.9.0/29"}, "10.0.9.6", "10.0.9.5", "10.0.9.4"},
	} {
		r := onHosts(containers("a", "b"))
		r.Options = c.options
		l := layInPlace(t, "macvlan", r)
		a, b := l.Graph.Engines[0], l.Graph.Engines[1]
		if n := b.Networks[0]; n.Subnet != "10.0.0.0/16" || n.Gateway != c.gateway || n.Options["parent"] != "veth9" || a.Networks[0].Options["parent"] != "eth1" {
			t.Errorf("%v: %+v", c.options, n)
		}
		if a.Containers[0].Address != c.sender || b.Containers[0].Address != c.receiver || l.Addresses["receiver"] != c.receiver || l.Addresses["a"] != "10.0.0.1" {
			t.Errorf("%v: %+v %+v", c.options, a.Containers, l.Addresses)
		}
		if said := strings.Contains(fmt.Sprint(l.Doubts), "172.16.0.0/24 that was asked for"); said != (c.options["subnet"] == "172.16.0.0/24") {
			t.Errorf("%v: %+v", c.options, l.Doubts)
		}
	}
	own := onHosts(containers("a", "b")) // whose network has what simulated nodes use
	own.Nodes[0].NIC.Address, own.Nodes[1].NIC.Address = "172.16.0.1/12", "172.16.0.2/12"
	path, _ := paths.ByName("macvlan")
	own.Options = result.Options{} // as the vocabulary fills them in
	for _, o := range path.Options() {
		if o.Default != nil {
			own.Options[o.Name] = o.Default
		}
	}
	if n := layInPlace(t, "macvlan", own).Graph.Engines[0]; n.Networks[0].Gateway != "172.31.255.254" || n.Containers[0].Address != "172.31.255.253" {
		t.Errorf("nobody named a part of the network: %+v", n)
	}
	r := onHosts(containers("a", "b"))
	r.Options = result.Options{"subnet": "10.0.9.0/30"}
	if _, err := path.Lay(r); err == nil || !strings.Contains(err.Error(), "has no room for 3 more addresses") {
		t.Errorf("%v", err)
	}
}

// TestPassthruLeavesAHostItsInterface: one that the host needs is not given to a container as a whole; other modes share it.
func TestPassthruLeavesAHostItsInterface(t *testing.T) {
	for mode, refused := range map[string]bool{"bridge": false, "private": false, "passthru": true} {
		r := onHosts(containers("a", "b"))
		r.Options = result.Options{"mode": mode}
		if l := layInPlace(t, "macvlan", r); l.NotHere != "" {
			t.Errorf("%s, on free interfaces: %q", mode, l.NotHere)
		}
		r.Nodes[1].NIC.Fixed = "the host's default route goes over it"
		if l := layInPlace(t, "macvlan", r); refused != (strings.Contains(l.NotHere, "node b's interface: the host's default route")) {
			t.Errorf("%s: %q", mode, l.NotHere)
		}
	}
}

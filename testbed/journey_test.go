package testbed

import (
	"strings"
	"testing"
)

func seen(machine, stack string, links ...SeenLink) Seen {
	for i := range links {
		links[i].Up, links[i].MTU = true, 1500
	}
	return Seen{Machine: machine, Stack: stack, Links: links}
}

func TestJourneys(t *testing.T) {
	eth := func(index, peer int, ip string) SeenLink {
		return SeenLink{Name: "eth0", Index: index, Kind: "veth", Parent: peer, Elsewhere: true, Addresses: []string{ip}}
	}
	web := View{"PLACE web", seen("m", "1", eth(2, 5, "172.17.0.2/16"))}
	db := View{"PLACE db", seen("m", "2", eth(2, 6, "172.17.0.3/16"))}
	host := View{"HOST", seen("m", "3",
		SeenLink{Name: "eno1", Index: 2, Kind: "device", Driver: "ixgbe", Addresses: []string{"10.0.0.1/24"}},
		SeenLink{Name: "docker0", Index: 4, Kind: "bridge", Addresses: []string{"172.17.0.1/16"}},
		SeenLink{Name: "veth5", Index: 5, Kind: "veth", Parent: 2, Elsewhere: true, Master: 4, Programs: []string{"tc ingress x\x1b[2J"}},
		SeenLink{Name: "veth6", Index: 6, Kind: "veth", Parent: 2, Elsewhere: true, Master: 4})}
	other := View{"PLACE far", seen("n", "9", SeenLink{Name: "eth1", Index: 3, Kind: "device", Addresses: []string{"10.0.0.2/24"}})}
	red := View{"PLACE red", seen("m", "5", eth(7, 8, "10.1.0.1/24"))}
	blue := View{"PLACE blue", seen("m", "6", eth(8, 7, "10.1.0.2/24"))}
	// Open vSwitch's kernel datapath: its ports have ovs-system as their master, its tunnels' one too.
	switched := func(machine, stack, place, underlay string) []View {
		return []View{
			{"PLACE " + place, seen(machine, stack+"p", SeenLink{Name: "eth0", Index: 2, Kind: "veth", Parent: 15, Elsewhere: true, Addresses: []string{"10.5.0.1/24"}})},
			{"HOST " + place, seen(machine, stack,
				SeenLink{Name: "eno1", Index: 2, Kind: "device", Driver: "ixgbe", Addresses: []string{underlay}},
				SeenLink{Name: "ovs-system", Index: 4, Kind: "openvswitch"},
				SeenLink{Name: "vnet1", Index: 15, Kind: "veth", Parent: 2, Elsewhere: true, Master: 4},
				SeenLink{Name: "vxlan_sys", Index: 16, Kind: "vxlan", Master: 4, Detail: "VNI 0, UDP port 4789"})},
		}
	}
	left, right := switched("m", "1", "left", "10.0.0.1/24"), switched("n", "1", "right", "10.0.0.2/24")
	tunnelled := func(index int, ip, underlay string) []SeenLink {
		return []SeenLink{{Name: "vx0", Index: index, Kind: "vxlan", Parent: 2, Detail: "VNI 42, UDP port 4789", Addresses: []string{ip}},
			{Name: "eno1", Index: 2, Kind: "device", Driver: "ixgbe", Addresses: []string{underlay}}}
	}
	near, remote := View{"PLACE near", seen("m", "1", tunnelled(7, "10.6.0.1/24", "10.0.0.1/24")...)}, View{"PLACE remote", seen("n", "1", tunnelled(8, "10.6.0.2/24", "10.0.0.2/24")...)}
	for name, c := range map[string]struct {
		views           []View
		from, to        int
		leaves, arrives string
		want            string
	}{
		// Both containers' ends have the index 2, so each host end could be either's: what is not known is not drawn.
		"a bridge, by indexes that two have": {[]View{web, db, host}, 0, 1, "eth0", "eth0", "PLACE web > eth0 > HOST > veth5 > docker0 > veth6 > PLACE db > eth0"},
		"a virtual pair":                     {[]View{red, blue}, 0, 1, "eth0", "eth0", "PLACE red > eth0 > PLACE blue > eth0"},
		"from the host":                      {[]View{host, db}, 0, 1, "docker0", "eth0", "HOST > docker0 > veth6 > PLACE db > eth0"},
		"two machines":                       {[]View{host, other}, 0, 1, "eno1", "eth1", "HOST > eno1 > ~~ > PLACE far > eth1"},
		"out of a container":                 {[]View{web, other, host}, 0, 1, "eth0", "eth1", "PLACE web > eth0 > HOST > veth5 > docker0 > (routed > eno1 > ~~ > PLACE far > eth1"},
		"a host that is not seen":            {[]View{web, db}, 0, 1, "eth0", "eth0", "PLACE web > eth0 > ?? > PLACE db > eth0"},
		"Open vSwitch and its tunnel": {[]View{left[0], right[0], left[1], right[1]}, 0, 1, "eth0", "eth0", "PLACE left > eth0 > HOST left > vnet1 > ovs-system > vxlan_sys > (routed > eno1 > ~~ > " +
			"HOST right > eno1 > (routed > vxlan_sys > ovs-system > vnet1 > PLACE right > eth0"},
		"a tunnel":        {[]View{near, remote}, 0, 1, "vx0", "vx0", "PLACE near > vx0 > eno1 > ~~ > PLACE remote > eno1 > vx0"},
		"nothing between": {[]View{web, other}, 0, 1, "eth0", "eth1", ""},
	} {
		drawn := Journey(c.views, c.from, c.leaves, c.to, c.arrives)
		var stops []string
		for line := range strings.Lines(drawn) {
			line = strings.TrimSpace(line)
			if bar, ok := strings.CutPrefix(line, "| "); ok {
				line = strings.Fields(bar)[0]
			}
			stops = append(stops, line)
		}
		if got := strings.Join(stops, " > "); got != c.want {
			t.Errorf("%s: %s, want %s\n%s", name, got, c.want, drawn)
		}
		if strings.ContainsRune(drawn, 0x1b) {
			t.Errorf("%s: a stranger's escape is drawn", name)
		}
	}
}

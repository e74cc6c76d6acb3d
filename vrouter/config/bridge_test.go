package config_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
)

// drawBridge is a bridge, or none, with hosts of a small world.
func drawBridge(t *rapid.T, label string, n int) *config.Bridge {
	if !rapid.Bool().Draw(t, label+" is bridged") {
		return nil
	}
	b := &config.Bridge{Unknown: config.DropUnknown, ControlWord: rapid.Bool().Draw(t, label+" has control words")}
	if rapid.Bool().Draw(t, label+" has a label of frames") {
		b.Label = uint32(rapid.IntRange(30+2*n, 31+2*n).Draw(t, label+" label of frames"))
	}
	if rapid.Bool().Draw(t, label+" floods what is unknown") {
		b.Unknown = config.FloodUnknown
	}
	for remote := range byte(2) {
		via := config.Via{Tunnel: netip.AddrFrom4([4]byte{10, 99, 0, 2 + remote}), Encapsulation: config.VXLAN, VNI: 1}
		if mpls := rapid.SampledFrom([]config.Encapsulation{"", config.MPLSoUDP, config.MPLSoGRE}).Draw(t, label+" mpls of a node"); mpls != "" {
			via.Encapsulation, via.VNI, via.Label = mpls, 0, 17
		}
		if rapid.Bool().Draw(t, label+" has a node") {
			b.Nodes = append(b.Nodes, via)
		}
		if rapid.Bool().Draw(t, label+" has a host") {
			if number := uint32(rapid.IntRange(1, 2).Draw(t, label+" vni or label of a host")); via.VNI != 0 {
				via.VNI = number
			} else {
				via.Label = 16 + number
			}
			b.Hosts = append(b.Hosts, config.Host{MAC: config.MAC{2, 0, 0, 0, 2, remote}, Via: via})
		}
	}
	return b
}

// seenBridge is what bridged frames of a network can find. Where the bridge is not, nobody looks.
func seenBridge(m config.Image, slot uint32, vrf core.VRF, found map[string]string) {
	if vrf.Flags&core.VRFBridge == 0 {
		return
	}
	for _, mac := range []config.MAC{{2, 0, 0, 0, 2, 0}, {2, 0, 0, 0, 2, 1}, {2, 0, 0, 0, 1, 0}, {2, 0, 0, 0, 1, 4}} {
		if r := m.LookupMAC(slot, mac); r != 0 {
			found[fmt.Sprintf("%x %s", vrf.ID, mac)] = fmt.Sprintf("%d %+v", r.Label(), m.Nexthops[r.Ref()])
		}
	}
	list, text := m.Floods[vrf.Flood], "to"
	for _, target := range list.Targets[:list.Count] {
		text += fmt.Sprintf(" %d %+v", core.Route(target).Label(), m.Nexthops[core.Route(target).Ref()])
	}
	if list.Count > 0 {
		found[fmt.Sprintf("%x all", vrf.ID)] = text
	}
}

const bridge = `"vni":7,"bridge":{"nodes":[{"tunnel":"10.0.0.2","encapsulation":"vxlan"}],"hosts":[{"mac":"02:00:00:00:01:04","via":{"tunnel":"10.0.0.2","encapsulation":"vxlan"}}]}`

// TestBridgeErrors: as TestErrors, of networks that are bridged.
func TestBridgeErrors(t *testing.T) {
	for _, k := range []mistake{
		{"unknown", `{"nodes"`, `{"unknown":"drp","nodes"`, `networks[0].bridge.unknown: what is for unknown addresses cannot be "drp"; did you mean "drop"?`},
		{"no vni", `"vni":7,`, ``, `networks[0].bridge: frames from other nodes could not be delivered; give the network "network1" a "vni", for VXLAN, or its bridge a "label", for MPLS`},
		{"encapsulation", `"vxlan"}]`, `"none"}]`, `networks[0].bridge.nodes[0].encapsulation: a frame cannot cross the fabric as it is; wrap it in "mplsoudp", "mplsogre" or "vxlan"`},
		{"no encapsulation", `,"encapsulation":"vxlan"}]`, `}]`, `networks[0].bridge.nodes[0]: the key "encapsulation" is missing`},
		{"no such encapsulation", `"vxlan"}]`, `"mplsoup","label":17}]`, `networks[0].bridge.nodes[0].encapsulation: there is no encapsulation "mplsoup"; did you mean "mplsoudp"?`},
		{"no label", `"vxlan"}]`, `"mplsoudp"}]`, `networks[0].bridge.nodes[0].label: 0 is not between 16 and 1048575`},
		{"a vni with mpls", `"vxlan"}]`, `"mplsogre","label":17,"vni":7}]`, `networks[0].bridge.nodes[0].vni: MPLS carries a label, no VNI`},
		{"a port's label", `"bridge":{`, `"bridge":{"label":16,`, `ports[0].label: 16 belongs to the bridge of network "network1" already`},
		{"the network's label", `"bridge":{`, `"label":40,"bridge":{"label":40,`, `networks[0].bridge.label: 40 belongs to network "network1" already`},
		{"a reserved label", `"bridge":{`, `"bridge":{"label":15,`, `networks[0].bridge.label: 15 is not between 16 and 65535`},
		{"a control word that is no switch", `"bridge":{`, `"bridge":{"control_word":1,`, `networks[0].bridge.control_word: must be true or false, not`},
		{"mac of a way", `"vxlan"}]`, `"vxlan","mac":"02:00:00:00:00:09"}]`, `networks[0].bridge.nodes[0].mac: a bridged frame keeps the address that it is for`},
		{"node twice", `"vxlan"}]`, `"vxlan"},{"tunnel":"10.0.0.2","encapsulation":"vxlan","vni":8}]`, `networks[0].bridge.nodes[1].tunnel: 10.0.0.2 is there twice`},
		{"node itself", `10.0.0.2`, `10.0.0.1`, `networks[0].bridge.nodes[0].tunnel: 10.0.0.1 is this node itself`},
		{"host is a port", `02:00:00:00:01:04`, `02:00:00:00:01:03`, `networks[0].bridge.hosts[0].mac: 02:00:00:00:01:03 is that of port "sender" already`},
		{"host is the gateway", `02:00:00:00:01:04`, `00:00:5e:00:01:00`, `networks[0].bridge.hosts[0].mac: 00:00:5e:00:01:00 is that of the gateway already`},
		{"host of all", `02:00:00:00:01:04`, `ff:ff:ff:ff:ff:ff`, `networks[0].bridge.hosts[0].mac: ff:ff:ff:ff:ff:ff is no host's address`},
		{"two families", `"vxlan"}]`, `"vxlan"},{"tunnel":"fd00::2","encapsulation":"vxlan"}]`, `networks[0].bridge.nodes[1].tunnel: fd00::2 is not of the family of 10.0.0.2`},
	} {
		t.Run(k.name, func(t *testing.T) {
			text := strings.Replace(bridge, k.replace, k.with, 1)
			if text == bridge {
				t.Fatal("the case changes nothing")
			}
			text = strings.Replace(sample, `"gateway":"10.0.1.254"`, `"gateway":"10.0.1.254",`+text, 1)
			text = strings.Replace(text, `"address":"10.0.0.1"`, `"address":"10.0.0.1","address6":"fd00::1"`, 1)
			_, err := config.Parse([]byte(text), "f")
			if err == nil || !strings.Contains(err.Error(), k.want) {
				t.Errorf("got %v\nwant %s", err, k.want)
			}
		})
	}
}

// bridged is a network of so many hosts and nodes.
func bridged(hosts, nodes int) config.Config {
	c := parsed
	n := c.Networks[0]
	n.VNI, n.Bridge = 7, &config.Bridge{}
	via := func(i int) config.Via {
		return config.Via{Tunnel: netip.AddrFrom4([4]byte{10, 9, 0, byte(1 + i)}), Encapsulation: config.VXLAN}
	}
	for i := range nodes {
		n.Bridge.Nodes = append(n.Bridge.Nodes, via(i))
	}
	for i := range hosts {
		mac := config.MAC{2, 1}
		binary.BigEndian.PutUint32(mac[2:], uint32(i))
		n.Bridge.Hosts = append(n.Bridge.Hosts, config.Host{MAC: mac, Via: via(i % 3)})
	}
	c.Networks = []config.Network{n}
	return c
}

// TestBridgeLimits: as many MAC addresses and flood targets as are promised have room; one more is
// refused.
func TestBridgeLimits(t *testing.T) {
	ports := len(parsed.Ports)
	for name, k := range map[string]struct {
		hosts, nodes int
		want         string
	}{
		"full":          {config.MaxMACs - ports - 1, core.FloodTargets - ports, ""},
		"one MAC more":  {config.MaxMACs - ports, 1, "networks[0].bridge: with it there are 32769 MAC addresses"},
		"one node more": {1, core.FloodTargets - ports + 1, "are more than the 64 that a frame can be copied to"},
	} {
		c := bridged(k.hosts, k.nodes)
		err := c.Validate()
		if k.want != "" {
			if err == nil || !strings.Contains(err.Error(), k.want) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		m, err := c.Image(facts(), config.Image{})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range c.Networks[0].Bridge.Hosts {
			if n := m.Nexthops[m.LookupMAC(1, h.MAC).Ref()]; n.Far() != h.Via.Tunnel {
				t.Fatalf("%s leads to %+v", h.MAC, n)
			}
		}
		if list := m.Floods[m.VRFs[1].Flood]; list.Count != core.FloodTargets {
			t.Errorf("a frame is copied to %d", list.Count)
		}
	}
}

// sharing gives so many MAC addresses that have the same two buckets in VRF 1: the hash, backwards.
func sharing(t *testing.T, count int) (macs []config.MAC) {
	const hash uint64 = 0x9e3779b97f4a7c15
	inverse := hash // by Newton's iteration, of an odd number modulo a power of 2
	for range 6 {
		inverse *= 2 - hash*inverse
	}
	for mixed := uint64(12345) << 38; len(macs) < count; mixed++ {
		a := mixed * inverse
		if key := (a ^ a>>32) * inverse; key>>48 == 1 {
			mac, _ := core.MACOf(key)
			if core.MACBucketsOf(key) != core.MACBucketsOf(core.MACKey(1, core.MACWord(mac))) {
				t.Fatalf("%x is another key than that of %x", key, mac)
			}
			macs = append(macs, mac)
		}
	}
	return macs
}

// TestMACsFull: addresses that all lie in the same two buckets are refused when those are full.
func TestMACsFull(t *testing.T) {
	c := bridged(0, 1)
	b := c.Networks[0].Bridge
	for _, mac := range sharing(t, 2*core.MACWays+1) {
		b.Hosts = append(b.Hosts, config.Host{MAC: mac, Via: b.Nodes[0]})
	}
	if _, err := c.Image(facts(), config.Image{}); !errors.Is(err, config.ErrFull) {
		t.Errorf("%d addresses of the same two buckets: %v", len(b.Hosts), err)
	}
	b.Hosts = b.Hosts[:2*core.MACWays]
	if _, err := c.Image(facts(), config.Image{}); err != nil {
		t.Errorf("%d addresses of the same two buckets: %v", len(b.Hosts), err)
	}
}

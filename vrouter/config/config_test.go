package config_test

import (
	"encoding/json"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"windtunnel/vrouter/config"
)

const sample = `{"format":1,"name":"D-a",
 "fabric":{"interface":"wire0","address":"10.0.0.1"},
 "networks":[{"name":"network1","subnet":"10.0.1.0/24","gateway":"10.0.1.254"}],
 "ports":[{"name":"sender","interface":"v-sender","network":"network1","address":"10.0.1.3","mac":"02:00:00:00:01:03","label":16}],
 "routes":[{"network":"network1","prefix":"10.0.1.4/32","via":{"tunnel":"10.0.0.2","encapsulation":"mplsoudp","label":17}}]}`

var parsed = config.Config{
	Format: 1, Name: "D-a",
	Fabric:   config.Fabric{Interface: "wire0", Address: netip.MustParseAddr("10.0.0.1")},
	Networks: []config.Network{{Name: "network1", Subnet: netip.MustParsePrefix("10.0.1.0/24"), Gateway: netip.MustParseAddr("10.0.1.254")}},
	Ports: []config.Port{{
		Name: "sender", Interface: "v-sender", Network: "network1", Address: netip.MustParseAddr("10.0.1.3"),
		MAC: config.MAC{2, 0, 0, 0, 1, 3}, Label: 16,
	}},
	Routes: []config.Route{{
		Network: "network1", Prefix: netip.MustParsePrefix("10.0.1.4/32"),
		Via: config.Via{Tunnel: netip.MustParseAddr("10.0.0.2"), Encapsulation: config.MPLSoUDP, Label: 17},
	}},
}

var exact = cmp.Comparer(func(a, b netip.Addr) bool { return a == b })
var exactPrefix = cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })

func TestParse(t *testing.T) {
	c, err := config.Parse([]byte(sample), "sample.json")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(parsed, c, exact, exactPrefix); diff != "" {
		t.Error(diff)
	}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.ReplaceAll(strings.ReplaceAll(sample, "\n", ""), " ", ""); string(text) != want {
		t.Errorf("written as\n%s\nnot\n%s", text, want)
	}
}

// A mistake is a text that takes another's place in the sample, and what is said about it.
type mistake struct{ name, replace, with, want string }

func TestErrors(t *testing.T) {
	wrong(t, []mistake{
		{"not json", `{"format":1`, `{"format";1`, `f:1:10: not JSON: `},
		{"ends early", `]}`, `]`, `f:5:124: the text ends too early`},
		{"more text", `17}}]}`, `17}}]} x`, `f:5:126: more text after`},
		{"unknown key", `"subnet"`, `"sub_net"`, `f:3:33: networks[0]: unknown key "sub_net"; did you mean "subnet"?`},
		{"missing key", `"subnet":"10.0.1.0/24",`, ``, `f:3:14: networks[0]: the key "subnet" is missing`},
		{"key twice", `"name":"D-a"`, `"name":"D-a","name":"D-b"`, `f:1:26: the key "name" is there twice`},
		{"wrong kind", `"name":"D-a"`, `"name":7`, `f:1:20: name: must be text, not a number`},
		{"no list", `"networks":[`, `"networks":{"a":[`, ``},
		{"bad number", `"label":16`, `"label":-16`, `f:4:127: ports[0].label: must be a whole number from 0`},
		{"fraction", `"label":16`, `"label":16.5`, `ports[0].label: must be a whole number`},
		{"format", `"format":1`, `"format":2`, `f:1:11: format: 2 is not known; this vRouter reads 1`},
		{"name", `"D-a"`, `"../a"`, `name: "../a" must be`},
		{"host bits", `10.0.1.0/24`, `10.0.1.7/24`, `networks[0].subnet: 10.0.1.7/24 has bits behind its prefix; did you mean 10.0.1.0/24?`},
		{"half of ipv6", `"gateway":"10.0.1.254"`, `"gateway":"10.0.1.254","subnet6":"fd00::/64"`, `networks[0]: subnet6 and gateway6 belong together`},
		{"ipv4 as ipv6", `"gateway":"10.0.1.254"`, `"gateway":"10.0.1.254","subnet6":"10.0.0.0/8","gateway6":"10.0.0.1"`, `networks[0].subnet6: 10.0.0.0/8 is no IPv6 prefix`},
		{"ipv6 host bits", `"gateway":"10.0.1.254"`, `"gateway":"10.0.1.254","subnet6":"fd00::1/64","gateway6":"fd00::1"`, `did you mean fd00::/64?`},
		{"link-local gateway", `"gateway":"10.0.1.254"`, `"gateway":"10.0.1.254","subnet6":"fe80::/10","gateway6":"fe80::1"`, `networks[0].gateway6: fe80::1 is no host of fe80::/10`},
		{"ipv6 without a subnet", `"address":"10.0.1.3"`, `"address":"10.0.1.3","address6":"fd00::3"`, `ports[0].address6: the network network1 has no IPv6; give it a subnet6 and a gateway6`},
		{"ipv6 route without a subnet", `"10.0.1.4/32"`, `"fd00::4/128"`, `routes[0].prefix: fd00::4/128 is IPv6, and the network network1 has none`},
		{"clamp as text", `"gateway":"10.0.1.254"`, `"gateway":"10.0.1.254","mss_clamp":"no"`, `f:3:91: networks[0].mss_clamp: must be true or false, not text`},
		{"gateway", `"gateway":"10.0.1.254"`, `"gateway":"10.0.2.254"`, `networks[0].gateway: 10.0.2.254 is no host of 10.0.1.0/24`},
		{"network of a port", `"network":"network1","address"`, `"network":"netwrok1","address"`, `f:4:61: ports[0].network: there is no network "netwrok1"; did you mean "network1"?`},
		{"network of a route", `{"network":"network1","prefix"`, `{"network":"x","prefix"`, `routes[0].network: there is no network "x"; there is network1`},
		{"port outside", `"10.0.1.3"`, `"10.0.2.3"`, `ports[0].address: 10.0.2.3 is no host of 10.0.1.0/24`},
		{"port is gateway", `"10.0.1.3"`, `"10.0.1.254"`, `ports[0].address: 10.0.1.254 is the gateway`},
		{"port on the fabric", `"v-sender"`, `"wire0"`, `ports[0].interface: "wire0" is in use already`},
		{"multicast mac", `"02:00:00:00:01:03"`, `"01:00:5e:00:00:01"`, `ports[0].mac: 01:00:5e:00:00:01 is no host's`},
		{"gateway's mac", `"02:00:00:00:01:03"`, `"00:00:5e:00:01:00"`, `ports[0].mac: 00:00:5e:00:01:00 is every network's gateway's`},
		{"bad mac", `"02:00:00:00:01:03"`, `"02:00"`, `ports[0].mac: "02:00" is no Ethernet address`},
		{"reserved label", `"label":16`, `"label":3`, `ports[0].label: 3 is not between 16 and 65535`},
		{"route to a port", `"10.0.1.4/32"`, `"10.0.1.3/32"`, `routes[0].prefix: 10.0.1.3/32 is port "sender"`},
		{"route to the gateway", `"10.0.1.4/32"`, `"10.0.1.254/32"`, `routes[0].prefix: 10.0.1.254/32 is the gateway`},
		{"encapsulation", `"mplsoudp"`, `"mplsudp"`, `f:5:100: routes[0].via.encapsulation: there is no encapsulation "mplsudp"; did you mean "mplsoudp"?`},
		{"label without encapsulation", `"mplsoudp"`, `"none"`, `routes[0].via.label: without encapsulation`},
		{"no label", `"mplsoudp","label":17`, `"mplsoudp"`, `routes[0].via.label: 0 is not between 16 and 1048575`},
		{"vni on mpls", `"label":17}`, `"label":17,"vni":3}`, `routes[0].via.vni: MPLS carries a label, no VNI`},
		{"mac on mpls", `"label":17}`, `"label":17,"mac":"02:00:00:00:00:09"}`, `routes[0].via.mac: MPLS carries no inner Ethernet header`},
		{"gre without a label", `"mplsoudp","label":17`, `"mplsogre"`, `routes[0].via.label: 0 is not between 16 and 1048575`},
		{"label on vxlan", `"mplsoudp"`, `"vxlan"`, `f:5:116: routes[0].via.label: VXLAN carries a VNI, no label`},
		{"vxlan without a vni", `"mplsoudp","label":17`, `"vxlan"`, `routes[0].via.vni: there is no VNI, neither here nor on the network "network1"`},
		{"large vni", `"mplsoudp","label":17`, `"vxlan","vni":16777216`, `routes[0].via.vni: 16777216 is not between 1 and 16777215`},
		{"multicast inside", `"mplsoudp","label":17`, `"vxlan","vni":9,"mac":"01:00:5e:00:00:01"`, `routes[0].via.mac: 01:00:5e:00:00:01 is no host's address`},
		{"nearest encapsulation", `"mplsoudp"`, `"vlxan"`, `there is no encapsulation "vlxan"; did you mean "vxlan"?`},
		{"large vni of a network", `"gateway":"10.0.1.254"`, `"gateway":"10.0.1.254","vni":16777216`, `f:3:85: networks[0].vni: 16777216 is not between 1 and 16777215`},
		{"vni without encapsulation", `"mplsoudp","label":17`, `"none","vni":9`, `routes[0].via.vni: without encapsulation`},
		{"mac without encapsulation", `"mplsoudp","label":17`, `"none","mac":"02:00:00:00:00:09"`, `routes[0].via.mac: without encapsulation`},
		{"deep", `"format":1`, `"x":` + strings.Repeat("[", 100), `nested more than`},
	})
}

// TestFabricErrors: as TestErrors, of the underlay and the ways over it.
func TestFabricErrors(t *testing.T) {
	wrong(t, []mistake{
		{"fabric address", `"address":"10.0.0.1"`, `"address":"224.0.0.1"`, `f:2:42: fabric.address: 224.0.0.1 is no IPv4 host address`},
		{"fabric address of ipv6", `"address":"10.0.0.1"`, `"address":"fd00::1"`, `f:2:42: fabric.address: fd00::1 is IPv6; give it as "address6"`},
		{"peers without ipv6", `"address":"10.0.0.1"`, `"address":"10.0.0.1","peers":["fd00:f::/64"]`, `f:2:61: fabric.peers: they are of tunnels over IPv6; give the fabric an "address6"`},
		{"ipv4 peers", `"address":"10.0.0.1"`, `"address":"10.0.0.1","address6":"fd00:f::1","peers":["::/0","10.0.0.0/8"]`, `f:2:92: fabric.peers[1]: 10.0.0.0/8 is no IPv6 prefix`},
		{"peers with host bits", `"address":"10.0.0.1"`, `"address":"10.0.0.1","address6":"fd00:f::1","peers":["fd00:f::1/64"]`, `fabric.peers[0]: fd00:f::1/64 has bits behind its prefix; did you mean fd00:f::/64?`},
		{"many peers", `"address":"10.0.0.1"`, `"address6":"fd00:f::1","peers":["::/0"` + strings.Repeat(`,"::/0"`, 256) + `]`, `fabric.peers: 257 are more than the 256 there is room for`},
		{"no fabric address", `,"address":"10.0.0.1"`, ``, `f:2:11: fabric: the node has no address; give it an "address" (IPv4), an "address6" (IPv6), or both`},
		{"link-local fabric", `"address":"10.0.0.1"`, `"address6":"fe80::1"`, `f:2:43: fabric.address6: fe80::1 is an address of one link only`},
		{"multicast fabric", `"address":"10.0.0.1"`, `"address6":"ff02::1"`, `fabric.address6: ff02::1 is no IPv6 host address`},
		{"mapped fabric", `"address":"10.0.0.1"`, `"address6":"::ffff:10.0.0.1"`, `fabric.address6: ::ffff:10.0.0.1 is no IPv6 host address`},
		{"tunnel over ipv6 from ipv4", `"10.0.0.2"`, `"fd00:f::2"`, `f:5:73: routes[0].via.tunnel: fd00:f::2 is IPv6, and this node has no such address to send from; give the fabric an "address6"`},
		{"tunnel over ipv4 from ipv6", `"address":"10.0.0.1"`, `"address6":"fd00:f::1"`, `routes[0].via.tunnel: 10.0.0.2 is IPv4, and this node has no such address to send from; give the fabric an "address"`},
		{"link-local tunnel", `"10.0.0.2"`, `"fe80::2"`, `routes[0].via.tunnel: fe80::2 is no host's address, IPv4 or IPv6, of more than one link`},
		{"fast fabric", `"10.0.0.1"}`, `"10.0.0.1","fast":"yes"}`, `f:2:60: fabric.fast: there is no "yes" fast path; there is auto, off, on`},
		{"offload", `"name":"D-a"`, `"name":"D-a","offload":"on"`, `offload: there is no "on"`},
		{"offload and checksums", `"10.0.0.1"}`, `"10.0.0.1","udp_checksum":true},"offload":"auto"`, `offload: no rule can make an outer UDP checksum`},
		{"flows without offload", `"name":"D-a"`, `"name":"D-a","offload_flows":["a"]`, `offload_flows: is for "offload": "auto"`},
		{"fast port", `"network":"network1","address"`, `"fast":"atuo","network":"network1","address"`, `ports[0].fast: there is no "atuo" fast path; did you mean "auto"?`},
		{"fabric interface", `"wire0"`, `"a/b"`, `fabric.interface: "a/b" is no interface's name`},
		{"no address", `"address":"10.0.0.1"`, `"address":"10.0.0"`, `fabric.address: ParseAddr("10.0.0")`},
		{"tunnel to itself", `"10.0.0.2"`, `"10.0.0.1"`, `routes[0].via.tunnel: 10.0.0.1 is this node itself`},
	})
}

func wrong(t *testing.T, cases []mistake) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(sample, c.replace, c.with, 1)
			if text == sample {
				t.Fatal("the case changes nothing")
			}
			_, err := config.Parse([]byte(text), "f")
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v\nwant %s", err, c.want)
			}
			if !errors.As(err, new(*config.Error)) {
				t.Errorf("%T is not *Error", err)
			}
		})
	}
}

func TestTwice(t *testing.T) {
	cases := map[string]struct {
		change func(*config.Config)
		want   string
	}{
		"network": {func(c *config.Config) { c.Networks = append(c.Networks, c.Networks[0]) }, `networks[1].name: there is a second network`},
		"port":    {func(c *config.Config) { c.Ports = append(c.Ports, c.Ports[0]) }, `ports[1].name: there is a second port`},
		"route":   {func(c *config.Config) { c.Routes = append(c.Routes, c.Routes[0]) }, `routes[1].prefix: there is a second route`},
		"IPv6 address": {func(c *config.Config) {
			c.Networks[0].Subnet6, c.Networks[0].Gateway6 = netip.MustParsePrefix("fd00::/64"), netip.MustParseAddr("fd00::fe")
			c.Ports[0].Address6 = netip.MustParseAddr("fd00::3")
			p := c.Ports[0]
			p.Name, p.Interface, p.Label, p.Address = "b", "v-b", 99, netip.MustParseAddr("10.0.1.9")
			c.Ports = append(c.Ports, p)
		}, `ports[1].address6: fd00::3 belongs to port "sender" already`},
		"vni": {func(c *config.Config) {
			c.Networks[0].VNI = 7
			n := c.Networks[0]
			n.Name = "network2"
			c.Networks = append(c.Networks, n)
		}, `networks[1].vni: 7 belongs to network "network1" already`},
		"label": {func(c *config.Config) {
			p := c.Ports[0]
			p.Name, p.Interface, p.Address = "b", "v-b", netip.MustParseAddr("10.0.1.9")
			c.Ports = append(c.Ports, p)
		}, `ports[1].label: 16 belongs to port "sender" already`},
		"address": {func(c *config.Config) {
			p := c.Ports[0]
			p.Name, p.Interface, p.Label = "b", "v-b", 99
			c.Ports = append(c.Ports, p)
		}, `ports[1].address: 10.0.1.3 belongs to port "sender" already`},
		"address without encapsulation": {func(c *config.Config) {
			n, p, r := c.Networks[0], c.Ports[0], c.Routes[0]
			n.Name, p.Name, p.Interface, p.Label, p.Network = "n2", "b", "v-b", 99, "n2"
			c.Networks, c.Ports = append(c.Networks, n), append(c.Ports, p)
			r.Via = config.Via{Tunnel: r.Via.Tunnel, Encapsulation: config.NoEncapsulation}
			c.Routes[0] = r
			r.Network = "n2"
			c.Routes = append(c.Routes, r)
		}, `share the underlay's addresses`},
	}
	for name, k := range cases {
		t.Run(name, func(t *testing.T) {
			c, _ := config.Parse([]byte(sample), "")
			k.change(&c)
			if err := c.Validate(); err == nil || !strings.Contains(err.Error(), k.want) {
				t.Errorf("got %v\nwant %s", err, k.want)
			}
		})
	}
}

// FuzzParse: no text makes the parser fail other than by an error, and what it takes survives being
// written and read again, and can be made tables of.
func FuzzParse(f *testing.F) {
	f.Add(sample)
	f.Add(strings.Replace(sample, `"mplsoudp","label":17`, `"none"`, 1))
	f.Add(strings.Replace(sample, `"gateway":`, `"mss_clamp":false,"gateway":`, 1))
	f.Add(strings.NewReplacer(`"gateway":`, `"subnet6":"fd00::/64","gateway6":"fd00::fe","gateway":`, `"mac":`, `"address6":"fd00::3","mac":`, "10.0.1.4/32", "fd00::4/128").Replace(sample))
	f.Add(strings.Replace(sample, `"mplsoudp","label":17`, `"vxlan","vni":5001,"mac":"02:00:00:00:00:09"`, 1))
	f.Add(`{"format":1,"name":"a","fabric":{"interface":"w","address":"1.2.3.4"}}`)
	f.Add(twoNetworks)
	f.Add(`[[[[`)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := config.Parse([]byte(text), "fuzz")
		if err != nil {
			return
		}
		again, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		d, err := config.Parse(again, "again")
		if err != nil {
			t.Fatalf("%s: %v", again, err)
		}
		third, _ := json.Marshal(d)
		if string(third) != string(again) {
			t.Errorf("%s became %s", again, third)
		}
		if _, err := c.Image(config.Facts{}, config.Image{}); err != nil {
			t.Error(err)
		}
	})
}

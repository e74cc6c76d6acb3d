package frame

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"windtunnel/result"
)

// testTunnels are those of the golden packets of a vRouter at 10.0.0.1 and fd00:f::1, by the packets'
// names (vrouter/core/testdata/node.json).
var testTunnels = map[string]result.Tunnel{
	"udp into a tunnel":             {Encapsulation: "mplsoudp", From: "10.0.0.1", To: "10.0.0.2", Sends: 17, Receives: 21},
	"udp into gre":                  {Encapsulation: "mplsogre", From: "10.0.0.1", To: "10.0.0.2", Sends: 33, Receives: 22},
	"udp into vxlan":                {Encapsulation: "vxlan", From: "10.0.0.1", To: "10.0.0.3", Sends: 5001, Receives: 5002, Inner: "00:00:5e:00:01:00"},
	"ipv6 udp into a tunnel":        {Encapsulation: "mplsoudp", From: "10.0.0.1", To: "10.0.0.2", Sends: 17, Receives: 21},
	"ipv6 udp into vxlan":           {Encapsulation: "vxlan", From: "10.0.0.1", To: "10.0.0.3", Sends: 5001, Receives: 5002, Inner: "00:00:5e:00:01:00"},
	"udp into a tunnel over ipv6":   {Encapsulation: "mplsoudp", From: "fd00:f::1", To: "fd00:f::2", Sends: 17, Receives: 21},
	"udp into gre over ipv6":        {Encapsulation: "mplsogre", From: "fd00:f::1", To: "fd00:f::2", Sends: 33, Receives: 22},
	"ipv6 udp into vxlan over ipv6": {Encapsulation: "vxlan", From: "fd00:f::1", To: "fd00:f::3", Sends: 5001, Receives: 5002, Inner: "00:00:5e:00:01:00"},
}

// TestOuterIsTheVRouters: what frames wear are the bytes that a vRouter puts in front, and that scapy
// made for its tests; but for the bytes that any flow's number may be in.
func TestOuterIsTheVRouters(t *testing.T) {
	text, err := os.ReadFile("../../vrouter/core/testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name, Out string
		Any       []int
	}
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, c := range cases {
		tunnel, named := testTunnels[c.Name]
		if !named {
			continue
		}
		found++
		want, err := hex.DecodeString(c.Out)
		if err != nil {
			t.Fatal(err)
		}
		o, err := wearing(tunnel, [6]byte(want[6:]), [6]byte(want), tunnel.Sends, strings.HasPrefix(c.Name, "ipv6"))
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(o.prefix))
		o.write(got, len(want)-len(got), 70_000)
		if o.udp && binary.BigEndian.Uint16(got[ethernetSize+o.ipSize():]) < entropyPorts {
			t.Errorf("%s: a port below %d", c.Name, entropyPorts)
		}
		for _, at := range c.Any {
			got[at], want[at] = 0, 0
		}
		if !bytes.Equal(got, want[:len(got)]) {
			t.Errorf("%s: got\n%x, not\n%x", c.Name, got, want[:len(got)])
		}
		for i, bits := range o.mask() {
			if (got[i]^o.prefix[i])&bits != 0 && !slices.Contains(c.Any, i) {
				t.Errorf("%s: byte %d is held to be the same in all frames", c.Name, i)
			}
		}
	}
	if found != len(testTunnels) {
		t.Errorf("found %d of %d golden packets", found, len(testTunnels))
	}
}

// TestOuterRefused: what no tunnel can be.
func TestOuterRefused(t *testing.T) {
	for says, change := range map[string]func(*result.Tunnel){
		`the tunnel's end "x"`:         func(t *result.Tunnel) { t.From = "x" },
		"of the family of 10.0.0.1":    func(t *result.Tunnel) { t.To = "fd00::1" },
		`encapsulation "geneve"`:       func(t *result.Tunnel) { t.Encapsulation = "geneve" },
		"which is no Ethernet address": func(t *result.Tunnel) { t.Inner = "" },
	} {
		tunnel := testTunnels["udp into vxlan"]
		change(&tunnel)
		if _, err := wearing(tunnel, mac1, mac2, 1, false); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("not refused with %q: %v", says, err)
		}
	}
}

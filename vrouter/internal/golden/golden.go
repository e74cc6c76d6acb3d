// Package golden is for tests: the frames of vrouter/core/testdata/golden.json, which every mover
// must treat alike, and the tables that they meet.
package golden

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"windtunnel/vrouter/config"
)

// Case is a frame, and what becomes of it.
type Case struct {
	Name string `json:"name"`
	At   string `json:"at"` // "fabric", or a port's interface
	GSO  uint32 `json:"gso_size"`
	In   string `json:"in"`
	Op   string `json:"op"`
	Drop string `json:"drop"`
	Out  string `json:"out"`
	Any  []int  `json:"any"` // bytes that have a range only
	// Copies are what a frame that is flooded becomes, the last of which is Out.
	Copies []Copy `json:"copies"`
}

// Copy is a copy of a frame, and where it goes.
type Copy struct {
	At  string `json:"at"`
	Out string `json:"out"`
	Any []int  `json:"any"`
}

// Copy is the case of one of its copies alone.
func (c Case) Copy(i int) Case {
	c.Out, c.Any = c.Copies[i].Out, c.Copies[i].Any
	return c
}

// Folder is where the core's headers are.
func Folder() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..", "core")
}

// Load reads the cases and the configuration.
func Load(t *testing.T) ([]Case, config.Config) {
	t.Helper()
	return load(t, "golden.json")
}

// LoadFlow reads the cases of flow.json, which are about ports in flow mode and in an order, and the
// configuration with their policies.
func LoadFlow(t *testing.T) ([]Case, config.Config) {
	t.Helper()
	cases, c := load(t, "flow.json")
	c.Policies = []config.Policy{{Name: "web", Default: config.Deny, Rules: []config.Rule{
		{Direction: "out", Action: config.Allow},
		{Direction: "in", Protocol: "tcp", Ports: config.Ports{First: 80, Last: 80}, Action: config.Allow},
		{Direction: "in", Protocol: "icmp", Action: config.Allow},
		{Direction: "in", Protocol: "icmp6", Action: config.Allow},
	}}, {Name: "closed", Default: config.Deny, Rules: []config.Rule{
		{Direction: "in", Protocol: "udp", Ports: config.Ports{First: 9, Last: 9}, Action: config.Allow},
	}}, {Name: "open", Default: config.Allow, Rules: []config.Rule{
		{Direction: "in", Protocol: "udp", Ports: config.Ports{First: 53, Last: 53}, Action: config.Deny},
	}}}
	policies := map[string]string{"sender": "web", "left": "web", "right": "closed", "over6": "open"}
	for i, p := range c.Ports {
		c.Ports[i].Flow.Policy = policies[p.Name]
	}
	return cases, c
}

func load(t *testing.T, name string) ([]Case, config.Config) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(Folder(), "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var cases []Case
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(Folder(), "testdata", "node.json")
	if text, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	c, err := config.Parse(text, path)
	if err != nil {
		t.Fatal(err)
	}
	return cases, c
}

// Facts are the machine's that the cases assume, but for the interfaces' numbers.
func Facts(ifindex map[string]uint32) config.Facts {
	f := config.Facts{
		FabricIfindex: ifindex["fabric"], FabricMTU: 1500, FabricMAC: config.MAC{2, 0, 0, 0, 0, 1}, Interfaces: map[string]config.Interface{},
		Neighbours: map[netip.Addr]config.MAC{
			netip.MustParseAddr("10.0.0.2"): {2, 0, 0, 0, 0, 2}, netip.MustParseAddr("10.0.0.3"): {2, 0, 0, 0, 0, 3},
			netip.MustParseAddr("fd00:f::2"): {2, 0, 0, 0, 0, 2}, netip.MustParseAddr("fd00:f::3"): {2, 0, 0, 0, 0, 3},
		},
	}
	for name, number := range ifindex {
		f.Interfaces[name] = config.Interface{Ifindex: number, MTU: 1500}
	}
	beside := f.Interfaces["vif2"]
	beside.MTU = 1400
	f.Interfaces["vif2"] = beside
	return f
}

// Compare checks a mover's output.
func (c Case) Compare(got string) error {
	want, err := hex.DecodeString(c.Out)
	if err != nil {
		return fmt.Errorf("the case's output: %w", err)
	}
	have, err := hex.DecodeString(got)
	if err != nil {
		return fmt.Errorf("the mover's output: %w", err)
	}
	if len(have) != len(want) {
		return fmt.Errorf("%d bytes, not %d\ngot  %x\nwant %x", len(have), len(want), have, want)
	}
	for _, i := range c.Any {
		if i == c.Any[0] && have[i] < 0xc0 {
			return fmt.Errorf("the source port begins with %#x: it is under 49152", have[i])
		}
		have[i] = want[i]
	}
	if string(have) != string(want) {
		return fmt.Errorf("\ngot  %x\nwant %x", have, want)
	}
	return nil
}

package offload

import (
	"maps"
	"net/netip"
	"os"
	"slices"
	"testing"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
	"windtunnel/vrouter/internal/golden"
)

var goldenInterfaces = map[string]uint32{"fabric": 10, "vif1": 11, "vif2": 12, "vif3": 13, "vif4": 14, "vif5": 15, "vif6": 16, "vif7": 17, "vif8": 18}

// goldenNode is the configuration of the golden packets, on an underlay that has room for tunnels. Two
// ports in it have the same MAC address; here each gets its own.
func goldenNode(t *testing.T, target Target) (config.Image, Options) {
	t.Helper()
	_, c := golden.Load(t)
	for i := range c.Ports {
		c.Ports[i].MAC[4], c.Ports[i].MAC[5] = 0x70, byte(i)
	}
	facts := golden.Facts(goldenInterfaces)
	for name, at := range facts.Interfaces {
		if at.MTU = 1600; name == "vif2" {
			at.MTU = 1500
		}
		facts.Interfaces[name] = at
	}
	facts.FabricMTU = 1700
	m, err := c.Image(facts, config.Image{})
	if err != nil {
		t.Fatal(err)
	}
	return m, Options{Target: target, Ports: portsOf(c, m), Flows: flowsOf(c)}
}

func portsOf(c config.Config, m config.Image) map[uint32]Port {
	ports := map[uint32]Port{fabricVif: {Name: "fabric", Device: c.Fabric.Interface}}
	for slot, vif := range m.Vifs {
		i := slices.IndexFunc(c.Ports, func(p config.Port) bool { return config.ID(p.Name) == vif.ID })
		ports[slot] = Port{Name: c.Ports[i].Name, Device: c.Ports[i].Interface, Number: i + 1}
	}
	return ports
}

// flowsOf are flows from each port to an address of each route of its network, and to each port.
func flowsOf(c config.Config) []Flow {
	var flows []Flow
	for i, p := range c.Ports {
		to := make(map[netip.Addr]bool)
		for _, r := range c.Routes {
			if r.Network == p.Network {
				to[r.Prefix.Addr()] = true
			}
		}
		for _, other := range c.Ports {
			if other.Network == p.Network && other.Name != p.Name {
				to[other.Address] = true
			}
		}
		for n, a := range slices.SortedFunc(maps.Keys(to), netip.Addr.Compare) {
			f := Flow{Port: p.Name, Source: p.Address, Destination: a, Protocol: []uint8{core.ProtocolTCP, core.ProtocolUDP, core.ProtocolICMP}[n%3]}
			if a.Is6() {
				f.Source = p.Address6
			}
			if !f.Source.IsValid() {
				continue
			}
			if hasPorts(f.Protocol) {
				f.From, f.To = uint16(40000+i), uint16(5000+100*n)
			}
			flows = append(flows, f)
		}
	}
	return flows
}

// smallNode is testdata/node.json, on a machine of the usual sizes: a port that is told about tunnels, and
// one that is not.
func smallNode(t *testing.T, target Target) (config.Image, Options) {
	t.Helper()
	text, err := os.ReadFile("testdata/node.json")
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Parse(text, "testdata/node.json")
	if err == nil {
		err = c.Validate()
	}
	if err != nil {
		t.Fatal(err)
	}
	neighbours := map[netip.Addr]config.MAC{}
	for i, a := range []string{"10.0.0.2", "10.0.0.3", "fd00:f::2"} {
		neighbours[netip.MustParseAddr(a)] = config.MAC{0x52, 5: byte(i + 2)}
	}
	facts := config.Facts{
		FabricIfindex: 10, FabricMTU: 1500, FabricMAC: config.MAC{0x52, 5: 1}, Neighbours: neighbours,
		Interfaces: map[string]config.Interface{"v-sender": {Ifindex: 11, MTU: 1430}, "v-wide": {Ifindex: 12, MTU: 1500}, "v-guarded": {Ifindex: 13, MTU: 1430}},
	}
	m, err := c.Image(facts, config.Image{})
	if err != nil {
		t.Fatal(err)
	}
	return m, Options{Target: target, Ports: portsOf(c, m)}
}

func flow(port string, protocol uint8, from, to string) Flow {
	a, b := netip.MustParseAddrPort(from), netip.MustParseAddrPort(to)
	return Flow{Port: port, Protocol: protocol, Source: a.Addr(), From: a.Port(), Destination: b.Addr(), To: b.Port()}
}

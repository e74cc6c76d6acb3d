package offload

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
)

// randomConfigurations: the property, over configurations that nobody thought of.
func randomConfigurations(t *testing.T, host string) {
	t.Helper()
	kinds := map[string]int{}
	hits := 0
	for seed := range uint64(4) {
		random := rand.New(rand.NewPCG(seed, 11))
		c, facts := randomConfig(random)
		if err := c.Validate(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		m, err := c.Image(facts, config.Image{})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for _, target := range []Target{RTEFlow, Flower} {
			p := Translate(m, Options{Target: target, Ports: portsOf(c, m), Flows: flowsOf(c)})
			hits += property(t, random, host, m, p, 3)
			for _, r := range p.Rules {
				kinds[kindOf(r)]++
			}
			for _, r := range p.Refused {
				kinds["refused: "+string(r.Reason)]++
			}
		}
	}
	t.Logf("%d frames were a rule's; %v", hits, kinds)
	for _, kind := range []string{"push mplsoudp", "push mplsogre", "push vxlan", "pop mplsoudp", "pop mplsogre", "pop vxlan", "move", "drop"} {
		if kinds[kind] == 0 {
			t.Errorf("no rule was a %q: nothing tests it", kind)
		}
	}
	if hits < 10_000 {
		t.Errorf("only %d frames were a rule's", hits)
	}
}

func kindOf(r Rule) string {
	switch {
	case r.Actions[len(r.Actions)-1].Do == DropIt:
		return "drop"
	case r.Tunnel == nil:
		return "move"
	case r.Actions[0].Do == RawDecap:
		return "pop " + string(r.Tunnel.Encapsulation)
	}
	return "push " + string(r.Tunnel.Encapsulation)
}

func oneOf[T any](random *rand.Rand, of ...T) T { return of[random.IntN(len(of))] }

func chance(random *rand.Rand, of int) bool { return random.IntN(of) == 0 }

// randomConfig has two networks, of which the second has routes without a tunnel as well.
func randomConfig(random *rand.Rand) (config.Config, config.Facts) {
	c := config.Config{
		Format: config.Format, Name: "random", Limits: config.Limits{Routes: 100, Flows: 100},
		Fabric: config.Fabric{
			Interface: "fabric", Address: netip.MustParseAddr("10.255.0.1"), Address6: netip.MustParseAddr("fd00:f::1"),
			Peers: []netip.Prefix{netip.MustParsePrefix("fd00:f:8::/48")},
		},
		Policies: []config.Policy{{Name: "closed", Default: config.Deny, Rules: []config.Rule{
			{Direction: "out", Protocol: "udp", Action: config.Allow}, {Direction: "in", Protocol: "tcp", Ports: config.Ports{First: 40000, Last: 40001}, Action: config.Allow}}}},
	}
	facts := config.Facts{
		FabricIfindex: 10, FabricMTU: oneOf[uint32](random, 1450, 1500, 1600), FabricMAC: config.MAC{2, 5: 1},
		Interfaces: map[string]config.Interface{}, Neighbours: map[netip.Addr]config.MAC{},
	}
	for i := range 3 { // the fourth of each family never answers
		facts.Neighbours[farEnd(i, false)], facts.Neighbours[farEnd(i, true)] = config.MAC{2, 1, 5: byte(i)}, config.MAC{2, 1, 5: byte(i)}
	}
	for n := range 2 {
		addNetwork(random, &c, &facts, n)
	}
	return c, facts
}

func farEnd(i int, six bool) netip.Addr {
	if six {
		return netip.MustParseAddr(fmt.Sprintf("fd00:f::%x", i+2))
	}
	return netip.AddrFrom4([4]byte{10, 255, 0, byte(i + 2)})
}

func addNetwork(random *rand.Rand, c *config.Config, facts *config.Facts, n int) {
	four, six := netip.AddrFrom4([4]byte{10, byte(n), 0, 254}), netip.MustParseAddr(fmt.Sprintf("fd00:%x::fe", n+1))
	clamp := chance(random, 2)
	network := config.Network{
		Name: fmt.Sprintf("n%d", n), Subnet: netip.PrefixFrom(four, 24).Masked(), Gateway: four,
		Subnet6: netip.PrefixFrom(six, 64).Masked(), Gateway6: six, MSSClamp: &clamp, VNI: uint32(5000 + n),
	}
	if chance(random, 2) {
		network.Label = uint32(100 + n)
	}
	c.Networks = append(c.Networks, network)
	for i := range 2 {
		addPort(random, c, facts, network, n, i)
	}
	for i := range 12 {
		prefix := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(n), byte(random.IntN(4)), byte(16 * i)}), oneOf(random, 28, 29, 32, 24)).Masked()
		if chance(random, 3) {
			prefix = netip.PrefixFrom(netip.MustParseAddr(fmt.Sprintf("fd00:%x::%x:0", n+1, i+1)), oneOf(random, 112, 128, 124))
		}
		if via := randomWay(random, network, prefix); !taken(c, network, prefix) {
			c.Routes = append(c.Routes, config.Route{Network: network.Name, Prefix: prefix, Via: via})
		}
	}
}

// taken: a prefix has one route, and ports and gateways have theirs already.
func taken(c *config.Config, n config.Network, prefix netip.Prefix) bool {
	for _, r := range c.Routes {
		if r.Network == n.Name && r.Prefix == prefix {
			return true
		}
	}
	for _, p := range c.Ports {
		if prefix == host(p.Address) || prefix == host(p.Address6) {
			return true
		}
	}
	return false
}

func addPort(random *rand.Rand, c *config.Config, facts *config.Facts, network config.Network, n, i int) {
	four, six := network.Subnet.Addr().As4(), network.Subnet6.Addr().As16()
	four[3], six[15] = byte(i+1), byte(i+1)
	p := config.Port{
		Name: fmt.Sprintf("p%d%d", n, i), Interface: fmt.Sprintf("v%d%d", n, i), Network: network.Name, Address: netip.AddrFrom4(four),
		Address6: netip.AddrFrom16(six), MAC: config.MAC{2, 2, 4: byte(n), 5: byte(i)}, Label: uint32(16 + 2*n + i),
	}
	if chance(random, 5) {
		p.Flow.Policy = "closed"
	}
	c.Ports = append(c.Ports, p)
	facts.Interfaces[p.Interface] = config.Interface{Ifindex: uint32(11 + 2*n + i), MTU: oneOf[uint32](random, 1300, 1400, 1500, 1600)}
}

// randomWay of the second network may be without a tunnel.
func randomWay(random *rand.Rand, n config.Network, to netip.Prefix) config.Via {
	tunnel := func(member int) config.Via {
		v := config.Via{Tunnel: farEnd((random.IntN(2)*4+member)%4, chance(random, 3)), Encapsulation: oneOf(random, config.MPLSoUDP, config.MPLSoGRE, config.VXLAN)}
		if v.Encapsulation == config.VXLAN {
			v.VNI, v.MAC = uint32(random.IntN(1<<24-1)+1), config.MAC{2, 9, 5: byte(random.IntN(4))}
		} else {
			v.Label = uint32(16 + random.IntN(1<<20-16))
		}
		return v
	}
	switch {
	case n.Name == "n1" && chance(random, 4):
		return config.Via{Tunnel: farEnd(random.IntN(4), false), Encapsulation: config.NoEncapsulation}
	case chance(random, 5):
		return config.Via{ECMP: config.MakeMembers(tunnel(0), tunnel(1), config.Via{Port: fmt.Sprintf("p%s0", n.Name[1:])})}
	case chance(random, 8):
		return config.Via{Port: fmt.Sprintf("p%s1", n.Name[1:])}
	}
	return tunnel(random.IntN(3))
}

// TestMasksCoverWhatTheySay: the classes leave out a tunnel's ports, and no rule takes a time to live that
// runs out.
func TestMasksCoverWhatTheySay(t *testing.T) {
	for port := range uint64(1 << 16) {
		count := 0
		for _, l := range whole(true, false) {
			if l.protocol == core.ProtocolUDP && l.fields[0].matches(bigEndian(port, 16)) {
				count++
			}
		}
		if want := number01(port < 4096 || port > 8191); count != want {
			t.Fatalf("port %d is of %d classes, not of %d", port, count, want)
		}
	}
	for ttl := range uint64(256) {
		count := 0
		for _, c := range ttls {
			count += number01(ttl&c.mask == c.value)
		}
		if want := number01(ttl >= 64); count != want {
			t.Fatalf("%d is of %d classes, not of %d", ttl, count, want)
		}
	}
}

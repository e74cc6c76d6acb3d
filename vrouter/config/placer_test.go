package config

import (
	"net/netip"
	"testing"
	"time"

	"windtunnel/vrouter/core"
)

// full is a configuration with so many different ways, all in use.
func full(ways int) Config {
	c := Config{
		Format: Format, Name: "full", Fabric: Fabric{Interface: "wire0", Address: netip.MustParseAddr("10.0.0.1")},
		Networks: []Network{{Name: "n1", Subnet: netip.MustParsePrefix("10.1.0.0/16"), Gateway: netip.MustParseAddr("10.1.0.254")}},
	}
	far := netip.MustParseAddr("172.16.0.1")
	for i := range ways {
		c.Routes = append(c.Routes, Route{Network: "n1", Prefix: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 9, byte(i >> 8), byte(i)}), 32),
			Via: Via{Tunnel: far, Encapsulation: MPLSoUDP, Label: 17}})
		far = far.Next()
	}
	return c
}

// TestFullNexthops: a full table of nexthops is made, and made again, without a look through all of it
// for each, which takes seconds in which the agent hears nobody.
func TestFullNexthops(t *testing.T) {
	c := full(core.MaxNexthops - 2) // one is the gateway's
	var image Image
	var err error
	for range 2 {
		previous := image
		begun := time.Now()
		if image, err = c.Image(Facts{FabricIfindex: 1, FabricMTU: 1500}, previous); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took > 2*time.Second {
			t.Errorf("it took %v", took)
		}
		if len(image.Nexthops) != core.MaxNexthops-1 {
			t.Errorf("there are %d nexthops", len(image.Nexthops))
		}
	}
}

// TestPlace: what was there keeps its slot, and what is new gets one that nobody has.
func TestPlace(t *testing.T) {
	p := placer[int, int]{what: "numbers", limit: 6, key: func(n int) int { return n / 10 }}
	previous, next := map[uint32]int{1: 10, 3: 30, 4: 31}, map[uint32]int{}
	for _, c := range []struct {
		record int
		slot   uint32
	}{{35, 3}, {20, 2}, {15, 1}, {21, 2}, {40, 5}} {
		if slot, err := p.place(previous, next, c.record); err != nil || slot != c.slot || next[slot] != c.record {
			t.Errorf("%d is at %d, not %d: %v", c.record, slot, c.slot, err)
		}
	}
	if _, err := p.place(previous, next, 50); err == nil || err.Error() != "the tables are full: 5 numbers, counting those that are being replaced" {
		t.Errorf("one more: %v", err)
	}
}

// TestSameLimits: a default that is named is no other limit.
func TestSameLimits(t *testing.T) {
	for _, same := range []Limits{{}, {Routes: DefaultRoutes}, {Flows: DefaultFlows}, {Routes: DefaultRoutes, Flows: DefaultFlows}} {
		if !same.Same(Limits{}) || !(Limits{}).Same(same) {
			t.Errorf("%+v is another limit", same)
		}
	}
	for _, other := range []Limits{{Routes: 1}, {Flows: 1}} {
		if other.Same(Limits{}) {
			t.Errorf("%+v is the default", other)
		}
	}
}

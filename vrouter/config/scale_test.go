package config

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"windtunnel/vrouter/core"
)

// randomPrefixes are so many different ones: IPv4 of 8 to 32 bits, and a share of IPv6 of 16 to 128.
func randomPrefixes(random *rand.Rand, count int, share6 float64) []netip.Prefix {
	seen := make(map[netip.Prefix]bool, count)
	list := make([]netip.Prefix, 0, count)
	for len(list) < count {
		a, length := randomAddress(random, false), 8+random.IntN(25)
		if random.Float64() < share6 {
			a, length = randomAddress(random, true), 16+random.IntN(113)
		}
		if prefix, _ := a.Prefix(length); !seen[prefix] {
			seen[prefix] = true
			list = append(list, prefix)
		}
	}
	return list
}

func randomAddress(random *rand.Rand, v6 bool) netip.Addr {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:], random.Uint64())
	binary.LittleEndian.PutUint64(b[8:], random.Uint64())
	if v6 {
		return netip.AddrFrom16(b)
	}
	return netip.AddrFrom4([4]byte(b[:4]))
}

// find is the definition again, for models too large to look at all of it: longest first.
func (m model) find(a netip.Addr) core.Route {
	for length := a.BitLen(); length >= 0; length-- {
		prefix, _ := a.Prefix(length)
		if route, ok := m[prefix]; ok {
			return route
		}
	}
	return 0
}

// TestMillion: a million random routes of both families are found, and take the room that the limit
// keeps for them; every one can be replaced or taken away again.
func TestMillion(t *testing.T) {
	const count = 1_000_000
	random := rand.New(rand.NewPCG(1, 2))
	prefixes, want := randomPrefixes(random, count, 0.5), make(model, count)
	for i, prefix := range prefixes {
		want[prefix] = core.MakeRoute(uint32(i%core.MaxNexthops), uint32(i), prefix.Bits())
	}
	m := newMemory(Limits{Routes: count}.Blocks())
	heap, begin := heapBytes(), time.Now()
	var next routeTable
	for prefix, route := range want {
		next.set(prefix, route)
	}
	built := time.Since(begin)
	m.commit(t, next)
	t.Logf("built in %v, in the table after %v; a route takes %d bytes of the table, %d of the agent", built.Round(time.Millisecond),
		time.Since(begin).Round(time.Millisecond), int(m.pool.next-1)*core.SizeBlock/count, (heapBytes()-heap)/count)
	for i := range 40_000 {
		a := randomAddress(random, i%2 == 0)
		if i%4 < 2 { // random IPv6 addresses have no route
			a = prefixes[random.IntN(count)].Addr()
		}
		if got := m.lookup(a); got != want.find(a) {
			t.Fatalf("%s: %x, not %x", a, uint64(got), uint64(want.find(a)))
		}
	}
	for _, prefix := range prefixes {
		next.set(prefix, 0)
	}
	m.release(m.commit(t, next).Retired)
	if used := int(m.pool.next) - 1 - len(m.pool.free); used != 0 || next.v4 != nil || next.v6 != nil {
		t.Errorf("%d blocks are left when all routes are gone", used)
	}
}

func heapBytes() int {
	var s runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&s)
	return int(s.HeapAlloc)
}

// routeSets are those that the README gives the table's bytes of.
var routeSets = map[string]func(*rand.Rand, int) []netip.Prefix{
	"hosts of full subnets": func(_ *rand.Rand, count int) (list []netip.Prefix) {
		for i := range count {
			var b [4]byte
			binary.BigEndian.PutUint32(b[:], 10<<24|uint32(i))
			list = append(list, netip.PrefixFrom(netip.AddrFrom4(b), 32))
		}
		return list
	},
	"hosts, one address in eight": func(random *rand.Rand, count int) (list []netip.Prefix) {
		for i := range count {
			var b [4]byte
			binary.BigEndian.PutUint32(b[:], 10<<24|uint32(i)*8+random.Uint32N(8))
			list = append(list, netip.PrefixFrom(netip.AddrFrom4(b), 32))
		}
		return list
	},
	"random IPv4 hosts": func(random *rand.Rand, count int) (list []netip.Prefix) {
		for range count {
			list = append(list, netip.PrefixFrom(randomAddress(random, false), 32))
		}
		return list
	},
	"random IPv4 /8 to /32":   func(random *rand.Rand, count int) []netip.Prefix { return randomPrefixes(random, count, 0) },
	"random IPv6 /16 to /128": func(random *rand.Rand, count int) []netip.Prefix { return randomPrefixes(random, count, 1) },
}

// BenchmarkBuild builds a table of 100,000 routes from nothing, and says what it takes.
func BenchmarkBuild(b *testing.B) {
	for name, set := range routeSets {
		b.Run(name, func(b *testing.B) {
			const count = 100_000
			prefixes := set(rand.New(rand.NewPCG(1, 2)), count)
			var m *memory
			for b.Loop() {
				m = newMemory(Limits{Routes: count}.Blocks())
				var next routeTable
				for _, prefix := range prefixes {
					next.set(prefix, core.MakeRoute(1, 0, prefix.Bits()))
				}
				m.commit(b, next)
			}
			b.ReportMetric(float64(m.pool.next-1)*core.SizeBlock/count, "B/route")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/count/float64(b.N), "ns/route")
		})
	}
}

// BenchmarkChange replaces one route of a million, and makes the plan for it.
func BenchmarkChange(b *testing.B) {
	for name, set := range routeSets {
		b.Run(name, func(b *testing.B) {
			const count = 1_000_000
			random := rand.New(rand.NewPCG(1, 2))
			prefixes, m := set(random, count), newMemory(Limits{Routes: count}.Blocks())
			var next routeTable
			for _, prefix := range prefixes {
				next.set(prefix, core.MakeRoute(1, 0, prefix.Bits()))
			}
			m.commit(b, next)
			made := 0
			for i := uint32(2); b.Loop(); i++ {
				prefix := prefixes[random.IntN(count)]
				next.set(prefix, core.MakeRoute(i&0xfffffff, 0, prefix.Bits()))
				plan := m.commit(b, next)
				made += len(plan.Prepare)
				m.release(plan.Retired)
			}
			b.ReportMetric(float64(made)/float64(b.N), "blocks/change")
		})
	}
}

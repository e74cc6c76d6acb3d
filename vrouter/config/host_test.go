package config

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"windtunnel/vrouter/built"
	"windtunnel/vrouter/core"
)

// hostRoutes compiles the look-up for the host: core/testdata/routes.c.
func hostRoutes(t *testing.T, sanitizers string) string {
	t.Helper()
	return built.C(t, "-O2", sanitizers, filepath.Join("..", "core", "testdata", "routes.c"))
}

// A script is what happens to the tables, as routes.c reads it.
type script struct{ bytes.Buffer }

const (
	stepEnd = iota
	stepBlock
	stepSwitch
	stepGrace
)

func (s *script) words(words ...uint32) {
	for _, w := range words {
		s.Write(binary.LittleEndian.AppendUint32(nil, w))
	}
}

// follow writes a plan down, and the switch to the table that it leads to.
func (s *script) follow(p Plan, to routeTable) {
	for _, w := range p.Prepare {
		s.words(stepBlock, w.Offset/core.SizeBlock)
		s.Write(w.Data)
	}
	s.words(stepSwitch, to.v4.settled(), to.v6.settled())
}

func (s *script) file(t *testing.T) string {
	t.Helper()
	s.words(stepEnd)
	path := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(path, s.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestHostLookup: the compiled C finds what the definition says, in tables of many random routes.
func TestHostLookup(t *testing.T) {
	program := hostRoutes(t, "address,undefined")
	random := rand.New(rand.NewPCG(3, 4))
	m, want := newMemory(Limits{Routes: 20_000}.Blocks()), model{}
	var next routeTable
	for i, prefix := range randomPrefixes(random, 20_000, 0.5) {
		want[prefix] = core.MakeRoute(uint32(i+1), uint32(random.IntN(1<<20)), prefix.Bits())
		next.set(prefix, want[prefix])
	}
	for _, prefix := range []string{"0.0.0.0/0", "128.0.0.0/1", "::/0", "8000::/2", "ffff:ffff:ffff:ffff::/64", "ffff:ffff:ffff:ffff::/68"} {
		prefix := netip.MustParsePrefix(prefix)
		want[prefix] = core.MakeRoute(99_999, 0, prefix.Bits())
		next.set(prefix, want[prefix])
	}
	var s script
	s.words(m.pool.size)
	s.follow(m.commit(t, next), next)
	var input strings.Builder
	var addresses []netip.Addr
	for prefix := range want {
		addresses = append(addresses, prefix.Addr(), randomAddress(random, !prefix.Addr().Is4()))
	}
	for _, a := range addresses {
		at := core.AddrOf(a)
		fmt.Fprintf(&input, "%d %x %x\n", map[bool]int{true: 1}[a.Is4()], at.Hi, at.Lo)
	}
	run := exec.Command(program, "look", s.file(t))
	run.Stdin = strings.NewReader(input.String())
	output, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	for i, line := range strings.Fields(string(output)) {
		if got, err := strconv.ParseUint(line, 16, 64); err != nil || core.Route(got) != want.find(addresses[i]) {
			t.Fatalf("%s: %s, not %x", addresses[i], line, uint64(want.find(addresses[i])))
		}
	}
}

// owner is what routes.c expects as the nexthop of a prefix's routes, but for the lowest bit.
func owner(prefix netip.Prefix) uint32 {
	a := core.AddrOf(prefix.Masked().Addr())
	mixed := (a.Hi ^ a.Lo*0x9e3779b97f4a7c15 ^ uint64(prefix.Bits())) * 0xff51afd7ed558ccd
	return uint32(mixed>>49) << 1
}

// TestChurnOnHost: while routes come and go, and blocks are used again, no look-up misses or finds
// another prefix's route, and the thread sanitizer sees that nothing is written where one may be.
func TestChurnOnHost(t *testing.T) {
	program := hostRoutes(t, "thread")
	random := rand.New(rand.NewPCG(5, 6))
	m := newMemory(32768)
	var next routeTable
	set := func(prefix netip.Prefix) {
		next.set(prefix, core.MakeRoute(owner(prefix)|random.Uint32N(2), 0, prefix.Bits()))
	}
	for _, prefix := range []string{"0.0.0.0/1", "128.0.0.0/1", "::/1", "8000::/1"} {
		set(netip.MustParsePrefix(prefix))
	}
	var s script
	s.words(m.pool.size)
	s.follow(m.commit(t, next), next)
	var retired []uint32
	for i := range 4_000 {
		for range 1 + random.IntN(3) {
			prefix := similarPrefix(random)
			if next.set(prefix, 0); random.IntN(3) > 0 {
				set(prefix)
			}
		}
		plan := m.commit(t, next)
		s.follow(plan, next)
		if retired = append(retired, plan.Retired...); i%32 == 0 {
			s.words(stepGrace)
			m.release(retired)
			retired = nil
		}
	}
	output, err := exec.Command(program, "churn", s.file(t), "2").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	t.Logf("%s look-ups", strings.TrimSpace(string(output)))
}

// similarPrefix has the first bits of addresses that routes.c looks up.
func similarPrefix(random *rand.Rand) netip.Prefix {
	b := make([]byte, 4+12*random.IntN(2))
	for i := range b {
		b[i] = []byte{0x00, 0x00, 0x01, 0x10, 0x7f, 0x80, 0xf0, 0xff}[random.IntN(8)]
	}
	a, _ := netip.AddrFromSlice(b)
	prefix, _ := a.Prefix(2 + random.IntN(min(a.BitLen(), 40)-1))
	return prefix
}

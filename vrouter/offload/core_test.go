package offload

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"windtunnel/vrouter/built"
	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
	"windtunnel/vrouter/internal/golden"
)

// compileHost compiles C of the core's tests for the host, with the sanitizers.
func compileHost(t *testing.T, source string) string {
	t.Helper()
	return built.C(t, "-O1", "address,undefined", filepath.Join(golden.Folder(), "testdata", source))
}

// runLines gives a program lines, and takes as many.
func runLines(t *testing.T, lines []string, program string, args ...string) []string {
	t.Helper()
	run := exec.Command(program, args...)
	run.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	var problems bytes.Buffer
	run.Stderr = &problems
	output, err := run.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, problems.String())
	}
	answers := strings.Split(strings.TrimRight(string(output), "\n"), "\n")
	if len(answers) != len(lines) {
		t.Fatalf("%d answers to %d lines", len(answers), len(lines))
	}
	return answers
}

// A coreHost is the C core with the tables of an image.
type coreHost struct {
	program, tables string
	slots           map[uint32]uint32 // by ifindex
}

func newCoreHost(t *testing.T, program string, m config.Image) coreHost {
	t.Helper()
	flat := m.Flat()
	h := coreHost{program: program, tables: filepath.Join(t.TempDir(), "tables"), slots: make(map[uint32]uint32)}
	if err := os.WriteFile(h.tables, bytes.Join(flat[:], nil), 0o600); err != nil {
		t.Fatal(err)
	}
	for slot, vif := range m.Vifs {
		h.slots[vif.Ifindex] = slot
	}
	return h
}

// An arrived frame, and the rule that it was made for.
type arrived struct {
	ifindex uint32
	frame   []byte
	rule    int
}

// An answer of the core.
type answer struct {
	op, drop string
	out      []byte
}

func (h coreHost) decide(t *testing.T, all []arrived) []answer {
	t.Helper()
	lines := make([]string, len(all))
	for i, a := range all {
		at, slot := "vif", h.slots[a.ifindex]
		if slot == 0 {
			at = "fabric"
		}
		lines[i] = fmt.Sprintf("%s %d 0 %x", at, slot, a.frame)
	}
	answers := make([]answer, len(all))
	for i, line := range runLines(t, lines, h.program, h.tables, "quick") {
		fields := strings.Split(line, " ")
		out, err := hex.DecodeString(fields[2])
		if err != nil {
			t.Fatal(err)
		}
		answers[i] = answer{fields[0], fields[1], out}
	}
	return answers
}

// TestHashAndPolicy: a flow's hash, its source port and bucket, and what a policy says of it, are as the
// core has them.
func TestHashAndPolicy(t *testing.T) {
	model := compileHost(t, "model.c")
	random := rand.New(rand.NewPCG(7, 8))
	allowed, asked := 0, 0
	for range 6 {
		policy := randomPolicy(random)
		path := filepath.Join(t.TempDir(), "policy")
		var record bytes.Buffer
		if err := binary.Write(&record, binary.LittleEndian, policy); err != nil || record.Len() != core.SizePolicy {
			t.Fatalf("%d bytes: %v", record.Len(), err)
		}
		if err := os.WriteFile(path, record.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		var flows []Flow
		var lines []string
		for range 2000 {
			f := randomFlow(random)
			family, from, to := core.FamilyIP6, core.AddrOf(f.Source), core.AddrOf(f.Destination)
			if f.Source.Is4() {
				family = core.FamilyIP4
			}
			flows = append(flows, f)
			lines = append(lines, fmt.Sprintf("%x %x %x %x %x %x %x %x %x", family, f.Protocol, from.Hi, from.Lo, to.Hi, to.Lo, f.From, f.To, 77))
		}
		for i, line := range runLines(t, lines, model, path) {
			f := flows[i]
			hash, out, in := f.hash(77), allows(policy, f, core.FlowOut), allows(policy, f, core.FlowIn)
			got := fmt.Sprintf("%d %d %d %d %d", hash, entropyPort(hash), bucket(hash), number01(out), number01(in))
			if got != line {
				t.Fatalf("%+v: %s, and the core has %s", f, got, line)
			}
			allowed, asked = allowed+number01(out), asked+1
		}
	}
	if allowed < asked/10 || allowed > asked*9/10 {
		t.Errorf("the policies allow %d of %d flows: that tests little", allowed, asked)
	}
}

func number01(b bool) int { return map[bool]int{true: 1}[b] }

func randomFlow(random *rand.Rand) Flow {
	address := func(six bool) netip.Addr {
		if six {
			return netip.AddrFrom16([16]byte{0: 0xfd, 15: byte(random.IntN(8))})
		}
		return netip.AddrFrom4([4]byte{10, 0, 1, byte(random.IntN(8))})
	}
	six := random.IntN(2) == 0
	f := Flow{Protocol: []uint8{core.ProtocolTCP, core.ProtocolUDP, core.ProtocolICMP}[random.IntN(3)], Source: address(six), Destination: address(six)}
	if hasPorts(f.Protocol) {
		f.From, f.To = uint16(random.Uint32N(100)), uint16(random.Uint32N(100))
	}
	return f
}

func randomPolicy(random *rand.Rand) core.Policy {
	p := core.Policy{ID: 1, Count: 8, Otherwise: random.Uint32N(2)}
	for i := range p.Count {
		r := core.Rule{FirstPort: uint16(random.Uint32N(100)), Allow: random.Uint32N(2)}
		r.LastPort = r.FirstPort + uint16(random.Uint32N(30))
		r.What = core.RuleWhat(uint8(random.IntN(2)), 4+2*uint8(random.IntN(2)), []uint8{6, 17}[random.IntN(2)])
		r.WhatMask = core.RuleWhat(0xff, uint8(255*random.IntN(2)), uint8(255*random.IntN(2)))
		r.Remote = core.AddrOf(randomFlow(random).Destination)
		r.Mask = core.Addr{Hi: ^uint64(0) << random.IntN(60), Lo: ^uint64(0) << random.IntN(4)}
		p.Rules[i] = r
	}
	return p
}

// TestRulesDoAsTheCore: the rules of the configuration that the golden packets meet, and of random ones.
func TestRulesDoAsTheCore(t *testing.T) {
	host := compileHost(t, "host.c")
	for _, target := range []Target{RTEFlow, Flower} {
		t.Run("golden "+string(target), func(t *testing.T) {
			m, o := goldenNode(t, target)
			hits := property(t, rand.New(rand.NewPCG(1, 2)), host, m, Translate(m, o), 2)
			if hits < 1000 {
				t.Errorf("only %d frames were a rule's", hits)
			}
		})
	}
	t.Run("random", func(t *testing.T) { randomConfigurations(t, host) })
}

// property is what the package promises: every frame that a rule matches leaves as the core lets it leave.
// It gives the number of frames that a rule took.
func property(t *testing.T, random *rand.Rand, host string, m config.Image, p Plan, each int) (hits int) {
	t.Helper()
	d := device{target: p.Target, mtu: map[uint32]int{m.Node.Ifindex: int(m.Node.MTU)}}
	rules := make(map[uint32][]int)
	for _, vif := range m.Vifs {
		d.mtu[vif.Ifindex] = int(vif.MTU)
	}
	var all []arrived
	for i, r := range p.Rules {
		rules[r.Ifindex] = append(rules[r.Ifindex], i)
		for n := range each {
			frame := sample(random, r, n > 0 && random.IntN(4) == 0)
			if random.IntN(8) == 0 && r.Actions[0].Do == Fits {
				frame = append(frame, make([]byte, 1500-random.IntN(200))...)
			}
			all = append(all, arrived{r.Ifindex, frame, i}, arrived{r.Ifindex, damaged(random, frame), i})
		}
	}
	taken := make([]int, len(p.Rules))
	for i, want := range newCoreHost(t, host, m).decide(t, all) {
		a := all[i]
		for _, n := range append(some(random, rules[a.ifindex]), a.rule) {
			if r := p.Rules[n]; d.matches(r, a.frame) {
				hits += check(t, d, m, r, a.frame, want)
				taken[n]++
			}
		}
	}
	for i, n := range taken {
		if n == 0 {
			t.Errorf("no frame was of the rule %q: nothing tests it", p.Rules[i].Name)
		}
	}
	return hits
}

// some are up to 30 of a list: rules overlap, and each must be right for what another was made for.
func some(random *rand.Rand, list []int) []int {
	if len(list) <= 30 {
		return slices.Clone(list)
	}
	at := random.IntN(len(list) - 30)
	return slices.Clone(list[at : at+30])
}

// check compares one frame; 1 if the rule took it.
func check(t *testing.T, d device, m config.Image, r Rule, frame []byte, want answer) int {
	t.Helper()
	got, ifindex, taken := d.runs(r, frame)
	if !taken {
		return 0
	}
	if got == nil { // dropped, for the reason that is counted
		if reason := r.Actions[0].Counter; want.op != "drop" || want.drop != reason {
			t.Fatalf("%s: the core says %s %s, not %s\n%x", r.Name, want.op, want.drop, reason, frame)
		}
		return 1
	}
	switch want.op {
	case "tunnel", "encap", "decap":
	default:
		t.Fatalf("%s: the core says %s %s\n%x", r.Name, want.op, want.drop, frame)
	}
	if expected := opened(r, want.out, got); !bytes.Equal(got, expected) {
		t.Fatalf("%s\nin   %x\ngot  %x\nwant %x", r.Name, frame, got, expected)
	}
	if deliveredTo(m, want.out) != ifindex {
		t.Fatalf("%s: out of interface %d, not of %d", r.Name, ifindex, deliveredTo(m, want.out))
	}
	return 1
}

// deliveredTo tells an interface by the MAC address that a frame goes to: in these tests each port has its
// own, and the rest is on the fabric.
func deliveredTo(m config.Image, frame []byte) uint32 {
	for _, vif := range m.Vifs {
		if bytes.Equal(frame[:6], mac(vif.MAC)) {
			return vif.Ifindex
		}
	}
	return m.Node.Ifindex
}

package kernel

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/cilium/ebpf"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
	"windtunnel/vrouter/internal/golden"
	"windtunnel/vrouter/internal/lab"
)

// TestManyRoutes: the kernel finds the longest of 20,000 random prefixes for every address, as the
// label of what leaves shows, also after half of them were changed.
func TestManyRoutes(t *testing.T) {
	lab.NeedRoot(t)
	cases, c := golden.Load(t)
	bed := newPacketBed(t, c)
	image, err := c.Image(golden.Facts(bed.ifindex), bed.plane.Image())
	if err != nil {
		t.Fatal(err)
	}
	rules, err := c.Rules()
	if err != nil {
		t.Fatal(err)
	}
	random, labels := rand.New(rand.NewPCG(1, 2)), make(map[netip.Prefix]uint32)
	change := func(changes []config.Change) {
		next, plan, err := image.Change(rules, golden.Facts(bed.ifindex), changes)
		if err != nil {
			t.Fatal(err)
		}
		bed.here.Must("writing blocks", bed.plane.Write(plan.Prepare))
		bed.here.Must("switching roots", bed.plane.Switch(plan.Switch))
		bed.here.Must("waiting", bed.plane.Quiesce())
		next.Release(plan.Retired)
		image = next
	}
	set := func(prefix netip.Prefix) config.Change {
		labels[prefix] = core.MinLabel + random.Uint32N(1<<20-core.MinLabel)
		return config.Change{Network: "network1", Prefix: prefix, Via: &config.Via{
			Tunnel: netip.MustParseAddr("10.0.0.2"), Encapsulation: config.MPLSoUDP, Label: labels[prefix],
		}}
	}
	var prefixes []netip.Prefix
	var changes []config.Change
	for len(prefixes) < 20_000 {
		prefix, _ := randomAddress(random).Prefix(8 + random.IntN(25))
		prefixes = append(prefixes, prefix)
		changes = append(changes, set(prefix))
	}
	change(changes)
	bed.sends(t, cases, random, prefixes, labels)
	changes = nil
	for i, prefix := range prefixes[:10_000] {
		if i%2 == 0 {
			changes = append(changes, set(prefix))
		} else {
			changes = append(changes, config.Change{Network: "network1", Prefix: prefix, Remove: true})
			delete(labels, prefix)
		}
	}
	change(changes)
	bed.sends(t, cases, random, prefixes, labels)
}

// randomAddress is one of a host that the golden configuration has no route to.
func randomAddress(random *rand.Rand) netip.Addr {
	return netip.AddrFrom4([4]byte{byte(11 + random.IntN(100)), byte(random.IntN(256)), byte(random.IntN(256)), byte(random.IntN(256))})
}

// sends lets the kernel forward packets to addresses of prefixes and to others, and looks at the labels.
func (b *packetBed) sends(t *testing.T, cases []golden.Case, random *rand.Rand, prefixes []netip.Prefix, labels map[netip.Prefix]uint32) {
	t.Helper()
	frame, err := hex.DecodeString(cases[1].In)
	if err != nil || cases[1].Name != "udp into a tunnel" {
		t.Fatalf("the case is %q: %v", cases[1].Name, err)
	}
	for i := range 4000 {
		to := randomAddress(random)
		if i%2 == 0 {
			to = prefixes[random.IntN(len(prefixes))].Addr()
		}
		if got, want := b.label(t, frame, to), longest(labels, to); got != want {
			t.Fatalf("%s leaves with label %d, not %d", to, got, want)
		}
	}
}

func longest(labels map[netip.Prefix]uint32, a netip.Addr) uint32 {
	for length := 32; length >= 0; length-- {
		prefix, _ := a.Prefix(length)
		if label, ok := labels[prefix]; ok {
			return label
		}
	}
	return 0
}

// label sends the frame to another address, and gives the label that it leaves with, 0 if it is dropped.
func (b *packetBed) label(t *testing.T, frame []byte, to netip.Addr) uint32 {
	t.Helper()
	in := append([]byte{}, frame...)
	copy(in[30:], to.AsSlice())
	binary.BigEndian.PutUint16(in[24:], 0)
	var sum uint32
	for i := 14; i < 34; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(in[i:]))
	}
	binary.BigEndian.PutUint16(in[24:], ^uint16(sum+sum>>16))
	options := &ebpf.RunOptions{Data: in, DataOut: make([]byte, len(in)+256), Context: skbContext{Ifindex: b.ifindex["vif1"]}}
	var action uint32
	b.here.Do(func() (err error) {
		action, err = b.plane.objects.VrVifIngress.Run(options)
		return err
	})
	if action == actionShot {
		return 0
	}
	return binary.BigEndian.Uint32(options.DataOut[14+20+8:]) >> 12
}

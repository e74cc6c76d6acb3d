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

// routedBed is a packetBed whose routes can change.
type routedBed struct {
	*packetBed
	image config.Image
	rules *config.Rules
}

func newRoutedBed(t *testing.T, c config.Config) *routedBed {
	t.Helper()
	b := &routedBed{packetBed: newPacketBed(t, c)}
	var err error
	b.image, err = c.Image(golden.Facts(b.ifindex), b.plane.Image())
	b.here.Must("making the image", err)
	b.rules, err = c.Rules()
	b.here.Must("making the rules", err)
	return b
}

func (b *routedBed) change(changes []config.Change) {
	next, plan, err := b.image.Change(b.rules, golden.Facts(b.ifindex), changes)
	b.here.Must("planning", err)
	b.here.Must("writing blocks", b.plane.Write(plan.Prepare))
	b.plane.Hosts().Forget(plan.Hosts)
	b.here.Must("switching roots", b.plane.Switch(plan.Switch))
	b.here.Must("waiting", b.plane.Quiesce())
	next.Release(plan.Retired)
	next.Remember(b.plane.Hosts(), plan.Hosts)
	b.image = next
}

// TestManyRoutes: the kernel finds the longest of 20,000 random prefixes for every address, as the
// label of what leaves shows, also after half of them were changed: of all lengths, and mostly of
// single addresses.
func TestManyRoutes(t *testing.T) {
	lab.NeedRoot(t)
	for name, lengths := range map[string][]int{
		"of all lengths": {8, 9, 10, 12, 14, 15, 16, 18, 19, 20, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32}, "hosts": {24, 28, 31, 32, 32, 32, 32, 32},
	} {
		t.Run(name, func(t *testing.T) { manyRoutes(t, lengths) })
	}
}

func manyRoutes(t *testing.T, lengths []int) {
	cases, c := golden.Load(t)
	bed := newRoutedBed(t, c)
	random, labels := rand.New(rand.NewPCG(1, 2)), make(map[netip.Prefix]uint32)
	set := func(prefix netip.Prefix) config.Change {
		labels[prefix] = core.MinLabel + random.Uint32N(1<<20-core.MinLabel)
		return config.Change{Network: "network1", Prefix: prefix, Via: &config.Via{
			Tunnel: netip.MustParseAddr("10.0.0.2"), Encapsulation: config.MPLSoUDP, Label: labels[prefix],
		}}
	}
	var prefixes []netip.Prefix
	var changes []config.Change
	for len(prefixes) < 20_000 {
		prefix, _ := randomAddress(random).Prefix(lengths[random.IntN(len(lengths))])
		prefixes = append(prefixes, prefix)
		changes = append(changes, set(prefix))
	}
	bed.change(changes)
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
	bed.change(changes)
	bed.sends(t, cases, random, prefixes, labels)
}

// TestHostsAlone: packets to single addresses pass without the route tables, until they are forgotten.
func TestHostsAlone(t *testing.T) {
	lab.NeedRoot(t)
	cases, c := golden.Load(t)
	bed := newRoutedBed(t, c)
	frame, err := hex.DecodeString(cases[1].In)
	bed.here.Must("reading a frame", err)
	var changes []config.Change
	var want []netip.Addr
	for i := range 200 {
		a := netip.AddrFrom4([4]byte{11, byte(i * 11), byte(i * 7), byte(i)})
		want = append(want, a)
		changes = append(changes, config.Change{Network: "network1", Prefix: netip.PrefixFrom(a, 32), Via: &config.Via{
			Tunnel: netip.MustParseAddr("10.0.0.2"), Encapsulation: config.MPLSoUDP, Label: uint32(100 + i),
		}})
	}
	bed.change(changes)
	for slot := range bed.image.VRFs { // root4 and root6 are one word
		roots := config.Write{Table: config.TableVRFs, Offset: slot*core.SizeVRF + 16, Data: make([]byte, 8)}
		bed.here.Must("taking the routes away", bed.plane.Switch([]config.Write{roots}))
	}
	found := 0
	for i, a := range want {
		switch bed.label(t, frame, a) {
		case uint32(100 + i):
			found++
		case 0:
		default:
			t.Errorf("%s leaves with another's label", a)
		}
	}
	if found < 190 {
		t.Errorf("%d of %d addresses are found", found, len(want))
	}
	plan := config.Diff(bed.image, config.Image{})
	bed.plane.Hosts().Forget(plan.Hosts)
	for _, a := range want {
		if bed.label(t, frame, a) != 0 {
			t.Errorf("%s is found, and was forgotten", a)
		}
	}
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
	action := b.give(b.plane.objects.VrVifIngress, options)
	if action == actionShot {
		return 0
	}
	return binary.BigEndian.Uint32(options.DataOut[14+20+8:]) >> 12
}

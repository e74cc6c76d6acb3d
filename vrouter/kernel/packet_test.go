package kernel

import (
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/cilium/ebpf"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
	"windtunnel/vrouter/internal/golden"
	"windtunnel/vrouter/internal/lab"
)

var actions = map[string]uint32{"pass": actionUnspec, "drop": actionShot}

// packetBed is a loaded data plane between interfaces that go nowhere.
type packetBed struct {
	here    *lab.Namespace
	there   *lab.Namespace
	plane   *Dataplane
	ifindex map[string]uint32
	far     map[string]*lab.Tap // what the interfaces' other ends receive
}

func newPacketBed(t *testing.T, c config.Config) *packetBed {
	return newSizedBed(t, c, Options{Name: "packets"})
}

func newSizedBed(t *testing.T, c config.Config, options Options) *packetBed {
	here, there := lab.NewNamespace(t), lab.NewNamespace(t)
	b := &packetBed{here: here, there: there, ifindex: make(map[string]uint32), far: make(map[string]*lab.Tap)}
	for i, name := range []string{"fabric", "vif1", "vif2", "vif3", "vif4", "vif5", "vif6", "vif7", "vif8", "vif9", "vif10"} {
		lab.Veth(here, name, there, name, 1500, "")
		here.SetMAC(name, fmt.Sprintf("02:00:00:00:00:%02x", 1+16*i))
		b.ifindex[name] = uint32(here.Link(name).Attrs().Index)
		b.far[name] = lab.NewTap(there, name)
	}
	here.Do(func() error {
		var err error
		if b.plane, err = Load(options); err != nil {
			return err
		}
		image, err := c.Image(golden.Facts(b.ifindex), b.plane.Image())
		if err != nil {
			return err
		}
		plan := config.Diff(b.plane.Image(), image)
		if err := b.plane.Write(plan.Prepare); err != nil {
			return err
		}
		for slot, vif := range image.Vifs {
			if err := b.plane.SetPort(vif.Ifindex, slot); err != nil {
				return err
			}
		}
		return b.plane.Switch(plan.Switch)
	})
	t.Cleanup(func() { b.plane.Close() })
	return b
}

// TestGoldenPackets lets the kernel run the programs on every golden frame, and adds up.
func TestGoldenPackets(t *testing.T) {
	lab.NeedRoot(t)
	cases, c := golden.Load(t)
	bed := newPacketBed(t, c)
	sent, flooded, copies := uint64(0), uint64(0), uint64(0)
	for _, k := range cases {
		t.Run(k.Name, func(t *testing.T) {
			if refusesAggregate(k) {
				t.Skip("skip: BPF_PROG_TEST_RUN makes aggregates of no type, which the kernel refuses to extend")
			}
			sent++
			if len(k.Copies) > 0 {
				flooded++
				copies += uint64(len(k.Copies))
			}
			bed.run(t, k)
		})
	}
	totals, err := bed.plane.Totals()
	if err != nil {
		t.Fatal(err)
	}
	if n := totals.Received().Packets; n != sent {
		t.Errorf("%d packets were counted, %d were sent", n, sent)
	}
	// Two more were for all: one fitted nobody, and of one link nobody else is here.
	if totals.Flooded.Packets != flooded+2 || totals.Copies.Packets != copies {
		t.Errorf("%d packets were flooded in %d copies, not %d in %d", totals.Flooded.Packets, totals.Copies.Packets, flooded+2, copies)
	}
}

// refusesAggregate: BPF_PROG_TEST_RUN makes aggregates of no type, which the kernel does not extend.
func refusesAggregate(k golden.Case) bool {
	return k.GSO != 0 && (k.Op == "tunnel" || k.Op == "bridge_tunnel")
}

func (b *packetBed) run(t *testing.T, k golden.Case) {
	program := b.plane.objects.VrVifIngress
	if k.At == "fabric" {
		program = b.plane.objects.VrFabricIngress
	}
	before := b.totals(t)
	in, _ := hex.DecodeString(k.In)
	context := skbContext{Ifindex: b.ifindex[k.At], GSOSize: k.GSO}
	if k.GSO != 0 {
		context.GSOSegs = (uint32(len(in)) + k.GSO - 1) / k.GSO
	}
	out := make([]byte, len(in)+256)
	options := &ebpf.RunOptions{Data: in, DataOut: out, Context: context}
	action := b.give(program, options)
	want, ok := actions[k.Op]
	if !ok {
		want = actionRedirect
	}
	after := b.totals(t)
	if action != want {
		t.Fatalf("action %d, not %d; lost: %s", action, want, lost(before, after))
	}
	if k.Op == "drop" {
		if got := lost(before, after); got != k.Drop {
			t.Errorf("dropped as %q, not %q", got, k.Drop)
		}
	} else if err := k.Compare(hex.EncodeToString(options.DataOut)); err != nil {
		t.Error(err)
	}
	for i := range max(len(k.Copies), 1) - 1 { // the last is the packet itself, which is not sent
		if err := k.Copy(i).Compare(hex.EncodeToString(b.far[k.Copies[i].At].Next())); err != nil {
			t.Errorf("copy %d: %v", i, err)
		}
	}
	addsUp(t, after)
}

// give runs a program in the bed's namespace, where the interfaces are.
func (b *packetBed) give(program *ebpf.Program, options *ebpf.RunOptions) (action uint32) {
	b.here.Do(func() (err error) {
		action, err = program.Run(options)
		return err
	})
	return action
}

func (b *packetBed) trace(at string, in []byte) (trace core.Trace) {
	b.here.Do(func() (err error) {
		trace, err = b.plane.Trace(b.ifindex[at], at == "fabric", in)
		return err
	})
	return trace
}

func (b *packetBed) totals(t *testing.T) core.Totals {
	totals, err := b.plane.Totals()
	if err != nil {
		t.Fatal(err)
	}
	return totals
}

func lost(before, after core.Totals) string {
	for i := range after.Drops {
		if after.Drops[i].Packets != before.Drops[i].Packets {
			return core.DropReasons[i].Name
		}
	}
	return ""
}

func addsUp(t *testing.T, totals core.Totals) {
	t.Helper()
	sum := totals.Dropped()
	for _, c := range []core.Count{totals.Forwarded, totals.Passed, totals.Answered} {
		sum.Add(c)
	}
	if sum != totals.Received() {
		t.Errorf("received %+v, accounted for %+v", totals.Received(), sum)
	}
}

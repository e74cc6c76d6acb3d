package poll

import (
	"encoding/hex"
	"fmt"
	"testing"
	"time"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
	"windtunnel/vrouter/internal/golden"
	"windtunnel/vrouter/internal/lab"
)

// bed is a process between interfaces whose other ends are the test's.
type bed struct {
	plane       *Plane
	here, there *lab.Namespace
	far         map[string]*lab.Tap
	arrived     *lab.Tap // what has come to the fabric
	send        map[string]func([]byte)
	ifindex     map[string]uint32
}

// testOptions leave the machine to others while nothing is to be done. Where there are two CPUs, both
// forward.
func testOptions(t *testing.T) Options {
	cpus, err := affinity()
	if err != nil {
		t.Fatal(err)
	}
	return Options{CPUs: cpus[:min(2, len(cpus))], Program: lab.PollProgram(t), Pause: 50 * time.Microsecond, Blocks: config.Limits{}.Blocks(), Hosts: config.Limits{}.HostBuckets()}
}

func newBed(t *testing.T, c config.Config) *bed {
	t.Helper()
	lab.NeedRoot(t)
	return newBedOf(t, c, testOptions(t))
}

func newBedOf(t *testing.T, c config.Config, options Options) *bed {
	t.Helper()
	here, there := lab.NewNamespace(t), lab.NewNamespace(t)
	b := &bed{here: here, there: there, far: make(map[string]*lab.Tap), send: make(map[string]func([]byte)), ifindex: make(map[string]uint32)}
	ifindex := b.ifindex
	for i, name := range []string{"fabric", "vif1", "vif2", "vif3", "vif4", "vif5", "vif6", "vif7", "vif8", "vif9", "vif10"} {
		lab.Veth(here, name, there, name, 3000, "")
		here.SetMAC(name, fmt.Sprintf("02:00:00:00:00:%02x", 1+16*i))
		ifindex[name] = uint32(here.Link(name).Attrs().Index)
		b.far[name] = lab.NewTap(there, name)
		b.send[name] = lab.Sender(there, name)
	}
	b.arrived = lab.NewTap(here, "fabric") // made before the process's sockets, it is given a frame after them
	var image config.Image
	here.Do(func() (err error) {
		b.plane, err = Start(options)
		return err
	})
	t.Cleanup(func() {
		if err := b.plane.Close(); err != nil {
			t.Error(err)
		}
	})
	image, err := c.Image(golden.Facts(ifindex), b.plane.Image())
	if err != nil {
		t.Fatal(err)
	}
	plan := config.Diff(b.plane.Image(), image)
	here.Must("writing", b.plane.Write(plan.Prepare))
	here.Must("switching", b.plane.Switch(plan.Switch))
	names := make(map[uint32]string)
	for name, number := range ifindex {
		names[number] = name
	}
	var vifs []config.Attachment
	for slot, vif := range image.Vifs {
		vifs = append(vifs, config.Attachment{Vif: slot, Ifindex: vif.Ifindex, Interface: names[vif.Ifindex], Driver: config.DriverPacket})
	}
	here.Do(func() error {
		return b.plane.Attach(config.Attachment{Ifindex: ifindex["fabric"], Interface: "fabric", Driver: config.DriverPacket}, vifs)
	})
	here.Must("waiting for a round", b.plane.Quiesce())
	return b
}

// TestQuotes: where there are several ways, an ICMP error has that of the flow that it is about.
func TestQuotes(t *testing.T) {
	quotes, c := golden.LoadQuotes(t)
	b := newBed(t, c)
	golden.CheckQuotes(t, quotes, func(at string, frame []byte) []byte {
		b.send[at](frame)
		out, err := hex.DecodeString(b.received(t))
		if err != nil {
			t.Fatal(err)
		}
		return out
	})
}

// TestGoldenPackets sends every golden frame through the process, and adds up.
func TestGoldenPackets(t *testing.T) {
	cases, c := golden.Load(t)
	b := newBed(t, c)
	sent := uint64(0)
	for _, k := range cases {
		t.Run(k.Name, func(t *testing.T) {
			if k.GSO != 0 {
				t.Skip("skip: poll mode gets no aggregates")
			}
			sent++
			b.run(t, k)
		})
	}
	b.accountedFor(t, sent)
}

func (b *bed) run(t *testing.T, k golden.Case) {
	before := b.totals(t)
	in, err := hex.DecodeString(k.In)
	if err != nil {
		t.Fatal(err)
	}
	b.send[k.At](in)
	var after core.Totals
	lab.Await(t, "the packet is in the account", func() bool {
		after = b.totals(t)
		return after.Received().Packets == before.Received().Packets+1 && addsUp(after)
	})
	if got := result(before, after); got != want(k) {
		t.Fatalf("it was %s, not %s", got, want(k))
	}
	switch {
	case k.Op == "drop" || k.Op == "pass":
		return
	case len(k.Copies) == 0:
		if err := k.Compare(b.received(t)); err != nil {
			t.Error(err)
		}
		return
	}
	for i, copy := range k.Copies {
		if err := k.Copy(i).Compare(hex.EncodeToString(b.far[copy.At].Next())); err != nil {
			t.Errorf("copy %d: %v", i, err)
		}
	}
}

// received is the frame that came out, wherever.
func (b *bed) received(t *testing.T) string {
	t.Helper()
	var got []byte
	lab.Await(t, "a frame comes out", func() bool {
		for _, tap := range b.far {
			if frame := tap.Pending(); frame != nil {
				got = frame
			}
		}
		return got != nil
	})
	return hex.EncodeToString(got)
}

var results = map[string]string{"arp": "answered", "echo": "answered", "too_big": "answered", "nd": "answered", "pass": "passed"}

func want(k golden.Case) string {
	if k.Op == "drop" {
		return "dropped as " + k.Drop
	}
	if r, ok := results[k.Op]; ok {
		return r
	}
	return "forwarded"
}

func result(before, after core.Totals) string {
	for i := range after.Drops {
		if after.Drops[i].Packets != before.Drops[i].Packets {
			return "dropped as " + core.DropReasons[i].Name
		}
	}
	switch {
	case after.Passed.Packets != before.Passed.Packets:
		return "passed"
	case after.Answered.Packets != before.Answered.Packets:
		return "answered"
	}
	return "forwarded"
}

// totals are those of all that has come out: a core writes its accounts after it has sent, so the rounds under way are
// waited for.
func (b *bed) totals(t *testing.T) core.Totals {
	t.Helper()
	b.here.Must("waiting for the rounds under way", b.plane.Quiesce())
	totals, err := b.plane.Totals()
	if err != nil {
		t.Fatal(err)
	}
	return totals
}

func addsUp(totals core.Totals) bool {
	sum := totals.Dropped()
	for _, c := range []core.Count{totals.Forwarded, totals.Passed, totals.Answered} {
		sum.Add(c)
	}
	return sum == totals.Received()
}

// accountedFor: all that were sent are counted once, in all and at the vifs.
func (b *bed) accountedFor(t *testing.T, sent uint64) {
	t.Helper()
	if n := b.counted(t); n != sent {
		t.Errorf("%d packets were counted, %d were sent", n, sent)
	}
	b.vifsAddUp(t)
}

// counted is how many packets are in the account.
func (b *bed) counted(t *testing.T) uint64 {
	t.Helper()
	totals := b.totals(t)
	return totals.Received().Packets
}

// vifsAddUp compares the vifs' accounts with that of all.
func (b *bed) vifsAddUp(t *testing.T) {
	t.Helper()
	totals, rx := b.totals(t), core.Count{}
	for vif := range uint32(core.MaxVifs) {
		count, err := b.plane.VifCount(vif)
		if err != nil {
			t.Fatal(err)
		}
		drops, err := b.plane.VifDrops(vif)
		if err != nil {
			t.Fatal(err)
		}
		rx.Add(count.Rx)
		sum, _ := drops.Dropped()
		sum.Add(count.Forwarded)
		sum.Add(count.Answered)
		if sum != count.Rx {
			t.Errorf("vif %d: received %+v, accounted for %+v", vif, count.Rx, sum)
		}
	}
	if rx != totals.ReceivedVif {
		t.Errorf("the vifs received %+v, in all it was %+v", rx, totals.ReceivedVif)
	}
}

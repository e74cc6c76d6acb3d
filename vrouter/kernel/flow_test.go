package kernel

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"sync"
	"testing"
	"time"

	"github.com/cilium/ebpf"

	"windtunnel/vrouter/core"
	"windtunnel/vrouter/internal/golden"
	"windtunnel/vrouter/internal/lab"
)

// TestFlowPackets lets the kernel run the programs on the frames of flow.json, each behind those before
// it; a trace says before what will become of one, and changes nothing.
func TestFlowPackets(t *testing.T) {
	lab.NeedRoot(t)
	cases, c := golden.LoadFlow(t)
	bed := newPacketBed(t, c)
	for _, k := range cases {
		t.Run(k.Name, func(t *testing.T) {
			before := bed.flows(t)
			in, _ := hex.DecodeString(k.In)
			trace := bed.trace(k.At, in)
			if op, drop := golden.Told(trace); op != k.Op || drop != k.Drop {
				t.Errorf("the trace: %s %s, not %s %s", op, drop, k.Op, k.Drop)
			}
			if after := bed.flows(t); after != before {
				t.Errorf("a trace left %d flows of %d", after, before)
			}
			bed.run(t, k)
			if after := bed.flows(t); k.Op == "drop" && after != before {
				t.Errorf("a lost packet left %d flows of %d", after, before)
			}
		})
	}
	totals := bed.totals(t)
	if n := totals.Received().Packets; n != uint64(len(cases)) {
		t.Errorf("%d packets were counted, %d were sent", n, len(cases))
	}
}

func (b *packetBed) flows(t *testing.T) uint64 {
	t.Helper()
	return golden.CountFlows(t, b.plane)
}

// TestMillionFlows: a table for a million flows has room for exactly so many and takes the memory that
// README.md says; in a full one, flows that are known go on, and room comes back as flows end.
func TestMillionFlows(t *testing.T) {
	lab.NeedRoot(t)
	const limit, left, tried = 1_000_000, 10, 30
	cases, c := golden.LoadFlow(t)
	for i, p := range c.Ports {
		if p.Network != c.Ports[0].Network {
			c.Ports[i].Flow.Policy = "" // a network that is alone may have the whole table
		}
	}
	bed := newSizedBed(t, c, Options{Name: "million", Flows: limit})
	if info, err := bed.plane.objects.VrFlows.Info(); err != nil {
		t.Fatal(err)
	} else if bytes, ok := info.Memlock(); ok {
		t.Logf("%d bytes a flow", bytes/limit)
		if bytes/limit > flowMemory {
			t.Errorf("a flow takes %d bytes; README.md says %d", bytes/limit, flowMemory)
		}
	}
	begun := time.Now()
	bed.fill(t, cases, limit-left)
	t.Logf("filled in %v", time.Since(begun))
	if n := bed.flows(t); n != limit-left || lost(core.Totals{}, bed.totals(t)) != "" {
		t.Fatalf("%d flows are there of %d; %v", n, limit-left, lost(core.Totals{}, bed.totals(t)))
	}
	reasons := make(map[string]int)
	for port := range tried {
		reasons[bed.query(t, cases, uint16(1000+port))]++
	}
	if reasons[""] != left || reasons["flow_table_full"] != tried-left {
		t.Errorf("of %d new flows, with room for %d: %v", tried, left, reasons)
	}
	if reason := bed.query(t, cases, 1000); reason != "" || bed.flows(t) != limit {
		t.Errorf("in a full table, a flow that is known: %q", reason)
	}
	begun = time.Now()
	removed, err := bed.plane.RemoveFlows(func(core.FlowKey, core.Flow) bool { return true })
	t.Logf("all ended in %v", time.Since(begun))
	if err != nil || removed != limit || bed.flows(t) != 0 {
		t.Errorf("%d of %d flows ended: %v", removed, limit, err)
	}
	if reason := bed.query(t, cases, 1000+tried); reason != "" {
		t.Errorf("in an empty table: %s", reason)
	}
	addsUp(t, bed.totals(t))
}

// flowMemory is what a flow takes at most, in bytes.
const flowMemory = 256

// queryFrame is the frame "ipv4: a query".
func queryFrame(t *testing.T, cases []golden.Case) []byte {
	t.Helper()
	for _, k := range cases {
		if k.Name == "ipv4: a query" {
			in, _ := hex.DecodeString(k.In)
			return in
		}
	}
	t.Fatal("flow.json has no such case")
	return nil
}

// fill makes so many flows of the first vif by packets, on two CPUs at once: from all ports to as many
// others as it takes.
func (b *packetBed) fill(t *testing.T, cases []golden.Case, count int) {
	t.Helper()
	const firstPort = 9000
	in := queryFrame(t, cases)
	var both sync.WaitGroup
	for half := range 2 {
		frame := bytes.Clone(in)
		both.Go(func() {
			b.here.Do(func() error {
				for n := half; n < count; n += 2 {
					binary.BigEndian.PutUint16(frame[14+20:], uint16(n))
					binary.BigEndian.PutUint16(frame[14+22:], uint16(firstPort+n>>16))
					if err := b.send(frame); err != nil {
						t.Errorf("flow %d: %v", n, err)
						return err
					}
				}
				return nil
			})
		})
	}
	both.Wait()
}

// query sends the frame "ipv4: a query" from another port, and gives the reason for which it was lost.
func (b *packetBed) query(t *testing.T, cases []golden.Case, port uint16) string {
	t.Helper()
	in := queryFrame(t, cases)
	binary.BigEndian.PutUint16(in[14+20:], port)
	before := b.totals(t)
	b.here.Do(func() error { return b.send(in) })
	return lost(before, b.totals(t))
}

// send lets the first vif have a frame.
func (b *packetBed) send(frame []byte) error {
	_, err := b.plane.objects.VrVifIngress.Run(&ebpf.RunOptions{Data: frame, Context: skbContext{Ifindex: b.ifindex["vif1"]}})
	return err
}

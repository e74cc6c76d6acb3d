package kernel

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"sync/atomic"
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
			var trace Trace
			bed.here.Do(func() (err error) {
				trace, err = bed.plane.Trace(bed.ifindex[k.At], k.At == "fabric", in)
				return err
			})
			if op, drop := told(trace); op != k.Op || drop != k.Drop {
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

// flows counts the entries, and compares them with what the network is said to have.
func (b *packetBed) flows(t *testing.T) (count uint64) {
	t.Helper()
	err := b.plane.EachFlow(func(core.FlowKey, core.Flow) error {
		count++
		return nil
	})
	if used := b.plane.FlowsOf(1); err != nil || used != count {
		t.Errorf("%d flows are there, %d are counted: %v", count, used, err)
	}
	return count
}

// TestMillionFlows: a table for a million flows has room for exactly so many and takes the memory that
// README.md says; in a full one, flows that are known go on, and room comes back as flows end.
func TestMillionFlows(t *testing.T) {
	lab.NeedRoot(t)
	const limit, left, tried = 1_000_000, 10, 30
	cases, c := golden.LoadFlow(t)
	bed := newSizedBed(t, c, Options{Name: "million", Flows: limit})
	if info, err := bed.plane.objects.VrFlows.Info(); err != nil {
		t.Fatal(err)
	} else if bytes, ok := info.Memlock(); ok {
		t.Logf("%d bytes a flow", bytes/limit)
		if bytes/limit > flowMemory {
			t.Errorf("a flow takes %d bytes; README.md says %d", bytes/limit, flowMemory)
		}
	}
	bed.fill(t, limit-left)
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
	begun := time.Now()
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
const flowMemory = 160

// fill makes so many flows of the first vif, as packets would.
func (b *packetBed) fill(t *testing.T, count int) {
	t.Helper()
	now := uint64(time.Now().UnixNano())
	for made := 0; made < count; {
		keys := make([]core.FlowKey, min(flowBatch, count-made))
		flows := make([]core.Flow, len(keys))
		for i := range keys {
			n := uint64(made + i)
			keys[i] = core.FlowKey{Remote: core.Addr{Hi: n << 32}, Vif: 1, Protocol: core.ProtocolUDP, Family: core.FamilyIP4}
			flows[i] = core.Flow{Seen: now, VRF: 1}
		}
		n, err := b.plane.objects.VrFlows.BatchUpdate(keys, flows, nil)
		if errors.Is(err, ebpf.ErrNotSupported) {
			t.Skip("skip: needs batches of map updates (Linux 5.6)")
		}
		if made += n; err != nil {
			t.Fatalf("flow %d: %v", made, err)
		}
	}
	atomic.AddUint64(b.plane.usedBy(1), uint64(count))
}

// query sends the frame "ipv4: a query" from another port, and gives the reason for which it was lost.
func (b *packetBed) query(t *testing.T, cases []golden.Case, port uint16) string {
	t.Helper()
	for _, k := range cases {
		if k.Name != "ipv4: a query" {
			continue
		}
		in, _ := hex.DecodeString(k.In)
		binary.BigEndian.PutUint16(in[14+20:], port)
		before := b.totals(t)
		b.here.Do(func() error {
			_, err := b.plane.objects.VrVifIngress.Run(&ebpf.RunOptions{Data: in, Context: skbContext{Ifindex: b.ifindex["vif1"]}})
			return err
		})
		return lost(before, b.totals(t))
	}
	t.Fatal("flow.json has no such case")
	return ""
}

package poll

import (
	"sync/atomic"
	"testing"
	"unsafe"

	"windtunnel/vrouter/core"
	"windtunnel/vrouter/internal/golden"
)

// TestFlowPackets sends the frames of flow.json through the process, each behind those before it; a trace
// says before what will become of one, and changes nothing.
func TestFlowPackets(t *testing.T) {
	cases, c := golden.LoadFlow(t)
	b := newBed(t, c)
	for _, k := range cases {
		t.Run(k.Name, func(t *testing.T) {
			before := b.flows(t)
			if op, drop := golden.Told(b.trace(t, k)); op != k.Op || drop != k.Drop {
				t.Errorf("the trace: %s %s, not %s %s", op, drop, k.Op, k.Drop)
			}
			if after := b.flows(t); after != before {
				t.Errorf("a trace left %d flows of %d", after, before)
			}
			b.run(t, k)
			if after := b.flows(t); k.Op == "drop" && after != before {
				t.Errorf("a lost packet left %d flows of %d", after, before)
			}
		})
	}
	b.accountedFor(t, uint64(len(cases)))
}

func (b *bed) flows(t *testing.T) uint64 {
	t.Helper()
	return golden.CountFlows(t, b.plane)
}

// TestFlowsOutliveTheProcess: flows that are known are so to the next process, too, and what the one that
// was killed had begun is neither an entry for ever, nor a flow of its network's quota.
func TestFlowsOutliveTheProcess(t *testing.T) {
	cases, c := golden.LoadFlow(t)
	named := make(map[string]golden.Case)
	for _, k := range cases {
		named[k.Name] = k
	}
	b := newBed(t, c)
	b.run(t, named["ipv4: a query"])
	vrf := uint32(0)
	err := b.plane.EachFlow(func(_ core.FlowKey, flow core.Flow) error {
		vrf = uint32(flow.VRF)
		return nil
	})
	if known := b.flows(t); err != nil || known != 1 || b.plane.FlowsOf(vrf) != 1 {
		t.Fatalf("there are %d flows after one query: %v", known, err)
	}
	entry := b.interrupted(vrf)
	b.plane.stop() // who watches the process is not in its namespace
	b.plane.watch.Wait()
	b.here.Must("killing the process", b.plane.process.command.Process.Kill())
	<-b.plane.process.done
	b.here.Do(func() error {
		b.plane.replace()
		return b.plane.Problem()
	})
	if known := b.flows(t); known != 1 || atomic.LoadUint32(&entry.Word) != 0 {
		t.Errorf("there are %d flows; what the process was filling has the word %#x", known, entry.Word)
	}
	b.run(t, named["ipv4: its answer"])
	b.vifsAddUp(t)
}

// interrupted leaves the table as a process does that is killed while it makes a flow.
func (b *bed) interrupted(vrf uint32) *core.FlowEntry {
	const busy, page, slot = 1, 2, 3
	head := (*core.FlowHead)(unsafe.Pointer(&b.plane.image.shared[0][0]))
	entry := (*core.FlowEntry)(unsafe.Pointer(&b.plane.image.shared[1][page*core.SizeFlowPage+slot*core.SizeFlowEntry]))
	atomic.AddUint64((*uint64)(unsafe.Pointer(&b.plane.image.shared[2][8*vrf])), 1)
	atomic.AddUint64(&head.Used, 1)
	entry.Key.LocalPort = 1
	atomic.StoreUint32(&entry.Word, busy)
	return entry
}

package kernel

import (
	"encoding/binary"
	"encoding/hex"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"windtunnel/vrouter/core"
	"windtunnel/vrouter/internal/golden"
	"windtunnel/vrouter/internal/lab"
)

// TestTraceGolden: a trace of every golden frame tells what the forwarding programs do with it, ends
// with the same bytes, and changes no counter.
func TestTraceGolden(t *testing.T) {
	lab.NeedRoot(t)
	cases, c := golden.Load(t)
	bed := newPacketBed(t, c)
	for _, k := range cases {
		in, _ := hex.DecodeString(k.In)
		if k.GSO != 0 || len(in) > MaxTraceFrame {
			continue
		}
		t.Run(k.Name, func(t *testing.T) {
			trace := bed.trace(k.At, in)
			op, drop := golden.Told(trace)
			if op != k.Op || drop != k.Drop {
				t.Fatalf("%s %s, not %s %s: %+v", op, drop, k.Op, k.Drop, trace.Steps)
			}
			if trace.TookOver != (op != "drop" && op != "pass") {
				t.Errorf("%s, and it would be sent: %t", op, trace.TookOver)
			}
			if op != "drop" {
				if err := k.Compare(hex.EncodeToString(trace.Out)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	totals := bed.totals(t)
	if n := totals.Received().Packets; n != 0 {
		t.Errorf("traces were counted as %d packets", n)
	}
}

// TestNoTraceInForwarding: the programs that forward have nothing of what traces.
func TestNoTraceInForwarding(t *testing.T) {
	forwarding, err := loadVr()
	if err != nil {
		t.Fatal(err)
	}
	tracing, err := loadTrace()
	if err != nil {
		t.Fatal(err)
	}
	fast, err := loadFast()
	if err != nil {
		t.Fatal(err)
	}
	own := map[string]bool{"vr_trace_logs": true, "vr_traces": true, "vr_trace_filters": true}
	for name := range tracing.Maps {
		if own[name] == (forwarding.Maps[name] != nil || fast.Maps[name] != nil) && !strings.HasPrefix(name, ".") {
			t.Errorf("the map %s: own to traces %t, in forwarding %t", name, own[name], !own[name])
		}
	}
	maps.Copy(forwarding.Programs, fast.Programs)
	for name := range forwarding.Programs {
		if tracing.Programs[name] != nil {
			t.Errorf("the program %s is among those that trace", name)
		}
	}
}

// TestTraceLog: Go reads the record as C wrote it.
func TestTraceLog(t *testing.T) {
	if size := binary.Size(traceVrTraceLog{}); size != 32+160*24+128 {
		t.Errorf("the record has %d bytes", size)
	}
	if _, err := core.ReadTrace(make([]byte, 10)); err == nil {
		t.Error("10 bytes were a trace")
	}
}

// TestWatch: live packets are recorded, and forwarded as ever.
func TestWatch(t *testing.T) {
	lab.NeedRoot(t)
	if !HaveTCX() {
		t.Skip("skip: needs tcx (Linux 6.6)")
	}
	_, c := golden.Load(t)
	bed := newPacketBed(t, c)
	bed.here.Do(func() error {
		watch, err := bed.plane.Watch(core.TraceFilter{}, []uint32{bed.ifindex["vif1"]}, bed.ifindex["fabric"])
		if err != nil {
			return err
		}
		if _, err := watch.Next(time.Now()); !os.IsTimeout(err) {
			t.Errorf("without a packet: %v", err)
		}
		return watch.Close()
	})
}

// TestVifAccounts: after all golden frames, every vif's account adds up, and the vifs' together are
// the node's, but for what belonged to nobody.
func TestVifAccounts(t *testing.T) {
	lab.NeedRoot(t)
	cases, c := golden.Load(t)
	bed := newPacketBed(t, c)
	for _, k := range cases {
		if !refusesAggregate(k) {
			bed.run(t, k)
		}
	}
	var all core.VifCount
	var lost core.VifDrops
	for slot := range bed.plane.Image().Vifs {
		count, err := bed.plane.VifCount(slot)
		if err != nil {
			t.Fatal(err)
		}
		drops, err := bed.plane.VifDrops(slot)
		if err != nil {
			t.Fatal(err)
		}
		sum, _ := drops.Dropped()
		sum.Add(count.Forwarded)
		sum.Add(count.Answered)
		if sum != count.Rx {
			t.Errorf("vif %d received %+v, accounted for %+v", slot, count.Rx, sum)
		}
		all.Add(count)
		lost.Add(drops)
	}
	totals := bed.totals(t)
	if all.Rx != totals.ReceivedVif || all.Answered != totals.Answered {
		t.Errorf("the vifs received %+v and answered %+v, the node %+v and %+v", all.Rx, all.Answered, totals.ReceivedVif, totals.Answered)
	}
	for i, name := range core.DropReasons {
		if from, to := lost.From[i].Packets, lost.To[i].Packets; from+to > totals.Drops[i].Packets+totals.CopyDrops[i].Packets {
			t.Errorf("%s: %d from and %d to vifs are more than the node's %d", name.Name, from, to, totals.Drops[i].Packets)
		}
	}
	if lost.To[core.DropECN].Packets == 0 || lost.From[core.DropSpoofedAddress].Packets == 0 {
		t.Errorf("losses to vifs %v, from vifs %v", lost.To, lost.From)
	}
}

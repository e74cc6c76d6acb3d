package kernel

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"windtunnel/vrouter/core"
)

// The methods in this file may be called while others are: the kernel keeps the table of flows.

// flowBatch is how many flows are read at a time.
const flowBatch = 4096

// EachFlow visits the flows, while packets make new ones: those that are there all the time are
// visited once.
func (d *Dataplane) EachFlow(visit func(core.FlowKey, core.Flow) error) error {
	keys, flows := make([]core.FlowKey, flowBatch), make([]core.Flow, flowBatch)
	var cursor ebpf.MapBatchCursor
	for {
		count, err := d.objects.VrFlows.BatchLookup(&cursor, keys, flows, nil)
		if err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
			return fmt.Errorf("reading the flows: %w", err)
		}
		for i := range count {
			if err := visit(keys[i], flows[i]); err != nil {
				return err
			}
		}
		if err != nil {
			return nil
		}
	}
}

// RemoveFlows removes the flows that are no longer wanted, and says how many there were. What is
// wanted is asked again when it comes to it: a packet may have come meanwhile.
func (d *Dataplane) RemoveFlows(unwanted func(core.FlowKey, core.Flow) bool) (removed int, err error) {
	err = d.EachFlow(func(key core.FlowKey, flow core.Flow) error {
		if !unwanted(key, flow) || d.objects.VrFlows.Lookup(key, &flow) != nil || !unwanted(key, flow) {
			return nil
		}
		switch err := d.objects.VrFlows.Delete(key); {
		case errors.Is(err, ebpf.ErrKeyNotExist):
			return nil
		case err != nil:
			return fmt.Errorf("removing a flow: %w", err)
		}
		atomic.AddUint64(d.usedBy(uint32(flow.VRF)), ^uint64(0))
		removed++
		return nil
	})
	return removed, err
}

// FlowsOf is how many flows a VRF has.
func (d *Dataplane) FlowsOf(vrf uint32) uint64 { return atomic.LoadUint64(d.usedBy(vrf)) }

func (d *Dataplane) usedBy(vrf uint32) *uint64 { return (*uint64)(unsafe.Pointer(&d.used[8*vrf])) }

// FlowIdle is how long ago a flow had its last packet.
func FlowIdle(flow core.Flow) time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(err) // every kernel has this clock
	}
	return time.Duration(now.Nano() - int64(flow.Seen))
}

// FlowTable is how many flows there is room for.
func (d *Dataplane) FlowTable() uint32 { return d.objects.VrFlows.MaxEntries() }

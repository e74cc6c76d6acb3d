package kernel

import (
	"fmt"

	"github.com/cilium/ebpf"

	"windtunnel/vrouter/config"
)

// Write changes the tables' memory, which no packet must refer to.
func (d *Dataplane) Write(writes []config.Write) error { return config.Memory(d.tables).Write(writes) }

// Switch changes words that packets read: [config.Memory.Switch].
func (d *Dataplane) Switch(writes []config.Write) error {
	return config.Memory(d.tables).Switch(writes)
}

// A barrier is a map of maps. The kernel comes back from an update of one only when no program can
// still use what was there before: it waits for an RCU grace period (kernel/bpf/syscall.c,
// maybe_wait_bpf_programs; kernel commit 1ae80cf31938). Programs at tc run inside one RCU read section
// a packet, so after it no packet follows what was switched away. membarrier(2) would do the same, but
// not on CPUs with nohz_full, and nothing at all on a machine with one CPU (kernel/sched/membarrier.c).
type barrier struct{ outer, inner *ebpf.Map }

func newBarrier() (barrier, error) {
	array := &ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 4, MaxEntries: 1}
	inner, err := ebpf.NewMap(array)
	if err != nil {
		return barrier{}, fmt.Errorf("making a map to wait by: %w", err)
	}
	outer, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.ArrayOfMaps, KeySize: 4, ValueSize: 4, MaxEntries: 1, InnerMap: array})
	if err != nil {
		inner.Close()
		return barrier{}, fmt.Errorf("making a map of maps to wait by: %w", err)
	}
	return barrier{outer, inner}, nil
}

func (b barrier) close() {
	b.outer.Close()
	b.inner.Close()
}

// Quiesce waits until every packet that was under way is through.
func (d *Dataplane) Quiesce() error {
	if err := d.barrier.outer.Put(uint32(0), d.barrier.inner); err != nil {
		return fmt.Errorf("waiting for packets under way: %w", err)
	}
	return nil
}

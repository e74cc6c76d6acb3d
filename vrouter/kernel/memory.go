package kernel

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"windtunnel/vrouter/config"
)

// Write changes the tables' memory, which no packet must refer to.
func (d *Dataplane) Write(writes []config.Write) error {
	for _, w := range writes {
		memory := d.tables[w.Table]
		if err := checkOffset(w, memory); err != nil {
			return err
		}
		copy(memory[w.Offset:], w.Data)
	}
	return nil
}

// Switch changes words that packets read, each with one store, which no CPU sees before what Write
// wrote earlier.
func (d *Dataplane) Switch(writes []config.Write) error {
	for _, w := range writes {
		memory := d.tables[w.Table]
		if err := checkOffset(w, memory); err != nil {
			return err
		}
		if len(w.Data) != 8 || w.Offset%8 != 0 {
			return fmt.Errorf("switching table %d: %d bytes at %d are no aligned word", w.Table, len(w.Data), w.Offset)
		}
		word := (*uint64)(unsafe.Pointer(&memory[w.Offset]))
		atomic.StoreUint64(word, binary.LittleEndian.Uint64(w.Data))
	}
	return nil
}

// membarrierGlobal waits for an RCU grace period: kernel/sched/membarrier.c calls synchronize_rcu.
// BPF programs at tc run inside one RCU read section a packet, so after it no packet follows what
// was switched away.
const membarrierGlobal = 1

// graceless is the wait where membarrier is not offered (CPUs with nohz_full): no packet takes it.
const graceless = 100 * time.Millisecond

// Quiesce waits until every packet that was under way is through.
func (d *Dataplane) Quiesce() {
	if _, _, errno := unix.Syscall(unix.SYS_MEMBARRIER, membarrierGlobal, 0, 0); errno != 0 {
		time.Sleep(graceless)
	}
}

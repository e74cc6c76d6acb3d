package config

import (
	"encoding/binary"
	"fmt"
	"math"
	"sync/atomic"
	"unsafe"
)

// Memory is the tables as they lie in the memory that packets are decided by.
type Memory [TableCount][]byte

// TableBytes is how long each table is, with room for so many blocks of the route tables and buckets
// of hosts.
func TableBytes(blocks, hosts uint32) (sizes [TableCount]int) {
	for table, records := range tableRecords {
		sizes[table] = records * RecordSize[table]
	}
	sizes[TableBlocks] = int(blocks) * RecordSize[TableBlocks]
	sizes[TableHosts] = int(hosts) * RecordSize[TableHosts]
	return sizes
}

// Write changes memory that no packet must refer to.
func (m Memory) Write(writes []Write) error {
	for _, w := range writes {
		if err := m.check(w); err != nil {
			return err
		}
		copy(m[w.Table][w.Offset:], w.Data)
	}
	return nil
}

// Switch changes words that packets read, each with one store, which no CPU sees before what Write
// wrote earlier.
func (m Memory) Switch(writes []Write) error {
	for _, w := range writes {
		if err := m.check(w); err != nil {
			return err
		}
		if len(w.Data) != 8 || w.Offset%8 != 0 {
			return fmt.Errorf("switching table %d: %d bytes at %d are no aligned word", w.Table, len(w.Data), w.Offset)
		}
		word := (*uint64)(unsafe.Pointer(&m[w.Table][w.Offset]))
		atomic.StoreUint64(word, binary.LittleEndian.Uint64(w.Data))
	}
	return nil
}

// check: a wrong offset must not reach the memory of another table.
func (m Memory) check(w Write) error {
	if uint64(w.Offset)+uint64(len(w.Data)) > uint64(len(m[w.Table])) || len(w.Data) > math.MaxInt32 {
		return fmt.Errorf("writing table %d: %d bytes at %d are outside it", w.Table, len(w.Data), w.Offset)
	}
	return nil
}

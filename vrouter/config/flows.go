package config

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"windtunnel/vrouter/core"
)

// Flows is the table of flows, vr_flow_table.h, in memory that packets find and make flows in. Only the
// agent takes some out: there must be one Flows for a table. Its methods may be called concurrently.
type Flows struct {
	head    *core.FlowHead
	pages   []core.FlowPage
	used    []uint64 // how many each VRF has
	passing sync.Mutex
	// emptying is held while entries change that are not valid, so that nobody reads a key that is
	// being written: packets are waited for, readers here are kept out.
	emptying sync.RWMutex
}

// The states of an entry, in the lowest bits of its word (enum vr_flow_entry_state).
const (
	entryEmpty = 0
	entryBusy  = 1
	entryValid = 2
	entryDead  = 3
	entryState = 3
)

// flowBatch is how many entries are dead at a time, at most: they take room until no packet sees them.
const flowBatch = 16384

// FlowPages is the size of the table for a limit of flows: twice as many entries, page 0, which has
// none, and one page, so that a small table is not one page only.
func FlowPages(limit uint32) uint32 {
	const slots = core.SizeFlowPage / core.SizeFlowEntry
	return (2*limit+slots-1)/slots + 2
}

// OpenFlows takes the memory of a table: its head, its pages and the counts by VRF. What is in it stays;
// a new one is all zero, and is prepared. Packets may be using it.
func OpenFlows(head, pages, used []byte, limit uint32) (*Flows, error) {
	count := FlowPages(limit)
	if len(head) < core.SizeFlowHead || uint64(len(pages)) < uint64(count)*core.SizeFlowPage || len(used) < 8*core.VRFSlots {
		return nil, fmt.Errorf("opening the table of flows: its memory has %d, %d and %d bytes, too few for %d flows", len(head), len(pages), len(used), limit)
	}
	f := &Flows{
		head:  (*core.FlowHead)(unsafe.Pointer(&head[0])),
		pages: unsafe.Slice((*core.FlowPage)(unsafe.Pointer(&pages[0])), count),
		used:  unsafe.Slice((*uint64)(unsafe.Pointer(&used[0])), core.VRFSlots),
	}
	switch had := atomic.LoadUint32(&f.head.Pages); had {
	case count - 1:
	case 0:
		var secret [5 * 8]byte
		if _, err := rand.Read(secret[:]); err != nil {
			return nil, fmt.Errorf("making the secret of the table of flows: %w", err)
		}
		for i := range f.head.Secret {
			f.head.Secret[i] = binary.LittleEndian.Uint64(secret[8*i:])
		}
	default:
		return nil, fmt.Errorf("opening the table of flows: it has %d pages, and %d flows take %d; the vRouter must be deleted and made anew", had, limit, count-1)
	}
	atomic.StoreUint32(&f.head.Limit, limit)
	atomic.StoreUint32(&f.head.Pages, count-1)
	return f, nil
}

// Limit is how many flows there may be.
func (f *Flows) Limit() uint32 { return atomic.LoadUint32(&f.head.Limit) }

// Count is how many there are.
func (f *Flows) Count() uint64 { return atomic.LoadUint64(&f.head.Used) }

// Of is how many flows a VRF has.
func (f *Flows) Of(vrf uint32) uint64 { return atomic.LoadUint64(&f.used[vrf]) }

// Each visits the flows, while packets make new ones: those that are there all the time are visited once.
func (f *Flows) Each(visit func(core.FlowKey, core.Flow) error) error {
	var found []core.FlowEntry
	for p := 1; p < len(f.pages); p++ {
		found = f.validOf(&f.pages[p], found[:0])
		for i := range found {
			if err := visit(found[i].Key, found[i].Flow); err != nil {
				return err
			}
		}
	}
	return nil
}

// validOf copies the valid entries of a page.
func (f *Flows) validOf(page *core.FlowPage, to []core.FlowEntry) []core.FlowEntry {
	f.emptying.RLock()
	defer f.emptying.RUnlock()
	for i := range page.Entries {
		if e := &page.Entries[i]; atomic.LoadUint32(&e.Word)&entryState == entryValid {
			to = append(to, core.FlowEntry{Key: e.Key, Flow: flowOf(e)})
		}
	}
	return to
}

// flowOf reads what packets are changing, word by word.
func flowOf(e *core.FlowEntry) core.Flow {
	flow := core.Flow{Seen: atomic.LoadUint64(&e.Flow.Seen), Marks: atomic.LoadUint32(&e.Flow.Marks), VRF: e.Flow.VRF, Opener: e.Flow.Opener, Steps: e.Flow.Steps}
	for i := range flow.Packets {
		flow.Packets[i], flow.Bytes[i] = atomic.LoadUint64(&e.Flow.Packets[i]), atomic.LoadUint64(&e.Flow.Bytes[i])
	}
	return flow
}

// Remove takes the flows out that are no longer wanted, and says how many there were. What is dead is
// emptied after quiesce, which waits until every packet that was under way is through.
func (f *Flows) Remove(unwanted func(core.FlowKey, core.Flow) bool, quiesce func() error) (removed int, err error) {
	f.passing.Lock()
	defer f.passing.Unlock()
	most := max(min(flowBatch, int(f.Limit()/16)), 1)
	var dead []deadEntry
	for p := 1; p < len(f.pages); p++ {
		for slot := range f.pages[p].Entries {
			e := &f.pages[p].Entries[slot]
			word := atomic.LoadUint32(&e.Word)
			if word&entryState == entryValid && unwanted(e.Key, flowOf(e)) && f.kill(e, word) {
				word |= entryDead
				removed++
			}
			// What was dead before, a CPU ended that had made a flow twice, or a process that ended here.
			if word&entryState == entryDead {
				dead = append(dead, deadEntry{&f.pages[p], slot})
			}
			if len(dead) == most {
				if err := f.empty(dead, quiesce); err != nil {
					return removed, err
				}
				dead = dead[:0]
			}
		}
	}
	return removed, f.empty(dead, quiesce)
}

// kill ends a flow, unless it was ended meanwhile, and counts it off.
func (f *Flows) kill(e *core.FlowEntry, word uint32) bool {
	if !atomic.CompareAndSwapUint32(&e.Word, word, word|entryDead) {
		return false
	}
	if vrf := int(e.Flow.VRF); vrf < len(f.used) {
		atomic.AddUint64(&f.used[vrf], ^uint64(0))
	}
	atomic.AddUint64(&f.head.Used, ^uint64(0))
	return true
}

type deadEntry struct {
	page *core.FlowPage
	slot int
}

// empty gives dead entries back. Nobody sees them any more when the wait is over; whoever made one has
// set its bit by then.
func (f *Flows) empty(dead []deadEntry, quiesce func() error) error {
	if len(dead) == 0 {
		return nil
	}
	if err := quiesce(); err != nil {
		return fmt.Errorf("emptying entries of the table of flows: %w", err)
	}
	f.emptying.Lock()
	defer f.emptying.Unlock()
	for _, d := range dead {
		e, slots := &d.page.Entries[d.slot], len(d.page.Entries)
		home := &d.page.Entries[(d.slot+slots-int(e.Flow.Steps))%slots]
		atomic.AndUint32(&home.Reach, ^(uint32(1) << e.Flow.Steps))
		e.Key, e.Flow = core.FlowKey{}, core.Flow{}
		atomic.StoreUint32(&e.Word, entryEmpty)
	}
	return nil
}

// Recover mends what a process left that was killed in the middle of a packet, before another one begins:
// entries that it was filling are empty, those that no packet could find are dead, and the counts are
// those of the flows that are there. No packet may come meanwhile.
func (f *Flows) Recover() {
	f.passing.Lock()
	defer f.passing.Unlock()
	f.emptying.Lock()
	defer f.emptying.Unlock()
	used, all := make([]uint64, len(f.used)), uint64(0)
	for p := 1; p < len(f.pages); p++ {
		for slot := range f.pages[p].Entries {
			e := &f.pages[p].Entries[slot]
			f.mend(&f.pages[p], slot)
			if e.Word&entryState == entryValid {
				if vrf := int(e.Flow.VRF); vrf < len(used) {
					used[vrf]++
				}
				all++
			}
		}
	}
	for vrf, count := range used {
		atomic.StoreUint64(&f.used[vrf], count)
	}
	atomic.StoreUint64(&f.head.Used, all)
}

// mend is for an entry that nobody is at work with.
func (f *Flows) mend(page *core.FlowPage, slot int) {
	e, slots := &page.Entries[slot], len(page.Entries)
	switch e.Word & entryState {
	case entryBusy: // no home has its bit yet
		e.Key, e.Flow = core.FlowKey{}, core.Flow{}
		atomic.StoreUint32(&e.Word, entryEmpty)
	case entryValid:
		if home := &page.Entries[(slot+slots-int(e.Flow.Steps))%slots]; home.Reach>>e.Flow.Steps&1 == 0 {
			atomic.StoreUint32(&e.Word, e.Word|entryDead)
		}
	}
}

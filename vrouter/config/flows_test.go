package config_test

import (
	"errors"
	"testing"
	"unsafe"

	"windtunnel/vrouter/config"
	"windtunnel/vrouter/core"
)

// flowBed is a table of flows in plain memory, into which entries are put by hand: packets would.
type flowBed struct {
	*config.Flows
	head  []core.FlowHead
	pages []core.FlowPage
	used  []uint64
}

func bytesOf[T any](records []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&records[0])), uintptr(len(records))*unsafe.Sizeof(records[0]))
}

func openFlows(t *testing.T, limit uint32) flowBed {
	t.Helper()
	b := flowBed{head: make([]core.FlowHead, 1), pages: make([]core.FlowPage, config.FlowPages(limit)), used: make([]uint64, core.VRFSlots)}
	var err error
	if b.Flows, err = config.OpenFlows(bytesOf(b.head), bytesOf(b.pages), bytesOf(b.used), limit); err != nil {
		t.Fatal(err)
	}
	return b
}

// The words of entries, with some bits of a hash.
const validWord, deadWord = 0xabcd2, 0xabcd3

// put makes a flow of VRF 3 whose home is so many steps before its slot.
func (b flowBed) put(page, slot, steps int, word uint32, port uint16) *core.FlowEntry {
	e := &b.pages[page].Entries[slot]
	e.Word, e.Key, e.Flow = word, core.FlowKey{LocalPort: port}, core.Flow{VRF: 3, Steps: uint8(steps)}
	b.pages[page].Entries[(slot+32-steps)%32].Reach |= 1 << steps
	if word == validWord {
		b.used[3]++
		b.head[0].Used++
	}
	return e
}

// TestFlowsRemove: what is not wanted is dead until no packet sees it, and empty then; it is counted off
// once, and the bits of other flows stay.
func TestFlowsRemove(t *testing.T) {
	b := openFlows(t, 64)
	kept, first := b.put(1, 5, 0, validWord, 1), b.put(1, 2, 29, validWord, 2) // at home in slot 5, too
	twice := b.put(2, 31, 1, deadWord, 3)
	quiet := 0
	removed, err := b.Remove(func(k core.FlowKey, _ core.Flow) bool { return k.LocalPort != 1 }, func() error {
		if quiet++; first.Word != deadWord && first.Word != 0 {
			t.Errorf("while packets may see it, its word is %#x", first.Word)
		}
		return nil
	})
	if err != nil || removed != 1 || quiet == 0 || b.Of(3) != 1 || b.Count() != 1 {
		t.Errorf("%d removed after %d waits, %d and %d are counted: %v", removed, quiet, b.Of(3), b.Count(), err)
	}
	if first.Word != 0 || first.Key != (core.FlowKey{}) || twice.Word != 0 || kept.Word != validWord {
		t.Errorf("the words are %#x, %#x and %#x", first.Word, twice.Word, kept.Word)
	}
	if kept.Reach != 1 || b.pages[2].Entries[30].Reach != 0 {
		t.Errorf("the bits are %#x and %#x", kept.Reach, b.pages[2].Entries[30].Reach)
	}
	var ports []uint16
	err = b.Each(func(k core.FlowKey, f core.Flow) error {
		ports = append(ports, k.LocalPort)
		return nil
	})
	if err != nil || len(ports) != 1 || ports[0] != 1 {
		t.Errorf("there are %v: %v", ports, err)
	}
}

// TestFlowsWait: an entry whose wait fails stays dead, and the next look empties it and counts nothing.
func TestFlowsWait(t *testing.T) {
	b := openFlows(t, 64)
	e := b.put(1, 5, 3, validWord, 1)
	all := func(core.FlowKey, core.Flow) bool { return true }
	failed := errors.New("no wait")
	if removed, err := b.Remove(all, func() error { return failed }); removed != 1 || !errors.Is(err, failed) || e.Word != deadWord || b.Count() != 0 {
		t.Errorf("%d removed, the word is %#x: %v", removed, e.Word, err)
	}
	if removed, err := b.Remove(all, func() error { return nil }); removed != 0 || err != nil || e.Word != 0 || b.Count() != 0 || b.Of(3) != 0 {
		t.Errorf("%d removed, the word is %#x: %v", removed, e.Word, err)
	}
}

// TestOpenFlows: a table that is there keeps its secret and its flows; another size is refused.
func TestOpenFlows(t *testing.T) {
	b := openFlows(t, 64)
	b.put(1, 5, 0, validWord, 1)
	secret := b.head[0].Secret
	if secret == [5]uint64{} || b.head[0].Pages != uint32(len(b.pages)-1) || b.Limit() != 64 {
		t.Errorf("a new table has the head %+v", b.head[0])
	}
	again, err := config.OpenFlows(bytesOf(b.head), bytesOf(b.pages), bytesOf(b.used), 60)
	if err != nil || b.head[0].Secret != secret || again.Count() != 1 || again.Limit() != 60 {
		t.Errorf("opened again it has the head %+v: %v", b.head[0], err)
	}
	if _, err := config.OpenFlows(bytesOf(b.head), bytesOf(b.pages), bytesOf(b.used), 10); err == nil {
		t.Error("a table of another size is taken")
	}
	if _, err := config.OpenFlows(bytesOf(b.head), bytesOf(b.pages[:2]), bytesOf(b.used), 64); err == nil {
		t.Error("a table is larger than its memory")
	}
}

// TestFlowsRecover: what a process left that was killed amid a packet is put right: an entry that was being
// filled, one that no packet can find, and counts that were ahead of the flows.
func TestFlowsRecover(t *testing.T) {
	const busyWord, limit = 1, 64
	b := openFlows(t, limit)
	kept := b.put(1, 5, 2, validWord, 1)
	filling, hidden := &b.pages[2].Entries[7], b.put(2, 9, 3, validWord, 2)
	filling.Word, filling.Key.LocalPort, filling.Flow.VRF = busyWord, 9, 200
	b.pages[2].Entries[6].Reach = 0
	b.used[3], b.used[200], b.head[0].Used = 77, 5, 99
	b.Recover()
	if *filling != (core.FlowEntry{Reach: filling.Reach}) || hidden.Word&3 != deadWord&3 || kept.Word != validWord {
		t.Errorf("the entries are %+v, %+v and %+v", *filling, *hidden, *kept)
	}
	if b.Of(3) != 1 || b.Of(200) != 0 || b.Count() != 1 {
		t.Errorf("the counts are %d, %d and %d in all", b.Of(3), b.Of(200), b.Count())
	}
	if n, err := b.Remove(func(core.FlowKey, core.Flow) bool { return true }, func() error { return nil }); n != 1 || err != nil {
		t.Errorf("%d flows are removed: %v", n, err)
	}
	for page := range b.pages {
		for slot, e := range b.pages[page].Entries {
			if e != (core.FlowEntry{}) {
				t.Errorf("entry %d of page %d has %+v", slot, page, e)
			}
		}
	}
}

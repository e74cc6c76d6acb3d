package datagram

import (
	"encoding/binary"
	"testing"

	"pgregory.net/rapid"
)

// model is a window that remembers everything.
type model struct {
	size, memory uint64
	next         uint64
	come         map[uint64]bool
}

func (m *model) take(seq uint64) (place, uint64) {
	if seq >= m.next {
		skipped := seq - m.next
		m.next, m.come[seq] = seq+1, true
		return inOrder, skipped
	}
	back := m.next - seq
	if back <= m.memory && m.come[seq] {
		return again, 0
	}
	if back > m.size {
		m.come[seq] = true
		return givenUp, 0
	}
	m.come[seq] = true
	return behind, 0
}

func agree(t interface{ Fatalf(string, ...any) }, size, memory int, first uint64, numbers []uint64) {
	w := newWindow(size, memory, first)
	m := model{size: powerOfTwo(size), memory: max(powerOfTwo(size), powerOfTwo(memory)), next: first, come: map[uint64]bool{}}
	for i, seq := range numbers {
		p, skipped := w.take(seq)
		if wantP, wantSkipped := m.take(seq); p != wantP || skipped != wantSkipped {
			t.Fatalf("number %d, %d: got %d and %d skipped, want %d and %d", i, seq, p, skipped, wantP, wantSkipped)
		}
	}
}

func TestWindowAgreesWithAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := rapid.Uint64Range(0, 1000).Draw(t, "first")
		at := first
		numbers := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) uint64 {
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0: // far ahead
				at += rapid.Uint64Range(1, 500).Draw(t, "jump")
			case 1, 2: // back
				return at - min(at-first, rapid.Uint64Range(0, 300).Draw(t, "back"))
			default:
				at++
			}
			return at
		}), 0, 400).Draw(t, "numbers")
		sizes := rapid.SampledFrom([]int{1, 64, 65, 128, 256})
		agree(t, sizes.Draw(t, "size"), sizes.Draw(t, "memory"), first, numbers)
	})
}

func FuzzWindow(f *testing.F) {
	f.Add([]byte{0, 0, 1, 0, 1, 0, 3, 0, 2, 0})
	f.Add([]byte{0, 0, 255, 255, 0, 0, 191, 255, 192, 255})
	f.Fuzz(func(t *testing.T, b []byte) {
		var numbers []uint64
		for ; len(b) >= 2; b = b[2:] {
			n := uint64(binary.LittleEndian.Uint16(b))
			if n > 0xfff0 { // as far as it goes
				n <<= 48
			}
			numbers = append(numbers, min(n, 1<<63))
		}
		agree(t, 128, 512, 0, numbers)
	})
}

// TestWhatComesAgainLateIsNoLateNumber: it would be taken for one that had not come, and hide a loss.
func TestWhatComesAgainLateIsNoLateNumber(t *testing.T) {
	a := newTally(64, remember(1), 0, false)
	for seq := range uint64(100_000) {
		if seq != 500 && seq != 600 {
			a.take(Stamp{Seq: seq}, 100, 0)
		}
	}
	for _, seq := range []uint64{7, 500, 500, 8, 99_000} {
		a.take(Stamp{Seq: seq}, 100, 0)
	}
	if c := a.counts(true); c.Lost != 1 || c.Late != 1 || c.Duplicate != 4 || c.Expected != 100_000 || c.Packets != 99_998 {
		t.Errorf("of 100000 one was lost, one late, and four came again: counted %+v", c)
	}
}

// TestManyFlowsRememberLess: their memory is bounded, and none has less than its window.
func TestManyFlowsRememberLess(t *testing.T) {
	for flows, want := range map[int]uint64{0: remembered, 1: remembered, 128: remembered, 129: remembered, 1 << 12: 1 << 15, 1 << 20: 128} {
		if got := newWindow(64, remember(flows), 0).mask + 1; got > want || got < 64 {
			t.Errorf("%d flows remember %d numbers each, want %d at most", flows, got, want)
		}
	}
	if w := newWindow(1<<18, remember(1<<20), 0); w.mask+1 != 1<<18 || w.size != 1<<18 {
		t.Errorf("a window of %d numbers remembers %d", w.size, w.mask+1)
	}
}

func TestTallyCountsAsIperf3DoesBesideTheTruth(t *testing.T) {
	a := newTally(64, 64, 1, false)
	for _, seq := range []uint64{1, 2, 5, 3, 3, 6, 200, 100, 201} {
		a.take(Stamp{Seq: seq}, 100, 0)
	}
	c := a.counts(true)
	// 3 and 4 are skipped, then 7 to 199; 3 twice and 100 take an error back each.
	if c.IperfErrors != 2+193-3 || c.IperfOutOfOrder != 3 || c.Highest != 201 {
		t.Errorf("iperf3 would count %d errors, %d out of order of %d", c.IperfErrors, c.IperfOutOfOrder, c.Highest)
	}
	if c.Packets != 7 || c.Duplicate != 1 || c.Reordered != 1 || c.Late != 1 || c.Expected != 201 || c.Lost != 193 || c.Bytes != 700 {
		t.Errorf("counted %+v", c)
	}
}

// TestJitter is the estimator of RFC 3550, appendix A.8, by hand.
func TestJitter(t *testing.T) {
	a := newTally(64, 64, 0, false)
	want := 0.0
	for i, transit := range []int64{1000, 3000, 2000, 2000, 9000} {
		sent := int64(i+1) * 1_000_000
		a.take(Stamp{Seq: uint64(i), Sent: sent}, 1, sent+transit)
		want += ([]float64{0, 2000, 1000, 0, 7000}[i] - want) / 16
	}
	if got := a.counts(true).Jitter * 1e9; got < want-2 || got > want+2 {
		t.Errorf("got %g ns, want %g", got, want)
	}
}

func TestShortHeadersUnwrap(t *testing.T) {
	a := newTally(64, 64, 0, true)
	codec := shortHeader{testKey}
	a.window.next = 1<<32 - 3
	a.first = a.window.next
	b := make([]byte, shortSize)
	sent := int64(1<<40) - 1000
	for i := range uint64(6) {
		sent += 10_000 // the times wrap, too
		codec.Put(b, Stamp{Seq: 1<<32 - 3 + i, Sent: sent, Intended: sent - 512})
		s, ok := codec.Get(b)
		if !ok || s.Sent-s.Intended != 512 {
			t.Fatalf("read %+v, %t", s, ok)
		}
		a.take(s, shortSize, sent)
	}
	c := a.counts(true)
	if c.Packets != 6 || c.Lost != 0 || c.Highest != 1<<32+2 || c.Jitter > 1e-6 {
		t.Errorf("counted %+v", c)
	}
}

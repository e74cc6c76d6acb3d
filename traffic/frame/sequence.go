package frame

import (
	"math/bits"
	"sync/atomic"

	"windtunnel/result"
)

// A sink remembers by flow the number after the highest that came, how many of the window's frames came, and in a ring
// of words which numbers came: 32 numbers a word, beside them their block (number
// / 32). A newer block takes its word over, so nothing is ever cleared, and what
// belongs to an older block is late. frame_sink.bpf.c does the same.
const (
	blockBits     = 5
	wordsTogether = 1 << 21 // 16 MiB of them, however many flows
	wordsAtLeast  = 2
	wordsAtMost   = 2048
	jump          = 1 << 31 // a number so much higher than any before is none of ours
)

// wordsPerFlow is a power of two.
func wordsPerFlow(flows uint32) uint32 {
	fair := max(uint32(wordsTogether/flows), wordsAtLeast)
	return min(uint32(1)<<(bits.Len32(fair)-1), wordsAtMost)
}

// totals is what became of the frames of one phase.
type totals struct {
	packets   uint64 // each number once
	bytes     uint64 // of them, FCS counted
	skipped   uint64 // numbers that a higher one passed by; they may come yet
	reordered uint64
	duplicate uint64
	late      uint64
	corrupt   uint64
	merged    uint64 // came as part of an aggregate, and were not told apart
}

func (t *totals) add(o totals) {
	t.packets += o.packets
	t.bytes += o.bytes
	t.skipped += o.skipped
	t.reordered += o.reordered
	t.duplicate += o.duplicate
	t.late += o.late
	t.corrupt += o.corrupt
	t.merged += o.merged
}

// gaps are the numbers below the highest that have not come. A late copy of one
// that had come cannot be told from a late first one.
func (t totals) gaps() uint64 { return t.skipped - min(t.skipped, t.reordered+t.late) }

// The places where frames are counted.
const (
	atXDP = iota
	atTC
	atSocket
	atPort
	places
)

// placeNames are those of result.Arrived.Method.
var placeNames = [places]string{byXDP, byTC, byPacket, byPort}

// tally is what came, by the phase in which it was sent, and where.
type tally struct {
	phases [phases]totals
	at     [places]uint64 // frames, whatever became of them; not the probe's
	flows  uint64         // of frames without numbers
}

func (t *tally) add(place, phase int, o totals) {
	t.phases[phase].add(o)
	if phase != probing {
		t.at[place] += o.any()
	}
}

// all adds the phases of a trial.
func (t *tally) all() totals {
	sum := t.phases[warmUp]
	sum.add(t.phases[window])
	sum.add(t.phases[after])
	return sum
}

// any is how many frames of the session there were, whatever became of them.
func (t totals) any() uint64 { return t.packets + t.duplicate + t.late + t.corrupt + t.merged }

// sequences is the memory of a sink that counts in Go. One goroutine counts.
type sequences struct {
	words uint32 // per flow
	next  []uint64
	came  []atomic.Uint64 // of the window, read while it is counted
	seen  []uint64
}

func newSequences(flows uint32) *sequences {
	w := wordsPerFlow(flows)
	return &sequences{w, make([]uint64, flows), make([]atomic.Uint64, flows), make([]uint64, uint64(flows)*uint64(w))}
}

// count takes a frame that parse found whole.
func (s *sequences) count(t *totals, n number, size int) {
	if n.phase == probing {
		t.packets++
		return
	}
	next := &s.next[n.flow]
	if n.sequence >= *next+jump {
		t.corrupt++
		return
	}
	if !s.mark(t, n) {
		return
	}
	t.packets++
	t.bytes += uint64(size)
	if n.phase == window {
		s.came[n.flow].Add(1)
	}
	if n.sequence < *next {
		t.reordered++
		return
	}
	t.skipped += n.sequence - *next
	*next = n.sequence + 1
}

// spread is how the window's frames are spread over the flows.
func (s *sequences) spread() (spread result.PerFlow) {
	for i := range s.came {
		spread.Add(s.came[i].Load())
	}
	return spread
}

func (s *sequences) mark(t *totals, n number) bool {
	block, bit := uint32(n.sequence>>blockBits), uint32(1)<<(n.sequence&(1<<blockBits-1))
	word := &s.seen[n.flow*s.words+block&(s.words-1)]
	ahead, came := int32(block-uint32(*word>>32)), uint32(*word)
	switch {
	case ahead < 0:
		t.late++
		return false
	case ahead > 0:
		came = 0
	case came&bit != 0:
		t.duplicate++
		return false
	}
	*word = uint64(block)<<32 | uint64(came|bit)
	return true
}

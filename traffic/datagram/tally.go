package datagram

import "windtunnel/traffic"

// tally is a receiver's account of one flow. It has one writer.
type tally struct {
	window window
	short  bool // numbers and times wrap

	marked     [marks]Marked
	bytes      uint64
	calls      uint64
	foreign    uint64
	longer     uint64
	iperfError int64
	iperfOrder int64

	arrived int64 // when the last datagram came, ns
	sent    int64 // when it had left
	jitter  int64 // ns, times 16
	first   uint64
	timed   bool
	inTurn  bool          // the datagram taken last had the highest number so far, and its times are the last
	floor   traffic.Floor // of the window's datagrams
}

// Marked counts the datagrams that carried one mark, as FlowCounts does; corrupt
// ones under the highest mark that had come.
type Marked struct {
	Packets, Late, Reordered, Duplicate, Corrupt uint64
}

func (m *Marked) add(o Marked) {
	m.Packets += o.Packets
	m.Late += o.Late
	m.Reordered += o.Reordered
	m.Duplicate += o.Duplicate
	m.Corrupt += o.Corrupt
}

func newTally(size, remember int, first uint64, short bool) *tally {
	return &tally{window: newWindow(size, remember, first), first: first, short: short}
}

// take accounts for a datagram that came whole. It returns how far its transit
// time was from the last one's, or -1 where that was not measured: datagrams that
// left in one call and came in one do not tell.
//
//go:nosplit
func (t *tally) take(s Stamp, size int, now int64) (difference int64) {
	if t.short {
		t.unwrap(&s)
	}
	m := &t.marked[min(s.Mark, marks-1)]
	p, skipped := t.window.take(s.Seq)
	t.inTurn = p == inOrder
	switch p {
	case inOrder:
		t.iperfError += int64(skipped)
		m.Packets++
	case behind:
		t.outOfOrder()
		m.Reordered++
		m.Packets++
	case again:
		t.outOfOrder()
		m.Duplicate++
		return -1
	case givenUp:
		t.outOfOrder()
		m.Late++
		return -1
	}
	t.bytes += uint64(size)
	if s.Sent == t.sent && now == t.arrived {
		return -1
	}
	if s.Mark == markWindow {
		t.floor.Note(s.Sent, now-s.Sent)
	}
	return t.time(s.Sent, now)
}

// unwrap makes the number and the time of a short header whole.
//
//go:nosplit
func (t *tally) unwrap(s *Stamp) {
	s.Seq = unwrap(t.window.next, uint32(s.Seq))
	s.Sent = int64(unwrap(uint64(t.sent>>shortTick), uint32(s.Sent>>shortTick))) << shortTick
}

// takeRun accounts for n datagrams that came behind one in turn, in the same call, and differ from it in their
// numbers alone, which follow its own: none of them tells a time.
//
//go:nosplit
func (t *tally) takeRun(mark uint8, size, n int) {
	t.window.takeRun(uint64(n))
	t.marked[min(mark, marks-1)].Packets += uint64(n)
	t.bytes += uint64(n) * uint64(size)
}

// time is the estimator of RFC 3550, section 6.4.1 and appendix A.8.
//
//go:nosplit
func (t *tally) time(sent, now int64) (difference int64) {
	difference = (now - t.arrived) - (sent - t.sent)
	t.arrived, t.sent = now, sent
	if !t.timed {
		t.timed = true
		return -1
	}
	if difference < 0 {
		difference = -difference
	}
	t.jitter += difference - (t.jitter+8)>>4
	return difference
}

// outOfOrder counts as iperf3 does: each datagram that is not the highest takes
// one error back, duplicates too.
//
//go:nosplit
func (t *tally) outOfOrder() {
	t.iperfOrder++
	if t.iperfError > 0 {
		t.iperfError--
	}
}

// sum is the counts under all marks.
func (t *tally) sum() (all Marked) {
	for _, m := range t.marked {
		all.add(m)
	}
	return all
}

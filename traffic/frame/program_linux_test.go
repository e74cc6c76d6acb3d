package frame

import (
	"bytes"
	"encoding/hex"
	"net/netip"
	"os"
	"testing"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// needsRoot skips a test that loads BPF programs.
func needsRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("skip: needs root (BPF, AF_PACKET)")
	}
}

// TestProgramWritesWhatGoWrites: the BPF program and Go make the same frame of the
// same number, whatever was in the buffer.
func TestProgramWritesWhatGoWrites(t *testing.T) {
	needsRoot(t)
	l, err := newLive(testHeader(four, 1, 1, 64, false), 0, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	rapid.Check(t, func(t *rapid.T) {
		h, n := drawFrame(t)
		first := uint32(rapid.IntRange(0, int(n.flow)).Draw(t, "first"))
		end := n.flow + uint32(rapid.IntRange(1, 2).Draw(t, "end"))
		l.describe(h, 0, first, end)
		l.setPhase(uint32(n.phase))
		l.record.Flow, l.record.Sequence = n.flow, n.sequence
		l.release()
		s, want := newStamp(h)
		for range 2 { // the second frame shows the next number
			length := s.write(want, n)
			if got := runSend(t, l, len(want)); !bytes.Equal(got, want[:length]) {
				t.Fatalf("the program wrote\n%x, Go\n%x", got, want[:length])
			}
			if n.flow++; n.flow == end {
				n.flow = first
				n.sequence++
			}
		}
		if sent, _ := l.counts(int(n.phase)); sent != 2 {
			t.Errorf("%d frames counted, not 2", sent)
		}
	})
}

// runSend gives the program a buffer that was something else before.
func runSend(t *rapid.T, l *live, length int) []byte {
	dirty := bytes.Repeat([]byte{0xa5}, length)
	head := l.numberEnd()
	clear(dirty[head:]) // the zeros behind the number are never written
	o := ebpf.RunOptions{Data: dirty, DataOut: make([]byte, length)}
	action, err := l.objects.FrameSend.Run(&o)
	if err != nil || action != 1 {
		t.Fatalf("action %d, %v", action, err)
	}
	return o.DataOut
}

// numberEnd is where the template's zeros begin.
func (l *live) numberEnd() int {
	if l.record.Ipv6 != 0 {
		return smallestIPv6 - fcsSize
	}
	return smallestIPv4 - fcsSize
}

// TestProgramKeepsTime: frames that are not due go nowhere, and one that is very
// late makes good a burst.
func TestProgramKeepsTime(t *testing.T) {
	needsRoot(t)
	l, err := newLive(testHeader(four, 1, 1, 64, false), 0, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	const hour = 3600
	l.rate(1.0/hour, 5)
	run := func(times int) {
		for range times {
			runOnce(t, l)
		}
	}
	sent := func() uint64 { n, _ := l.counts(warmUp); return n }
	run(3)
	if n := sent(); n != 0 {
		t.Errorf("%d frames sent while held", n)
	}
	l.release()
	run(3)
	if n := sent(); n != 1 {
		t.Errorf("%d frames sent, of which one was due", n)
	}
	var now unix.Timespec
	unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	l.record.Interval, l.record.Depth = 1e11, 4e11 // a tenth of a second: no loop of ten takes so long
	l.record.Epoch, l.record.Due = uint64(now.Nano())-60e9, 0
	run(10)
	if n := sent(); n != 1+5 {
		t.Errorf("%d frames sent, want the burst of 5 and 1", n)
	}
}

func runOnce(t *testing.T, l *live) {
	t.Helper()
	if _, err := l.objects.FrameSend.Run(&ebpf.RunOptions{Data: l.template}); err != nil {
		t.Fatal(err)
	}
}

// rig is the counting programs, attached nowhere.
type rig struct {
	*bpfSink
	expected expected
	memory   *sequences
	want     tally
}

func newRig(t testing.TB, e expected, shared bool) *rig {
	t.Helper()
	s := &bpfSink{how: auto}
	if err := s.load(e, shared, whole); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.close() })
	return &rig{bpfSink: s, expected: e, memory: newSequences(e.flows)}
}

// take shows a frame to a program, and to Go, and returns whether each found it ours.
func (r *rig) take(t testing.TB, b []byte, tc bool) (program, inGo bool) {
	t.Helper()
	p, drop := r.objects.FrameAtXdp, uint32(1)
	if tc {
		p, drop = r.objects.FrameAtTc, 2
	}
	action, err := p.Run(&ebpf.RunOptions{Data: b})
	if err != nil {
		t.Fatal(err)
	}
	n, err := r.expected.parse(b, len(b))
	var sum totals
	switch err {
	case nil:
		r.memory.count(&sum, n, r.expected.sizes.of(n))
	case errCorrupt:
		sum.corrupt++
	}
	place := atXDP
	if tc {
		place = atTC
	}
	r.want.add(place, int(n.phase&(phases-1)), sum)
	return action == drop, err != errForeign
}

func (r *rig) compare(t testing.TB) {
	t.Helper()
	got, err := r.tally()
	if err != nil {
		t.Fatal(err)
	}
	if got != r.want {
		t.Errorf("the program counted\n%+v, Go\n%+v", got, r.want)
	}
	spread, err := r.perFlow()
	if err != nil {
		t.Fatal(err)
	}
	if inGo := r.memory.spread(); spread != inGo {
		t.Errorf("the program has %+v by flows, Go %+v", spread, inGo)
	}
}

// TestProgramCountsWhatGoCounts: lost, doubled, exchanged, late and broken frames.
func TestProgramCountsWhatGoCounts(t *testing.T) {
	needsRoot(t)
	for _, from := range []string{"IPv4", "IPv6"} {
		t.Run(from, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				h := testHeader(four, 40000, 7, 100, false)
				if from == "IPv6" {
					h = testHeader(six, 40000, 7, 100, false)
				}
				h.sizes = append(h.sizes, rapid.SliceOfN(rapid.IntRange(90, 110), 0, mostTurns-1).Draw(rt, "sizes")...)
				flows := rapid.SampledFrom([]uint32{1, 5, 5000}).Draw(rt, "flows")
				r := newRig(t, expectedOf(h, flows), rapid.Bool().Draw(rt, "shared"))
				defer r.close()
				s, b := newStamp(h)
				for range rapid.IntRange(1, 60).Draw(rt, "frames") {
					sequence := uint64(rapid.IntRange(0, 80).Draw(rt, "sequence"))
					if rapid.IntRange(0, 9).Draw(rt, "far") == 0 {
						sequence += 1 << rapid.IntRange(6, 40).Draw(rt, "bits")
					}
					length := s.write(b, number{uint8(rapid.IntRange(0, phases-1).Draw(rt, "phase")), flows - 1 - uint32(rapid.IntRange(0, int(min(flows-1, 2))).Draw(rt, "flow")), sequence})
					frame := bytes.Clone(b[:length])
					if rapid.IntRange(0, 4).Draw(rt, "broken") == 0 {
						frame[rapid.IntRange(12, h.udpAt()+udpSize+numberingSize-1).Draw(rt, "at")] ^= byte(rapid.IntRange(1, 255).Draw(rt, "bits"))
					}
					if program, inGo := r.take(t, frame, rapid.Bool().Draw(rt, "tc")); program != inGo {
						rt.Fatalf("the program found it ours: %v, Go: %v: %x", program, inGo, frame)
					}
				}
				r.compare(t)
			})
		})
	}
}

// TestProgramCountsTheForetold: one flow, whose frames come in turn, as one foretells the next; those in between that are
// not as foretold count as Go counts them, and so do those behind them.
func TestProgramCountsTheForetold(t *testing.T) {
	needsRoot(t)
	rapid.Check(t, func(rt *rapid.T) {
		from := rapid.SampledFrom([]netip.Addr{four, six}).Draw(rt, "from")
		h := testHeader(from, 40000, rapid.SampledFrom([]uint32{7, 0}).Draw(rt, "session"), rapid.IntRange(smallestIPv6, 100).Draw(rt, "size"), false)
		r := newRig(t, expectedOf(h, 1), false)
		defer r.close()
		s, b := newStamp(h)
		take := func(frame []byte, tc bool) {
			if program, inGo := r.take(t, frame, tc); program != inGo {
				rt.Fatalf("the program found it ours: %v, Go: %v: %x", program, inGo, frame)
			}
		}
		next := number{}
		for range rapid.IntRange(1, 12).Draw(rt, "streaks") {
			next.phase = rapid.SampledFrom([]uint8{window, warmUp, after}).Draw(rt, "phase")
			for range rapid.IntRange(0, 70).Draw(rt, "in turn") {
				take(b[:s.write(b, next)], false)
				next.sequence++
			}
			n, change := unlike(rt, h, next)
			frame := bytes.Clone(b[:s.write(b, n)])
			take(change(frame), rapid.Bool().Draw(rt, "tc"))
			next.sequence = max(next.sequence, n.sequence&mostSequence+uint64(rapid.IntRange(0, 1).Draw(rt, "on")))
		}
		r.compare(t)
	})
}

// TestProgramSeesEveryByte: of a frame in its turn, which the ones before foretell, any byte may be wrong.
func TestProgramSeesEveryByte(t *testing.T) {
	needsRoot(t)
	for _, from := range []netip.Addr{four, six} {
		h := testHeader(from, 40000, 7, smallestIPv6, false)
		r := newRig(t, expectedOf(h, 1), false)
		s, b := newStamp(h)
		n := number{phase: window}
		for range 2 { // no frame of another flow foretells its next
			r.take(t, b[:s.write(b, number{window, 1, 0})], false)
		}
		for at := range h.udpAt() + udpSize + numberingSize {
			for bit := range 8 {
				r.take(t, b[:s.write(b, n)], false)
				n.sequence++
				frame := b[:s.write(b, n)]
				frame[at] ^= 1 << bit
				if program, inGo := r.take(t, frame, false); program != inGo {
					t.Errorf("bit %d of byte %d: the program found it ours: %v, Go: %v", bit, at, program, inGo)
				}
			}
		}
		r.compare(t)
	}
}

// unlike is the number, and what was done to the bytes, of a frame that is not as foretold.
func unlike(t *rapid.T, h header, next number) (n number, change func([]byte) []byte) {
	n, change = next, func(b []byte) []byte { return b }
	switch rapid.IntRange(0, 10).Draw(t, "unlike") {
	case 0:
		n.phase = uint8(rapid.IntRange(0, phases-1).Draw(t, "phase"))
	case 1:
		n.flow = 1
	case 2:
		n.sequence -= min(n.sequence, uint64(rapid.IntRange(1, 100).Draw(t, "back")))
	case 3:
		n.sequence += uint64(rapid.IntRange(1, 100).Draw(t, "ahead"))
	case 4:
		n.sequence |= uint64(rapid.IntRange(1, leftMask).Draw(t, "left")) << leftShift
	case 5:
		at, bits := rapid.IntRange(0, h.udpAt()+udpSize+numberingSize-1).Draw(t, "at"), byte(rapid.IntRange(1, 255).Draw(t, "bits"))
		change = func(b []byte) []byte { b[at] ^= bits; return b }
	case 6:
		length := rapid.IntRange(ethernetSize+ipv6Size, h.sizes[0]-fcsSize).Draw(t, "length")
		change = func(b []byte) []byte { return b[:length] }
	case 7:
		change = func(b []byte) []byte { return append(b, 0, 0, 0) }
	case 8: // no checksum
		change = func(b []byte) []byte { copy(b[h.udpAt()+6:], []byte{0, 0}); return b }
	case 9:
		change = func(b []byte) []byte { clear(b); return b }
	case 10: // a router was added
		change = func(b []byte) []byte { b[map[bool]int{false: 22, true: 21}[h.ipv6()]]--; return b }
	}
	return n, change
}

// FuzzSink lets a stranger send frames to the programs: they count what Go counts.
func FuzzSink(f *testing.F) {
	needsRoot(f)
	for _, c := range goldenFrames {
		b, _ := hex.DecodeString(c.want)
		f.Add(b, true)
		f.Add(b, false)
	}
	rigs := []*rig{
		newRig(f, expected{session: 0x01020304, flows: 1000, sizes: mix{64}}, false),
		newRig(f, expected{session: 0x01020304, flows: 1000, sizes: mix{84}, ipv6: true}, true),
		newRig(f, expected{session: 0x01020304, flows: 1, sizes: mix{64}}, false),
		newRig(f, expected{session: 0x01020304, flows: 1, sizes: mix{84}, ipv6: true}, false),
	}
	f.Fuzz(func(t *testing.T, b []byte, tc bool) {
		if len(b) < ethernetSize+ipv6Size || len(b) > 1500 {
			return // the kernel takes no such packet
		}
		for _, r := range rigs {
			program, inGo := r.take(t, b, tc)
			if program != inGo {
				t.Errorf("the program found it ours: %v, Go: %v", program, inGo)
			}
			r.compare(t)
		}
	})
}

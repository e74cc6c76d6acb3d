package datagram

import (
	"bytes"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// runs is a header as it is written and read for several datagrams at once.
type runs interface {
	Codec
	putRun(to []byte, stride, n int, s Stamp)
	runBehind(from []byte, stride int) int
}

var bothRuns = map[string]runs{"long": longHeader{testKey}, "short": shortHeader{testKey}}

// TestARunIsItsHeaders: many headers at once are, bit by bit, what one by one they would be, also where numbers wrap.
func TestARunIsItsHeaders(t *testing.T) {
	for name, codec := range bothRuns {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				n, stride := rapid.IntRange(1, 130).Draw(t, "n"), rapid.IntRange(codec.Size(), 60).Draw(t, "stride")
				s := Stamp{
					Flow: uint32(rapid.IntRange(0, maxFlows-1).Draw(t, "flow")), Mark: uint8(rapid.IntRange(0, opening).Draw(t, "mark")),
					Seq:      rapid.SampledFrom([]uint64{0, math.MaxUint32 - 3, math.MaxUint64 - 3, rapid.Uint64().Draw(t, "seq")}).Draw(t, "of"),
					Intended: rapid.Int64().Draw(t, "intended"), Sent: rapid.Int64().Draw(t, "sent"),
				}
				want := make([]byte, n*stride)
				fillPattern(want)
				got := bytes.Clone(want)
				for i, one := 0, s; i < n; i++ {
					codec.Put(want[i*stride:], one)
					one.Seq++
				}
				codec.putRun(got, stride, n, s)
				if !bytes.Equal(got, want) {
					t.Fatalf("%d headers of %+v differ", n, s)
				}
				if behind := codec.runBehind(got, stride); behind != n-1 {
					t.Fatalf("of %d behind the first %d were seen", n-1, behind)
				}
			})
		})
	}
}

// TestARunEndsAtAnyChange flips each bit of a header in the middle: the run ends before it.
func TestARunEndsAtAnyChange(t *testing.T) {
	const n, changed = 5, 3
	for name, codec := range bothRuns {
		b := make([]byte, n*codec.Size())
		codec.putRun(b, codec.Size(), n, Stamp{Flow: 3, Mark: 1, Seq: math.MaxUint32 - 1, Intended: 1 << 40, Sent: 1<<40 + 4096})
		for bit := range codec.Size() * 8 {
			at := &b[changed*codec.Size()+bit/8]
			*at ^= 1 << (bit % 8)
			if behind := codec.runBehind(b, codec.Size()); behind != changed-1 {
				t.Errorf("%s, bit %d: %d behind the first were taken for a run", name, bit, behind)
			}
			*at ^= 1 << (bit % 8)
		}
	}
}

// TestAnAggregateCountsAsItsDatagrams spoils aggregates in every way, and takes them at once and one by one.
func TestAnAggregateCountsAsItsDatagrams(t *testing.T) {
	for name, message := range map[string]int{"long": longSize + 9, "short": shortSize + 4} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { spoilAggregates(t, message) })
		})
	}
}

func spoilAggregates(t *rapid.T, message int) {
	c := Config{Message: message, Codec: headerFor(message, testKey), Window: 64, Verify: true}
	flows := rapid.IntRange(1, 2).Draw(t, "flows")
	joined, single := lone(t, c, flows), lone(t, c, flows)
	next, now := []uint64{math.MaxUint32 - 40, 7}, int64(1000)
	for range rapid.IntRange(1, 12).Draw(t, "aggregates") {
		now += int64(rapid.IntRange(0, 1).Draw(t, "later"))
		var whole []byte
		for range rapid.IntRange(1, 70).Draw(t, "datagrams") {
			whole = append(whole, spoiled(t, c, flows, next, now)...)
		}
		joined.message(joined.inlets[0], whole, message, new(name), now)
		for b := whole; len(b) > 0; b = b[message:] {
			single.message(single.inlets[0], b[:message], message, new(name), now)
		}
	}
	for i, got := range joined.inlets[0].accounts {
		want := single.inlets[0].accounts[i]
		got.calls, want.calls = 0, 0
		if got.marked != want.marked || got.bytes != want.bytes || got.jitter != want.jitter || got.sent != want.sent || got.arrived != want.arrived ||
			got.iperfError != want.iperfError || got.iperfOrder != want.iperfOrder || got.window.next != want.window.next || got.foreign != want.foreign {
			t.Fatalf("flow %d: at once %+v, one by one %+v", i, got, want)
		}
		for at := range got.window.bits {
			if got.window.bits[at] != want.window.bits[at] {
				t.Fatalf("flow %d: other numbers are remembered", i)
			}
		}
	}
}

// spoiled is the next datagram of a flow, mostly; else one that is out of order, or lost, or corrupt.
func spoiled(t *rapid.T, c Config, flows int, next []uint64, now int64) []byte {
	flow := rapid.IntRange(0, flows-1).Draw(t, "flow")
	b := template(c.Message, nil)
	s := Stamp{Flow: uint32(flow), Mark: uint8(rapid.SampledFrom([]int{1, 1, 1, 1, 1, 1, 2, opening}).Draw(t, "mark")), Seq: next[flow], Sent: now << shortTick, Intended: now << shortTick}
	fate := rapid.IntRange(0, 19).Draw(t, "fate")
	switch fate {
	case 0:
		s.Seq -= min(s.Seq, uint64(rapid.IntRange(1, 80).Draw(t, "old")))
	case 1:
		s.Seq += uint64(rapid.IntRange(1, 80).Draw(t, "skipped"))
		next[flow] = s.Seq + 1
	case 2:
		s.Sent += 1 << shortTick
		fallthrough
	default:
		next[flow]++
	}
	c.Codec.Put(b, s)
	if fate == 3 {
		b[rapid.IntRange(0, c.Message-1).Draw(t, "byte")] ^= 4
	}
	return b
}

// lone is a receiver without an engine.
func lone(t *rapid.T, c Config, flows int) *receiver {
	in := newInlet(&socket{connected: true}, c)
	for i := range flows {
		in.add(Flow{ID: uint32(i)}, c)
	}
	return &receiver{thread: &thread{}, config: c, inlets: []*inlet{in}}
}

package datagram

import (
	"testing"

	"pgregory.net/rapid"
)

func TestHeadersSurviveTheWire(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Stamp{
			Flow: rapid.Uint32().Draw(t, "flow"), Mark: rapid.Uint8().Draw(t, "mark"), Seq: rapid.Uint64().Draw(t, "seq"),
			Intended: rapid.Int64().Draw(t, "intended"), Sent: rapid.Int64().Draw(t, "sent"),
		}
		b := make([]byte, longSize)
		longHeader{testKey}.Put(b, s)
		if got, ok := (longHeader{testKey}).Get(b); !ok || got != s {
			t.Fatalf("%+v came back as %+v, %t", s, got, ok)
		}
	})
}

// TestNoBitMayChange flips each bit of each header, and asks with another key.
func TestNoBitMayChange(t *testing.T) {
	s := Stamp{Flow: 3, Mark: 1, Seq: 77, Intended: 1 << 40, Sent: 1<<40 + 4096}
	for name, codec := range map[string]Codec{"long": longHeader{testKey}, "short": shortHeader{testKey}} {
		b := make([]byte, codec.Size())
		codec.Put(b, s)
		for bit := range len(b) * 8 {
			b[bit/8] ^= 1 << (bit % 8)
			if _, ok := codec.Get(b); ok {
				t.Errorf("%s: bit %d changed unseen", name, bit)
			}
			b[bit/8] ^= 1 << (bit % 8)
		}
		if _, ok := codec.Get(b[:len(b)-1]); ok {
			t.Errorf("%s: a part passed for a header", name)
		}
		for _, other := range []key{{testKey.session, testKey.secret + 1}, {testKey.session + 1, testKey.secret + 1}} {
			if _, ok := headerFor(codec.Size(), other).Get(b); ok {
				t.Errorf("%s: passed under another key", name)
			}
		}
	}
}

func FuzzHeader(f *testing.F) {
	for _, size := range []int{shortSize, longSize, 100} {
		b := template(size, nil)
		headerFor(size, testKey).Put(b, Stamp{Flow: 5, Mark: 2, Seq: 9, Sent: 1 << 30})
		f.Add(b)
	}
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, codec := range []Codec{longHeader{testKey}, shortHeader{testKey}} {
			s, ok := codec.Get(b)
			if !ok {
				continue
			}
			again := make([]byte, codec.Size())
			codec.Put(again, s)
			if got, ok := codec.Get(again); !ok || got != s {
				t.Errorf("%+v came back as %+v, %t", s, got, ok)
			}
		}
	})
}

// FuzzMessage lets whatever comes into a receiver; the sum of its counts holds.
func FuzzMessage(f *testing.F) {
	b := template(300, nil)
	for i := range 3 {
		longHeader{testKey}.Put(b[i*100:], Stamp{Flow: uint32(i % 2), Mark: uint8(i), Seq: uint64(i)})
	}
	f.Add(b, 100)
	f.Add([]byte{}, 0)
	f.Add(b[:150], 100)
	f.Fuzz(func(t *testing.T, b []byte, stride int) {
		c := Config{Message: 100, Codec: longHeader{testKey}, Window: 64, Verify: true}
		in := newInlet(&socket{connected: true}, c)
		in.add(Flow{ID: 0}, c)
		in.add(Flow{ID: 1}, c)
		r := &receiver{engine: &Engine{}, thread: &thread{}, config: c}
		r.message(in, b, max(stride, 1), &name{}, 1)
		datagrams := max(1, (len(b)+max(stride, 1)-1)/max(stride, 1))
		sum := 0
		for _, a := range in.accounts {
			m := a.sum()
			sum += int(m.Packets + m.Late + m.Duplicate + m.Corrupt + a.foreign)
		}
		if sum > datagrams {
			t.Errorf("%d datagrams were counted as %d", datagrams, sum)
		}
	})
}

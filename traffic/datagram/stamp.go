package datagram

// Stamp is what a datagram says of itself.
type Stamp struct {
	Flow uint32
	// Mark is the sender's Engine.SetMark at the time; only the own header carries it.
	Mark     uint8
	Seq      uint64
	Intended int64 // ns of the sender's clock: when it was meant to leave
	Sent     int64 // ns of the sender's clock: when it left
}

// marks is how many marks there are. The last value that the header holds is
// opening's: it shows a receiver where a flow comes from, and is not counted.
const (
	marks   = 3
	opening = 3
)

// Codec writes and reads the header of a datagram. It is called in hot loops, by
// one thread at a time, and must not allocate.
type Codec interface {
	// Size is the header's length in bytes; no datagram is shorter.
	Size() int
	// Put writes the header into the first Size bytes of a datagram.
	Put(b []byte, s Stamp)
	// Get reads it from a whole datagram, which may be shorter than Size. It
	// returns false for what is not ours, or corrupt.
	Get(b []byte) (s Stamp, ok bool)
}

// fillPattern writes bytes that are not all alike (xorshift, Marsaglia 2003), a
// page of them again and again, and so makes the memory present.
func fillPattern(b []byte) {
	x := uint32(2463534242)
	page := b[:min(len(b), 4093)]
	for i := range page {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		page[i] = byte(x)
	}
	repeat(b, len(page))
}

// repeat fills b with its own first bytes.
func repeat(b []byte, first int) {
	for done := first; done > 0 && done < len(b); done *= 2 {
		copy(b[done:], b[:done])
	}
}

// template is one datagram before its header is written: payload again and
// again, or the pattern.
func template(message int, payload []byte) []byte {
	b := make([]byte, message)
	if len(payload) == 0 {
		fillPattern(b)
		return b
	}
	repeat(b, copy(b, payload))
	return b
}

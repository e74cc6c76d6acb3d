package stream

import "unsafe"

// hotBuffer is the memory of a hot thread's calls.
type hotBuffer struct {
	at   unsafe.Pointer
	size uintptr
}

func newHotBuffer(size int, payload []byte) hotBuffer {
	b := make([]byte, size)
	fill(b, payload)
	return hotBuffer{unsafe.Pointer(unsafe.SliceData(b)), uintptr(size)}
}

// fill repeats the payload, or a pattern of bytes that are not all alike
// (xorshift, Marsaglia 2003), and so makes the memory present.
func fill(b, payload []byte) {
	done := copy(b, payload)
	if len(payload) == 0 {
		done = min(len(b), 4093)
		x := uint32(2463534242)
		for i := range done {
			x ^= x << 13
			x ^= x >> 17
			x ^= x << 5
			b[i] = byte(x)
		}
	}
	for ; done < len(b); done *= 2 {
		copy(b[done:], b[:done])
	}
}

package ping

// fillPattern writes bytes that are not all alike (xorshift, Marsaglia 2003).
func fillPattern(b []byte) {
	x := uint32(2463534242)
	for i := range b {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		b[i] = byte(x)
	}
}

package datagram

// window remembers which of the last numbers of a flow came. It is exact for
// numbers less than its size behind the highest; what is older counts as given up.
type window struct {
	bits []uint64
	mask uint64 // size-1; the size is a power of two
	next uint64 // one more than the highest number that came
}

// place is where a number stands among those that came before it.
type place uint8

const (
	inOrder place = iota // the highest so far
	behind               // came after a higher number, for the first time
	again                // came before
	givenUp              // older than the window
)

// newWindow is a window of at least so many numbers, before the first one.
func newWindow(size int, first uint64) window {
	n := uint64(64)
	for n < uint64(size) {
		n *= 2
	}
	return window{bits: make([]uint64, n/64), mask: n - 1, next: first}
}

// take notes a number, and says how many between the highest so far and it have
// not come.
//
//go:nosplit
func (w *window) take(seq uint64) (p place, skipped uint64) {
	at := seq & w.mask
	bit := uint64(1) << (at % 64)
	if seq >= w.next {
		skipped = seq - w.next
		if skipped > 0 {
			w.forget(skipped)
		}
		w.bits[at/64] |= bit
		w.next = seq + 1
		return inOrder, skipped
	}
	if w.next-seq > w.mask+1 {
		return givenUp, 0
	}
	if w.bits[at/64]&bit != 0 {
		return again, 0
	}
	w.bits[at/64] |= bit
	return behind, 0
}

// takeRun notes the next n numbers.
//
//go:nosplit
func (w *window) takeRun(n uint64) {
	from := w.next
	w.next += n
	for n > 0 {
		at := from & w.mask
		length := min(64-at%64, n)
		w.bits[at/64] |= (^uint64(0) >> (64 - length)) << (at % 64)
		from += length
		n -= length
	}
}

// forget clears the places of the next n numbers.
//
//go:nosplit
func (w *window) forget(n uint64) {
	if n > w.mask {
		clear(w.bits)
		return
	}
	for from := w.next; n > 0; {
		at := from & w.mask
		length := min(64-at%64, n)
		w.bits[at/64] &^= (^uint64(0) >> (64 - length)) << (at % 64)
		from += length
		n -= length
	}
}

package datagram

// window remembers which of the last numbers of a flow came. What is up to its size behind the highest is in time, what is older
// is late. It remembers more numbers than that, so that what is late for the first time is told from what comes again; of what is
// older than all that it remembers nobody can tell.
type window struct {
	bits []uint64
	mask uint64 // how many numbers it remembers, a power of two, less one
	size uint64 // numbers in time
	next uint64 // one more than the highest number that came
}

// place is where a number stands among those that came before it.
type place uint8

const (
	inOrder place = iota // the highest so far
	behind               // came after a higher number, for the first time
	again                // came before
	givenUp              // late: older than the window
)

const (
	// remembered are the numbers of a flow that are remembered: 128 KiB, a second of a million a second.
	remembered = 1 << 20
	// rememberedOfAll bounds what many flows remember: 16 MiB, and up to twice that since each remembers a power of two.
	rememberedOfAll = 1 << 27
)

// remember is how many numbers each of so many flows remembers, beyond its window where that is less.
func remember(flows int) int { return min(remembered, rememberedOfAll/max(1, flows)) }

// newWindow is a window of at least so many numbers, rounded up to a power of two, before the first one. It remembers at least as many,
// and as many as it is to.
func newWindow(size, remember int, first uint64) window {
	inTime := powerOfTwo(size)
	all := max(inTime, powerOfTwo(remember))
	return window{bits: make([]uint64, all/64), mask: all - 1, size: inTime, next: first}
}

// powerOfTwo is the least one that is not below n, and fills a word of bits.
func powerOfTwo(n int) uint64 {
	p := uint64(64)
	for p < uint64(max(0, n)) {
		p *= 2
	}
	return p
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
	back := w.next - seq
	if back > w.mask+1 {
		return givenUp, 0
	}
	if w.bits[at/64]&bit != 0 {
		return again, 0
	}
	w.bits[at/64] |= bit
	if back > w.size {
		return givenUp, 0
	}
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

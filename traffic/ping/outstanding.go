package ping

import (
	"errors"
	"unsafe"
)

// silenceLimit is when a TCP flow without an answer is given up, in ns.
const silenceLimit = 5e9

var (
	errSilent  = errors.New("the peer stalled: no answer for 5 s")
	errUnasked = errors.New("the peer answers what nobody asked")
)

// width is how many bytes of a datagram number its request.
func (l load) width() int { return min(numberedSize, l.message, l.response) }

// remembered is how many requests of one flow may be open, and how many its memory
// must span: over UDP an answer is waited for while others come.
func (l load) remembered() (limit, size int) {
	limit = (l.outstanding + l.flows - 1) / l.flows
	size = limit
	if l.udp && l.open() {
		atLeast := min(lateBy*l.rate, rememberedLate)
		size += int(max(1.5*l.rate*l.wait.Seconds(), atLeast) / float64(l.flows))
	}
	return limit, size
}

// How much longer than their wait requests are remembered at the least, so that a late answer is known as what it is: for so many seconds,
// of up to so many over all flows, 8 MiB.
const (
	lateBy         = 10
	rememberedLate = 1 << 18
)

// What has become of a request.
const (
	unused    uint8 = iota // never asked
	due                    // its time has come, the socket has not taken it yet
	open                   // sent, without an answer
	answered               //
	givenUp                // without an answer within the wait
	refused                // the socket did not take it
	forgotten              // so long ago that nobody knows
)

// request is one request of a flow; times are nanotime's.
type request struct {
	intended int64
	sent     int64
	state    uint8
	read     bool // its answer carries the payload
}

// outstanding are the newest requests of one flow, by number: first <= unsent <=
// next. All before first are done with; those from unsent on wait for the socket.
// It does not allocate, and its methods may be called in hot loops.
type outstanding struct {
	ring   []request // its length is a power of two
	mask   uint64
	limit  uint64 // of requests that are open or due
	alive  uint64 // of them now
	first  uint64
	unsent uint64
	next   uint64
}

// leastRing is how many requests are remembered at least: half of the numbers that
// one byte holds, so that a late answer to one of them is known as what it is.
const leastRing = 128

// newOutstanding remembers at least size requests, of which limit may be open.
func newOutstanding(limit, size int) outstanding {
	n := leastRing
	for n < size || n < limit {
		n *= 2
	}
	return outstanding{ring: make([]request, n), mask: uint64(n - 1), limit: uint64(limit)}
}

// slot is the place of a number in the ring. The mask keeps it inside, of which the compiler does not know: its check
// would take nosplit functions over their stack where a fuzzer counts what they do.
//
//go:nosplit
func (o *outstanding) slot(number uint64) *request {
	return (*request)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(o.ring)), uintptr(number&o.mask)*unsafe.Sizeof(request{})))
}

// book takes a request whose time has come; false: there are too many.
//
//go:nosplit
func (o *outstanding) book(intended int64) bool {
	if o.alive >= o.limit || o.next-o.first > o.mask {
		return false
	}
	*o.slot(o.next) = request{intended: intended, state: due}
	o.next++
	o.alive++
	return true
}

// waiting is the number of the next request to send; false: none is due.
//
//go:nosplit
func (o *outstanding) waiting() (uint64, bool) { return o.unsent, o.unsent < o.next }

// left notes that the socket has taken the waiting request, which left at now.
//
//go:nosplit
func (o *outstanding) left(now int64) *request {
	r := o.slot(o.unsent)
	r.sent, r.state = now, open
	o.unsent++
	return r
}

// turnedAway notes that the socket refused the waiting request.
//
//go:nosplit
func (o *outstanding) turnedAway() {
	o.slot(o.unsent).state = refused
	o.unsent++
	o.alive--
	o.pass()
}

// pass lets first go over requests that are done with.
//
//go:nosplit
func (o *outstanding) pass() {
	for o.first < o.unsent && o.slot(o.first).state != open {
		o.first++
	}
}

// oldest is the request that has been open for the longest time, or nil.
//
//go:nosplit
func (o *outstanding) oldest() *request {
	if o.first == o.unsent {
		return nil
	}
	return o.slot(o.first)
}

// answerOldest takes an answer of a stream, whose answers come in order; nil: there
// was no request.
//
//go:nosplit
func (o *outstanding) answerOldest() *request {
	r := o.oldest()
	if r != nil {
		o.settle(r, answered)
	}
	return r
}

// answerNumbered takes an answer that bears the lowest bits of its request's number.
// The state says what the request was before: only an open or givenUp one is new.
// nil: no such request is remembered.
//
//go:nosplit
func (o *outstanding) answerNumbered(number, bits uint64) (r *request, was uint8) {
	if o.unsent == 0 {
		return nil, unused
	}
	last := o.unsent - 1
	back := (last - number) & bits
	if back > last {
		return nil, unused
	}
	if o.next-1-(last-back) > o.mask {
		return nil, forgotten
	}
	r = o.slot(last - back)
	was = r.state
	switch was {
	case open:
		o.settle(r, answered)
	case givenUp:
		r.state = answered
	}
	return r, was
}

// giveUp gives the oldest request up if it left before a time; else nil.
//
//go:nosplit
func (o *outstanding) giveUp(before int64) *request {
	r := o.oldest()
	if r == nil || r.sent >= before {
		return nil
	}
	o.settle(r, givenUp)
	return r
}

//go:nosplit
func (o *outstanding) settle(r *request, state uint8) {
	r.state = state
	o.alive--
	o.pass()
}

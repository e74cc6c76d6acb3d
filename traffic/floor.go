package datagram

import (
	"math"
	"slices"
)

// floor is the least transit time in each part of a flow's window, by when its datagrams
// left. What holds datagrams up now and then, at either end, leaves some of a part alone; a queue
// holds all of them, so a floor that rises is a queue that grows. The clocks of the ends need not
// agree: only differences count, and clocks drift by less than 1 in 10,000.
type floor struct {
	from  int64 // when the first datagram left, ns
	shift uint  // of a part's length in ns
	used  int   // parts
	least [parts]int64
}

const (
	parts      = 32
	firstShift = 18 // 0.26 ms: doubled as often as the window needs it
)

// note takes the transit time of a datagram.
//
//go:nosplit
func (f *floor) note(sent, transit int64) {
	if f.used == 0 {
		f.from, f.shift, f.used = sent, firstShift, 1
		f.least[0] = transit
		return
	}
	if sent < f.from {
		return
	}
	for (sent-f.from)>>f.shift >= parts {
		f.fold()
	}
	i := int((sent - f.from) >> f.shift)
	for ; f.used <= i; f.used++ {
		f.least[f.used] = math.MaxInt64
	}
	f.least[i] = min(f.least[i], transit)
}

// fold makes one part of two.
//
//go:nosplit
func (f *floor) fold() {
	for ; f.used < parts; f.used++ {
		f.least[f.used] = math.MaxInt64
	}
	for i := range parts / 2 {
		f.least[i] = min(f.least[2*i], f.least[2*i+1])
	}
	f.used = parts / 2
	f.shift++
}

// rise is by how many ns the floor rose from the first parts of the window to the last; 0 where it
// did not.
func (f *floor) rise() int64 {
	const ends = 2 // parts at either end, so that one which has hardly begun does not decide
	if f.used < parts/2 {
		return 0
	}
	before, after := slices.Min(f.least[:ends]), slices.Min(f.least[f.used-ends:f.used])
	if before == math.MaxInt64 || after == math.MaxInt64 {
		return 0
	}
	return max(0, after-before)
}

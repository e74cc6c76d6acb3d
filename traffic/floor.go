package traffic

import (
	"math"
	"slices"
)

// Floor is the least transit time in each part of a flow's window, by when its packets
// left. What holds packets up now and then, at either end, leaves some of a part alone; a queue
// holds all of them, so a floor that rises is a queue that grows. The clocks of the ends need not
// agree: only differences count, and clocks drift by less than 1 in 10,000.
type Floor struct {
	from  int64 // when the first packet left, ns
	shift uint  // of a part's length in ns
	used  int   // parts
	least [FloorParts]int64
}

// FloorParts is into how many parts a window is cut at most; more than half as many are used.
const FloorParts = 32

const firstShift = 18 // 0.26 ms: doubled as often as the window needs it

// Note takes the transit time of a packet that left at sent, both in ns, of which a stranger may say
// anything. It allocates nothing.
//
//go:nosplit
func (f *Floor) Note(sent, transit int64) {
	if f.used == 0 {
		f.from, f.shift, f.used = sent, firstShift, 1
		f.least[0] = transit
		return
	}
	after := sent - f.from
	if after < 0 { // it overtook the first, or lies further off than a difference can be
		return
	}
	for after>>f.shift >= FloorParts {
		f.fold()
	}
	i := int(after >> f.shift)
	for ; f.used <= i; f.used++ {
		f.least[f.used] = math.MaxInt64
	}
	f.least[i] = min(f.least[i], transit)
}

// fold makes one part of two.
//
//go:nosplit
func (f *Floor) fold() {
	for ; f.used < FloorParts; f.used++ {
		f.least[f.used] = math.MaxInt64
	}
	for i := range FloorParts / 2 {
		f.least[i] = min(f.least[2*i], f.least[2*i+1])
	}
	f.used = FloorParts / 2
	f.shift++
}

// Rise is by how many ns the floor rose from the first parts of the window to the last; 0 where it
// did not. Packets of the last parts that were held up and came at once, when a receiver went on that
// had stood still, or had no CPU, tell of no queue: those before them do.
func (f *Floor) Rise() int64 {
	if f.used < FloorParts/2 {
		return 0
	}
	return rise(f.least[:f.atOnce()])
}

// atOnce is the first of the last parts whose packets came at once: those of each had waited for longer than those of the last part, by
// as much as they left earlier. That is known to a part, of which the last has a beginning, or more. f.used: there are none.
func (f *Floor) atOnce() int {
	first, last, length := f.used, f.used-1, int64(1)<<f.shift
	for i := last - 1; i >= 0; i-- {
		parts := int64(last - i)
		held := f.least[i] != math.MaxInt64 && f.least[i]-f.least[last] >= max(length/4, (parts-1)*length)
		switch {
		case held:
			first = i
		case f.least[i] == math.MaxInt64: // nothing left
		case parts > 1:
			return first
		}
	}
	return first
}

// Rise is that of least times that somebody else kept, one a part of the window, in any unit;
// math.MaxInt64 is a part in which nothing came. Fewer parts than half of FloorParts are no window.
func Rise(least []int64) int64 {
	if len(least) < FloorParts/2 {
		return 0
	}
	return rise(least)
}

func rise(least []int64) int64 {
	const ends = 2 // parts at either end, so that one which has hardly begun does not decide
	if len(least) < 2*ends {
		return 0
	}
	before, after := slices.Min(least[:ends]), slices.Min(least[len(least)-ends:])
	if before == math.MaxInt64 || after == math.MaxInt64 {
		return 0
	}
	return max(0, after-before)
}

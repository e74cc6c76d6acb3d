package datagram

import "math"

// pacer is a token bucket over virtual time, in ns: it says how many datagrams
// may leave now. It lets a batch leave when its last datagram is due, and never
// more at once than its depth, however late its caller is: over any time t at
// most depth + rate*t leave.
type pacer struct {
	gap   float64 // ns a datagram; 0: as fast as it goes
	batch int     // datagrams of one send
	bunch int     // that leave back to back; 0: one batch after the other
	left  int     // of a bunch that has begun to leave
	began float64 // when that was due
	depth int     // datagrams; at least batch
	due   float64 // when the next datagram is due
	lost  float64 // ns of the rate that were given up
}

const (
	// smoothNS is how long a batch may take at the rate: what a path that shapes
	// to the rate must hold at least.
	smoothNS = 100e3
	// catchUpNS is the default depth: one tick of a kernel at 250 Hz, for which
	// another thread may hold the CPU.
	catchUpNS = 4e6
	// maxDepth bounds the default depth, in datagrams.
	maxDepth = 1 << 16
	// maxCall bounds the bytes of a call, and maxBatch its datagrams: more saves little, and makes longer bursts.
	maxCall  = 128 << 10
	maxBatch = 1024
)

// atOnce is how many datagrams of so many bytes a sender's call hands over at most.
func atOnce(message int) int { return max(1, min(maxBatch, maxCall/message)) }

// newPacer begins at a time. A depth of 0 is chosen; largest bounds the batch.
func newPacer(perSecond float64, depth, bunch, largest int, now int64) pacer {
	if perSecond <= 0 {
		return pacer{batch: largest, depth: largest, due: float64(now)}
	}
	p := pacer{gap: 1e9 / perSecond, due: float64(now)}
	p.batch = max(1, min(largest, int(smoothNS/p.gap)))
	p.depth = depth
	if depth == 0 {
		p.depth = int(min(maxDepth, max(2, math.Ceil(catchUpNS/p.gap))))
	}
	p.batch = min(p.batch, p.depth)
	p.depth = max(p.depth, p.batch)
	if bunch > 0 {
		// A bunch of which the rest is late may leave with the next one, and both beside
		// what is caught up with.
		p.batch, p.bunch, p.depth = min(largest, bunch), bunch, p.depth+2*bunch
	}
	return p
}

// take lets up to want datagrams leave. n of 0 means wait until the time
// release; else release is when they were meant to leave.
//
//go:nosplit
func (p *pacer) take(now int64, want int) (n int, release int64) {
	n = min(p.batch, want)
	if p.gap == 0 {
		return n, now
	}
	if p.bunch > 0 {
		return p.takeOfBunch(now, n)
	}
	last := p.due + float64(n-1)*p.gap
	if float64(now) < last {
		return 0, int64(last) + 1
	}
	p.forfeit(now, 1)
	p.due += float64(n) * p.gap
	return n, int64(last)
}

// takeOfBunch lets the next datagrams of a bunch leave, all when its first is due.
//
//go:nosplit
func (p *pacer) takeOfBunch(now int64, want int) (n int, release int64) {
	if p.left == 0 {
		if float64(now) < p.due {
			return 0, int64(p.due) + 1
		}
		p.began, p.left = p.due, p.bunch
		p.forfeit(now, 2*p.bunch)
		p.due += float64(p.bunch) * p.gap
	}
	n = min(want, p.left)
	p.left -= n
	return n, int64(p.began)
}

// forfeit gives up what is due beyond the depth, in which the next datagrams are;
// the lag that is recorded is the whole one.
//
//go:nosplit
func (p *pacer) forfeit(now int64, next int) {
	if oldest := float64(now) - float64(p.depth-next)*p.gap; p.due < oldest {
		p.lost += oldest - p.due
		p.due = oldest
	}
}

package datagram

import "math"

// pacer is a token bucket over virtual time, in ns: it says how many datagrams
// may leave now. It lets a batch leave when its last datagram is due, and never
// more at once than its depth, however late its caller is: over any time t at
// most depth + rate*t leave.
type pacer struct {
	gap   float64 // ns a datagram; 0: as fast as it goes
	batch int     // datagrams of one send
	depth int     // datagrams; at least batch
	due   float64 // when the next datagram is due
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
)

// newPacer begins at a time. A depth of 0 is chosen; largest bounds the batch.
func newPacer(perSecond float64, depth, largest int, now int64) pacer {
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
	last := p.due + float64(n-1)*p.gap
	if float64(now) < last {
		return 0, int64(last) + 1
	}
	// What is due beyond the depth is forfeited, but the lag that is recorded
	// is the whole one.
	if oldest := float64(now) - float64(p.depth-1)*p.gap; p.due < oldest {
		p.due = oldest
	}
	p.due += float64(n) * p.gap
	return n, int64(last)
}

package stream

import "windtunnel/traffic"

// How a rate is kept, as result.Offered.Method says it.
const (
	methodFQ     = traffic.KernelFQ
	methodTCP    = traffic.KernelTCP
	methodBucket = traffic.TokenBucket // in the hot thread
)

// pacing is what keeps the rate; without a rate it is empty.
type pacing struct {
	method string
	why    string
	burst  int // bytes: what may leave at once
}

const (
	segment = traffic.SegmentBytes
	// pieceSeconds is how much of the rate a paced thread hands over at once, and
	// bucketSeconds how much it may catch up.
	pieceSeconds  = 0.0005
	bucketSeconds = 0.01
)

// paceByBucket gives every flow a bucket of its own. One that lets whole messages
// through begins with what it lets through at once, as iperf3 does: at a low rate the
// test may be over before the next.
func paceByBucket(flows []*flow, c Config, why string) pacing {
	rate := c.BitsPerSecond / 8
	piece, depth := c.piece(), c.depth()
	begin := clock()
	if c.Together > 0 {
		piece = c.Together * c.Message
		begin -= int64(float64(piece) / rate * 1e9)
	}
	if c.Together > 0 {
		depth += piece // what is late is caught up with beside it
	}
	depth = max(depth, piece)
	for _, f := range flows {
		f.piece = piece
		if piece < c.Message { // a part of one that was cut here, and not a message of which several are to leave together
			f.sendAtOnce(piece)
		}
		f.bucket = traffic.NewBucket(rate, float64(depth), begin)
	}
	return pacing{method: methodBucket, why: why, burst: depth}
}

// depth is that of a flow's bucket, in bytes.
func (c Config) depth() int {
	if c.Burst > 0 {
		return c.Burst
	}
	return int(c.BitsPerSecond / 8 * bucketSeconds)
}

// piece is how much a flow's bucket lets through at once, in bytes, where messages need not leave whole.
func (c Config) piece() int {
	piece := min(c.Message, max(segment, int(c.BitsPerSecond/8*pieceSeconds)))
	return min(piece, max(1, c.depth()))
}

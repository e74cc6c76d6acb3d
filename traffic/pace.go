package traffic

import (
	"math"
	"time"
)

// TokenBucket is result.Offered.Method of a stream whose sending thread keeps the rate by Buckets. Its BurstPackets are segments
// of SegmentBytes, the payload of one on Ethernet with timestamps.
const (
	TokenBucket  = "token-bucket"
	SegmentBytes = 1448
)

// The result.Offered.Methods of a stream whose rate the kernel keeps, of what its thread hands over ahead (SO_MAX_PACING_RATE).
const (
	KernelFQ  = "kernel-fq"  // by the outgoing device's fq
	KernelTCP = "kernel-tcp" // by TCP itself
)

// Bucket is a bounded token bucket: it lets a rate through and, after a delay,
// catches up by its depth at most. It is arithmetic on the caller's clock, makes
// no system call and allocates nothing. One goroutine uses it.
type Bucket struct {
	nsPerToken float64
	depthNS    float64
	spentUntil float64 // the clock at which all that was taken is paid for
	spilt      float64 // ns of the rate that it could not hold
}

// NewBucket is a bucket that begins empty at now, in ns of any steady clock. A
// token is what the caller likes, such as a byte; depth is in tokens.
func NewBucket(tokensPerSecond, depth float64, now int64) *Bucket {
	ns := float64(time.Second) / tokensPerSecond
	return &Bucket{nsPerToken: ns, depthNS: depth * ns, spentUntil: float64(now)}
}

// Wait is for how many ns the caller has to wait, 0 for not at all, until so many
// tokens are there; more than the depth are never there.
func (b *Bucket) Wait(tokens int, now int64) int64 {
	b.spill(now)
	due := b.spentUntil + float64(tokens)*b.nsPerToken
	return max(0, int64(math.Ceil(due-float64(now))))
}

// Take takes tokens, also those that are not there yet.
func (b *Bucket) Take(tokens int, now int64) {
	b.spill(now)
	b.spentUntil += float64(tokens) * b.nsPerToken
}

// spill drops what the bucket cannot hold.
func (b *Bucket) spill(now int64) {
	if holds := float64(now) - b.depthNS; b.spentUntil < holds {
		b.spilt += holds - b.spentUntil
		b.spentUntil = holds
	}
}

// Spilt is how much of the rate the bucket could not hold so far, in ns of it.
func (b *Bucket) Spilt() int64 { return int64(b.spilt) }

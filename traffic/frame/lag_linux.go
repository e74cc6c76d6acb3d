package frame

import (
	"windtunnel/result"
)

// What the BPF program counts lateness in: four buckets for each power of two of
// its unit, 1024 ps. A value is known to within an eighth.
const (
	lagUnitNS       = 1.024
	bucketsPerPower = 4
)

// lagOf is the middle of a bucket, in ns; frame_bucket in frame_wire.h is its reverse.
func lagOf(bucket int) int64 {
	if bucket < bucketsPerPower {
		return int64(float64(bucket) * lagUnitNS)
	}
	power, part := bucket/bucketsPerPower+1, bucket%bucketsPerPower
	width := uint64(1) << (power - 2)
	return int64((float64(uint64(bucketsPerPower+part)*width) + float64(width)/2) * lagUnitNS)
}

func (l *live) late(all *result.Recorder) {
	for bucket, frames := range l.record.Lag {
		all.RecordMany(lagOf(bucket), frames)
	}
}

func (p *packetSocket) late(all *result.Recorder) { all.Merge(p.lag) }

// lag is how late the window's frames were; without a rate none is late.
func (w *sendWorker) lag(m mover) *result.Histogram {
	if w.load.rate == 0 {
		return nil
	}
	all := result.NewRecorder()
	m.late(all)
	h := all.Histogram()
	return &h
}

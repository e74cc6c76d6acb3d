package datagram

import (
	"time"

	"windtunnel/result"
)

// intervals makes the records of PairEnd.Intervals from one direction's counts.
type intervals struct {
	window time.Time // begins
	last   time.Time
	before amounts
	lost   uint64 // told so far: datagrams that come after all take it back first
	done   []result.Interval
}

// amounts are counted since the start.
type amounts struct{ bytes, packets, lost uint64 }

func amountsOf(flows []FlowCounts) (a amounts) {
	for _, f := range flows {
		a.bytes += f.Bytes
		a.packets += f.Packets
		a.lost += f.Lost
	}
	return a
}

// add ends an interval at a snapshot.
func (v *intervals) add(at time.Time, now amounts) result.Interval {
	record := result.Interval{
		From: v.last.Sub(v.window).Seconds(), To: at.Sub(v.window).Seconds(),
		Bytes: now.bytes - v.before.bytes, Packets: now.packets - v.before.packets,
	}
	if now.lost > v.lost {
		record.Lost = now.lost - v.lost
		v.lost = now.lost
	}
	v.last, v.before = at, now
	v.done = append(v.done, record)
	return record
}

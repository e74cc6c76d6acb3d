package oneoff

import (
	"time"

	"windtunnel/result"
)

// joiner puts short intervals together to those of a length, counted from the window's
// beginning; the warm-up's are never the window's.
type joiner struct {
	length float64 // seconds
	out    func(result.Interval)

	sum   result.Interval
	holds bool
}

// take adds an interval of one end, which has no latencies.
func (j *joiner) take(i result.Interval) {
	if j.holds && numberOf(i, j.length) != numberOf(j.sum, j.length) {
		j.flush()
	}
	if !j.holds {
		j.sum, j.holds = i, true
	} else {
		j.sum.To = i.To
		j.sum.Bytes += i.Bytes
		j.sum.BackBytes += i.BackBytes
		j.sum.Packets += i.Packets
		j.sum.Lost += i.Lost
		j.sum.Retransmits += i.Retransmits
	}
	if end := (numberOf(j.sum, j.length) + 1) * j.length; i.To > end-(i.To-i.From)/2 {
		j.flush()
	}
}

// flush hands on what there is.
func (j *joiner) flush() {
	if j.holds {
		j.out(j.sum)
		j.holds = false
	}
}

// joined puts intervals together to those of a length; 0: there are none.
func joined(short []result.Interval, length time.Duration) (whole []result.Interval) {
	if length == 0 {
		return nil
	}
	j := joiner{length: length.Seconds(), out: func(i result.Interval) { whole = append(whole, i) }}
	for _, i := range short {
		j.take(i)
	}
	j.flush()
	return whole
}

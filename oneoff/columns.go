package oneoff

import (
	"fmt"

	"windtunnel/result"
)

// column is one figure of the interval lines.
type column struct {
	name  string
	value func(Paired) string
}

// columnsFor chooses by the load, whose defaults are filled in: its first interval may be one in
// which nothing came yet. One that flows both ways has two columns more.
func columnsFor(load result.Options) []column {
	columns := columnsForth(load)
	if load.Text("direction") != "both" {
		return columns
	}
	return append(columns,
		column{"sent back", theirs(func(i result.Interval) string { return per(i, 8*i.BackBytes, rate) })},
		column{"received back", mine(func(i result.Interval) string { return per(i, 8*i.BackBytes, rate) })})
}

// asks tells whether a load, whose defaults are filled in, is requests.
func asks(load result.Options) bool { return load.Int("depth") > 0 }

// columnsForth tells kinds apart by the words that they use, as memoryOf does: requests are under way
// in some depth and have latencies, packets have flows and are counted, a stream has bytes alone.
func columnsForth(load result.Options) []column {
	switch {
	case asks(load):
		return []column{
			{"requests", mine(func(i result.Interval) string { return per(i, i.InTime(), requestRate) })},
			{"median", mine(func(i result.Interval) string { return latency(i.LatencyP50) })},
			{"99 %", mine(func(i result.Interval) string { return latency(i.LatencyP99) })},
		}
	case load.Int("flows") > 0:
		return []column{sentColumn, receivedColumn,
			{"packets sent", mine(func(i result.Interval) string { return per(i, i.Packets, packetRate) })},
			{"received", theirs(func(i result.Interval) string { return per(i, i.Packets, packetRate) })},
			{"lost", theirs(func(i result.Interval) string { return fmt.Sprint(i.Lost) })},
		}
	}
	return []column{sentColumn, receivedColumn,
		{"retransmits", mine(func(i result.Interval) string { return fmt.Sprint(i.Retransmits) })},
	}
}

var (
	sentColumn     = column{"sent", mine(func(i result.Interval) string { return per(i, 8*i.Bytes, rate) })}
	receivedColumn = column{"received", theirs(func(i result.Interval) string { return per(i, 8*i.Bytes, rate) })}
)

// latency is a dash where no answer came: 0 would be the best of all.
func latency(seconds float64) string {
	if seconds == 0 {
		return "-"
	}
	return span(seconds)
}

// per is a count by the second, and a dash where the interval is too short for one: an end that did not run makes up for it in no time.
func per(i result.Interval, count uint64, words func(float64) string) string {
	if !(i.To-i.From >= leastRated) {
		return "-"
	}
	return words(float64(count) / (i.To - i.From))
}

func mine(value func(result.Interval) string) func(Paired) string {
	return func(p Paired) string { return known(p.Sender, value) }
}

func theirs(value func(result.Interval) string) func(Paired) string {
	return func(p Paired) string { return known(p.Receiver, value) }
}

// known writes a figure, and a dash for what an end did not tell.
func known(i *result.Interval, value func(result.Interval) string) string {
	if i == nil {
		return "-"
	}
	return value(*i)
}

package command

import (
	"fmt"
	"strings"

	"windtunnel/result"
	"windtunnel/traffic/iperf3"
)

// truth gathers what iperf3's arithmetic does not tell: it takes a duplicate for
// a datagram that came late, and gives one mean of the jitter.
type truth struct{ disturbed []iperf3.Interval }

// mostDisturbed bounds the intervals that are kept: a day of seconds.
const mostDisturbed = 86400

// interval keeps an interval in which something happened to datagrams.
func (t *truth) interval(i iperf3.Interval) {
	if len(t.disturbed) == mostDisturbed {
		return
	}
	for _, s := range i.Streams {
		if s.UDP != nil && s.UDP.True != nil && disturbed(*s.UDP.True) {
			t.disturbed = append(t.disturbed, i)
			return
		}
	}
}

func disturbed(a iperf3.Arrivals) bool {
	return a.Lost+a.Late+a.Reordered+a.Duplicate+a.Corrupt+a.SocketDrops > 0
}

// lines are for people: one for what was received, one for what left late.
func (t *truth) lines(e iperf3.End) (lines []string) {
	var all iperf3.Arrivals
	var jitter, lag []result.Histogram
	received := false
	for _, s := range e.Streams {
		u := s.UDP
		if u == nil {
			continue
		}
		if u.True != nil {
			received = true
			all = added(all, *u.True)
		}
		jitter, lag = appended(jitter, u.Jitter), appended(lag, u.Lag)
	}
	if received {
		lines = append(lines, "Windtunnel: "+arrivalText(all)+jitterText(jitter)+"\n")
	}
	const noticed = 1e-3 // seconds
	if late, err := result.MergeHistograms(lag...); err == nil && late.P99 >= noticed {
		lines = append(lines, fmt.Sprintf("Windtunnel: this sender was late: datagrams left p50 %s, p99 %s, max %s after their time\n",
			inMilliseconds(late.P50), inMilliseconds(late.P99), inMilliseconds(late.Max)))
	}
	return lines
}

func appended(all []result.Histogram, one *result.Histogram) []result.Histogram {
	if one == nil || one.Count == 0 {
		return all
	}
	return append(all, *one)
}

func added(a, b iperf3.Arrivals) iperf3.Arrivals {
	a.Received += b.Received
	a.Lost += b.Lost
	a.Late += b.Late
	a.Reordered += b.Reordered
	a.Duplicate += b.Duplicate
	a.Corrupt += b.Corrupt
	a.SocketDrops += b.SocketDrops
	return a
}

func arrivalText(a iperf3.Arrivals) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d different datagrams received, %d lost", a.Received, a.Lost)
	if a.SocketDrops > 0 {
		fmt.Fprintf(&b, " (%d of them in the socket's buffer)", a.SocketDrops)
	}
	fmt.Fprintf(&b, ", %d late, %d reordered, %d duplicate, %d corrupt", a.Late, a.Reordered, a.Duplicate, a.Corrupt)
	return b.String()
}

func jitterText(parts []result.Histogram) string {
	all, err := result.MergeHistograms(parts...)
	if err != nil || all.Count == 0 {
		return ""
	}
	return fmt.Sprintf("; jitter p50 %s, p99 %s, max %s", inMilliseconds(all.P50), inMilliseconds(all.P99), inMilliseconds(all.Max))
}

func inMilliseconds(seconds float64) string { return fmt.Sprintf("%.3f ms", seconds*1000) }

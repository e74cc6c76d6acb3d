package command

import (
	"fmt"
	"slices"
	"strings"

	"windtunnel/result"
	"windtunnel/traffic/iperf3"
)

// truth gathers what iperf3's arithmetic does not tell: it takes a duplicate for
// a datagram that came late, and gives one mean of the jitter.
type truth struct {
	disturbed []iperf3.Interval
	room      int // stream intervals that may still be kept
	leftOut   int // intervals for which there was none
}

// interval keeps an interval in which something happened to datagrams.
func (t *truth) interval(i iperf3.Interval) {
	if !slices.ContainsFunc(i.Streams, func(s iperf3.StreamInterval) bool {
		return s.UDP != nil && s.UDP.True != nil && disturbed(*s.UDP.True)
	}) {
		return
	}
	if len(i.Streams) > t.room {
		t.leftOut++
		return
	}
	t.room -= len(i.Streams)
	t.disturbed = append(t.disturbed, i)
}

func disturbed(a iperf3.Arrivals) bool {
	return a.Lost+a.Late+a.Reordered+a.Duplicate+a.Corrupt+a.SocketDrops > 0
}

// truthLines are for people: one for what was received, one for what left late, one for what could not leave.
func truthLines(e iperf3.End) (lines []string) {
	var all iperf3.Arrivals
	received := false
	for _, s := range e.Streams {
		if s.UDP != nil && s.UDP.True != nil {
			received = true
			all = added(all, *s.UDP.True)
		}
	}
	if received {
		lines = append(lines, "Windtunnel: "+arrivalText(all)+jitterText(e.Jitter)+"\n")
	}
	lines = append(lines, limitLine(e.Limit))
	const noticed = 1e-3 // seconds
	if late := e.Lag; late != nil && late.P99 >= noticed {
		lines = append(lines, fmt.Sprintf("Windtunnel: this end was late: datagrams left p50 %s, p99 %s, max %s after their time\n",
			inMilliseconds(late.P50), inMilliseconds(late.P99), inMilliseconds(late.Max)))
	}
	if e.Away > 0 {
		lines = append(lines, fmt.Sprintf("Windtunnel: nothing left this end for %s: %v\n", inMilliseconds(e.Away.Seconds()), e.AwayWhy))
	}
	return lines
}

// inOtherWords avoids the two words by which scripts find iperf3's own lines.
var inOtherWords = strings.NewReplacer("receiver-limited", "limited by the receiving end", "sender", "sending end", "receiver", "receiving end")

// limitLine is the verdict.
func limitLine(l result.Limit) string {
	says := l.Says
	if l.Verdict != "" {
		says = l.Verdict + ": " + says
	}
	return "Windtunnel: " + inOtherWords.Replace(says) + "\n"
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

func jitterText(j *result.Histogram) string {
	if j == nil || j.Count == 0 {
		return ""
	}
	return fmt.Sprintf("; jitter p50 %s, p99 %s, max %s", inMilliseconds(j.P50), inMilliseconds(j.P99), inMilliseconds(j.Max))
}

func inMilliseconds(seconds float64) string { return fmt.Sprintf("%.3f ms", seconds*1000) }

package oneoff

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"windtunnel/result"
)

// summarise writes an outcome as a person reads it: what was asked, both ends,
// what became of the packets, and what the limit was. Every figure that is there
// has its line, whatever the kind.
func summarise(out io.Writer, o Outcome) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) {
		fmt.Fprintf(table, "  %s\t%s\n", name, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(table, "%s to %s%s\n", o.Kind, o.Host, interrupted(o))
	line("load", "%s", strings.Join(o.loadWords(), ", "))
	for _, way := range result.Ways(o.Pair.Sender, o.Pair.Receiver) {
		summariseWay(line, way, o.Interrupted)
	}
	if limit := o.Pair.Limit; limit != nil {
		line("limit", "%s", limitWords(*limit))
	}
	if why := unkept(o.Pair); why != "" {
		line("doubt", "%s", why)
	}
	if why := spoiled(o.Pair); why != "" {
		line("doubt", "%s: with all of it the figures may differ", why)
	}
	_ = table.Flush() // out is a buffer
}

// summariseWay writes one direction.
func summariseWay(line lines, way result.Way, interrupted bool) {
	if way.Back {
		line("back", "from there to here")
	}
	perSecond, asks := packetRate, way.Sender.Asks()
	if asks {
		perSecond = requestRate
	}
	line("sent", "%s", moved(way.Sender, sentPackets(way.Sender), perSecond))
	if text := endedLate(way, asks); interrupted && text != "" {
		line("received", "%s", text)
	} else {
		line("received", "%s", moved(way.Receiver, way.Receiver.Packets, perSecond))
	}
	if asks {
		answered(line, way.Sender)
	}
	arrivals(line, way.Arrived(), asks)
	if asks {
		unasked(line, way.Sender.Offered)
	}
	frames(line, way.Sender, way.Receiver)
	latencies(line, way.Sender)
	connections(line, way.Sender.Connections)
	zeroCopy(line, way.Sender.ZeroCopy)
	line("threads", "sender %s; receiver %s", threads(way.Sender), threads(way.Receiver))
	methods(line, way.Sender.Offered, way.Receiver.Arrived)
	if o := way.Sender.Offered; o != nil && o.AwaySeconds > 0 {
		line("doubt", "for %s the sender's system had no way to the receiver (%s): nothing left meanwhile", span(o.AwaySeconds), clipLong(o.AwayWhy))
	}
}

// lines writes one line of a summary.
type lines func(name, format string, args ...any)

func interrupted(o Outcome) string {
	if o.Interrupted {
		return fmt.Sprintf(", interrupted after %.1f of %g s", o.Pair.Sender.WindowSeconds, o.Window)
	}
	return fmt.Sprintf(", %g s after %g s of warm-up", o.Window, o.WarmUp)
}

func (o Outcome) loadWords() []string {
	kind, err := KindByName(o.Kind)
	if err != nil {
		return nil
	}
	return loadWords(kind, o.Load)
}

// sentPackets are the packets that an end sent in its window: of one that waits for answers its requests, also those that had none.
func sentPackets(end result.PairEnd) uint64 {
	if end.Asks() && end.Arrived != nil {
		sent := end.Arrived.Expected
		if end.Offered != nil {
			sent -= min(sent, end.Offered.Unsent)
		}
		return sent
	}
	return end.Packets
}

// answered is the rate of the answers that came.
func answered(line lines, end result.PairEnd) {
	if end.WindowSeconds >= leastRated {
		line("answered", "%s", requestRate(float64(end.InWindow())/end.WindowSeconds))
	}
}

// moved is what passed an end, by the second.
func moved(end result.PairEnd, packets uint64, perSecond func(float64) string) string {
	if end.WindowSeconds <= 0 {
		return "not known"
	}
	text := tooShort(end)
	if text == "" {
		text = rate(8 * float64(end.Bytes) / end.WindowSeconds)
		if packets > 0 {
			text += ", " + perSecond(float64(packets)/end.WindowSeconds)
		}
	}
	if end.Error != "" {
		text += " (" + clipLong(end.Error) + ")"
	}
	return text
}

// sameWindow is by how much two ends' windows may differ, of the sender's, for rates of both.
const sameWindow = 0.01

// endedLate is what a receiver got whose window ended later than the sender's, as the word of an interruption took its time; "" of
// another.
func endedLate(way result.Way, requests bool) string {
	more := way.Receiver.WindowSeconds - way.Sender.WindowSeconds
	if more <= sameWindow*way.Sender.WindowSeconds {
		return ""
	}
	text := fmt.Sprintf("%d bytes", way.Receiver.Bytes)
	if way.Receiver.Packets > 0 {
		what := "packets"
		if requests {
			what = "requests"
		}
		text += fmt.Sprintf(", %d %s", way.Receiver.Packets, what)
	}
	return text + fmt.Sprintf(": this end's word took %s to end its window, so no rate", span(more))
}

// unkept is what of a sender's requests waited behind others until the end; "" where none did.
func unkept(pair result.PairSample) string {
	end := pair.Sender
	if end.Arrived == nil || end.Arrived.Behind == 0 {
		return ""
	}
	rate := ""
	if kept := pair.Limit != nil && pair.Limit.Verdict == result.RateReached; !kept && end.Offered != nil && end.Offered.TargetPacketsPerSecond > 0 {
		rate = "the rate was not kept: "
	}
	return fmt.Sprintf("%sanswers came until the end, and were behind by %d requests when the wait for them was over", rate, end.Arrived.Behind)
}

// unasked says which requests the latencies leave out.
func unasked(line lines, o *result.Offered) {
	if o != nil && o.Refused > 0 {
		line("", "%d requests were due and not sent: as many as may be under way were, or the socket took none; the latencies leave them out", o.Refused)
	}
}

// lossUntold is of packets some of which have not come, and nobody knows how many.
func lossUntold(a *result.Arrived) string { return "what was lost is not known: " + clipLong(a.Why) }

// arrivals says what became of the numbered packets, or of requests, whose order nobody looks at.
func arrivals(line lines, a *result.Arrived, requests bool) {
	if a == nil {
		return
	}
	what, reordered := "packets", fmt.Sprintf(" %d reordered,", a.Reordered)
	if requests {
		what = "requests"
		if a.Reordered == 0 {
			reordered = ""
		}
	}
	if slices.Contains(a.Untold, result.Loss) {
		line(what, "%d came in time, %d late,%s %d duplicate, %d corrupt; %s", a.Expected-a.Lost-a.Late, a.Late, reordered, a.Duplicate, a.Corrupt, lossUntold(a))
		return
	}
	line(what, "%d expected, %d lost (%s), %d late,%s %d duplicate, %d corrupt", a.Expected, a.Lost, share(a.Lost, a.Expected), a.Late, reordered, a.Duplicate, a.Corrupt)
	if a.SocketDrops > 0 {
		line("", "%d of the lost in the receiving socket's buffer", a.SocketDrops)
	}
	if a.Jitter > 0 {
		line("jitter", "%s (RFC 3550)", span(a.Jitter))
	}
}

func frames(line lines, sender, receiver result.PairEnd) {
	for _, end := range []struct {
		did string
		*result.Frames
	}{{"sent, counted at ", sender.Frames}, {"received, counted at ", receiver.Frames}} {
		if f := end.Frames; f != nil {
			line("frames", "of %s, %d flows, %s%s", f.Sizes(), f.Flows, end.did, f.CountedAt)
		}
	}
}

func latencies(line lines, sender result.PairEnd) {
	for _, of := range []struct{ name, says string }{
		{result.LatencyIntended, "latency from the intended time"},
		{result.LatencyActual, "latency from the actual time"},
	} {
		if h, there := sender.Latencies[of.name]; there && h.Count == 0 {
			line(of.says, "not known: no request was answered")
		} else if there {
			none, due := sender.Unanswered(of.name)
			line(of.says, "%s", distribution(h, none, due))
		}
	}
	if o := sender.Offered; o != nil && o.Lag != nil && o.Lag.Count > 0 {
		line("send lag", "%s", distribution(*o.Lag, 0, 0))
	}
}

// distribution leaves out what is not known where so many of those that were due have no time: they took longer than the others.
func distribution(h result.Histogram, none, due uint64) string {
	text := "min " + span(h.Min)
	for _, q := range []struct {
		name  string
		share float64
		is    float64
	}{{"median", 0.5, h.P50}, {"90 %", 0.9, h.P90}, {"99 %", 0.99, h.P99}, {"99.9 %", 0.999, h.P999}} {
		value := span(q.is)
		if result.TooFewAnswered(none, due, q.share) {
			value = "not known"
		}
		text += ", " + q.name + " " + value
	}
	return text + fmt.Sprintf(", max %s (%d)", span(h.Max), h.Count)
}

func connections(line lines, all []result.Connection) {
	if len(all) == 0 {
		return
	}
	retransmits, rtt := uint64(0), 0.0
	for _, c := range all {
		retransmits += c.Retransmits
		rtt += c.RTTSeconds / float64(len(all))
	}
	line("TCP", "%d retransmits, RTT %s, MSS %d, %s", retransmits, span(rtt), all[0].MSS, all[0].Congestion)
}

func zeroCopy(line lines, z *result.ZeroCopy) {
	if z == nil {
		return
	}
	if !z.Tells() {
		line("zero copy", "%s; the kernel tells nothing of copies", z.Method)
		return
	}
	line("zero copy", "%s: %s of %d sends were copied after all", z.Method, share(z.Copied, z.Completed), z.Completed)
}

// threads says how busy an end's hot threads were.
func threads(end result.PairEnd) string {
	if end.Threads == 0 || end.WindowSeconds <= 0 {
		return "not known"
	}
	busy := end.CPUSeconds / (float64(end.Threads) * end.WindowSeconds)
	return fmt.Sprintf("%d, %s busy", end.Threads, percent(busy))
}

func methods(line lines, o *result.Offered, a *result.Arrived) {
	if o != nil && o.Method != "" {
		line("sent by", "%s%s", o.Method, because(o.Why))
	}
	if a != nil && a.Method != "" {
		line("received by", "%s%s", a.How(), because(a.Why))
	}
	if a != nil && a.PerFlow != nil && a.PerFlow.Flows > 1 {
		line("flows", "%s", a.PerFlow)
	}
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return " (" + clipLong(why) + ")"
}

func limitWords(l result.Limit) string {
	if l.Verdict == "" {
		return l.Says
	}
	return l.Verdict + ": " + l.Says
}

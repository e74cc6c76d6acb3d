package command

import (
	"fmt"
	"strconv"

	"windtunnel/traffic/ntttcp"
)

const (
	linuxVersion    = "1.4.3"
	linuxXMLVersion = "5.33-linux" // what the tool calls itself in XML and JSON
	linuxKB         = 1e3          // its KB and MB are decimal, unlike Windows'
	linuxMB         = 1e6
)

func itoa(n int) string { return strconv.Itoa(n) }

// linuxResult is one test as ntttcp-for-linux tells it.
type linuxResult struct {
	flags    *linuxFlags
	outcome  ntttcp.Outcome
	usage    usage
	computer string
	os       string
}

func (r linuxResult) bytesPerSecond() float64 {
	return ratio(float64(r.outcome.Bytes), r.outcome.Seconds)
}

func (r linuxResult) perSecond(n uint64) float64 { return ratio(float64(n), r.outcome.Seconds) }

// packetsPerInterrupt is of the interface and the device that were asked for.
func (r linuxResult) packetsPerInterrupt() float64 {
	return ratio(float64(r.usage.nicSent+r.usage.nicReceived), float64(r.usage.device))
}

// cyclesPerByte takes all for busy that is not idle, waiting for I/O too.
func (r linuxResult) cyclesPerByte() float64 {
	return r.usage.cyclesPerByte(r.usage.busy(false), r.outcome.Bytes, r.outcome.Seconds)
}

// busy is the CPU time of this process a second, in percent of one CPU: the
// tool's "cpu busy (all)" is clock(3).
func (r linuxResult) busy() float64 { return 100 * ratio(r.usage.process.Seconds(), r.usage.seconds) }

func (r linuxResult) rttMicroseconds() int64 { return r.outcome.RTT.Microseconds() }

// showsRTT is for a TCP sender that was asked to say more.
func (r linuxResult) showsRTT() bool { return r.flags.verbose && r.flags.send && !r.flags.udp }

// retransmits are the kinds that --show-tcp-retrans shows, a second.
func (r linuxResult) retransmits() []struct {
	name, text string
	value      float64
} {
	t := r.usage.tcp
	return []struct {
		name, text string
		value      float64
	}{
		{"retrans_segments_per_sec", "retrans_segments/sec", r.perSecond(t.retransmitted)},
		{"lost_retrans_per_sec", "lost_retrans/sec", r.perSecond(t.lost)},
		{"syn_retrans_per_sec", "syn_retrans/sec", r.perSecond(t.syn)},
		{"fast_retrans_per_sec", "fast_retrans/sec", r.perSecond(t.fast)},
		{"forward_retrans_per_sec", "forward_retrans/sec", r.perSecond(t.forward)},
		{"slowStart_retrans_per_sec", "slowStart_retrans/sec", r.perSecond(t.slowStart)},
		{"retrans_fail_per_sec", "retrans_fail/sec", r.perSecond(t.retryFail)},
	}
}

// throughput is bits a second in the largest unit that leaves more than 1 of it,
// as format_throughput in util.c.
func throughput(bytes uint64, seconds float64) string {
	rate := ratio(8*float64(bytes), seconds)
	units := []string{"bps", "Kbps", "Mbps", "Gbps"}
	i := 0
	for rate > 1000 && i < len(units)-1 {
		rate /= 1000
		i++
	}
	return fmt.Sprintf("%.2f%s", rate, units[i])
}

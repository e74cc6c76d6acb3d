package command

import "windtunnel/traffic/ntttcp"

// windowsVersion is whose output it is.
const windowsVersion = "5.40"

// NTttcp for Windows' units: its KB and MB are 2^10 and 2^20 bytes, its mbps is
// 10^6 bits (BytesToKBytes and its neighbours in ntttcp.c).
const (
	windowsKB = 1 << 10
	windowsMB = 1 << 20
	megabit   = 1e6
)

// windowsResult is one window as NTttcp for Windows tells it.
type windowsResult struct {
	flags    *windowsFlags
	outcome  ntttcp.Outcome
	usage    usage
	computer string
}

// packets are those of the stack, as in the tool, but for UDP's: of datagrams that are cut or joined on their way the stack counts
// as many as its calls were (Udp.OutDatagrams and Udp.InDatagrams on Linux), so they are the test's own. Those that were joined
// before they were lost (-uro) nobody counts.
func (r windowsResult) packets() (sent, received, retransmitted, errors uint64) {
	t := r.usage.tcp
	switch {
	case r.flags.udp && r.flags.send:
		return r.outcome.Packets, 0, 0, r.usage.udpErrors
	case r.flags.udp && r.flags.uro:
		return 0, r.outcome.Packets, 0, 0
	case r.flags.udp:
		return 0, r.outcome.Packets, 0, r.usage.udpErrors
	}
	return t.sent, t.received, t.retransmitted, t.failed
}

// averageFrame is payload a packet of the direction that this end counts.
func (r windowsResult) averageFrame() float64 {
	sent, received, _, _ := r.packets()
	if r.flags.send {
		return ratio(float64(r.outcome.Bytes), float64(sent))
	}
	return ratio(float64(r.outcome.Bytes), float64(received))
}

func (r windowsResult) bytesPerSecond() float64 {
	return ratio(float64(r.outcome.Bytes), r.outcome.Seconds)
}

func (r windowsResult) buffers() float64 {
	return float64(r.outcome.Bytes) / float64(r.flags.bufferLength())
}

// busy counts waiting for I/O as idle: Windows does.
func (r windowsResult) busy() float64 { return r.usage.busy(true) }

func (r windowsResult) cyclesPerByte() float64 {
	return r.usage.cyclesPerByte(r.busy(), r.outcome.Bytes, r.outcome.Seconds)
}

func (r windowsResult) perSecond(n uint64) float64 {
	return ratio(float64(n), r.outcome.Seconds)
}

// receivedPer is received packets an interrupt or a DPC.
func (r windowsResult) receivedPer(n uint64) float64 {
	_, received, _, _ := r.packets()
	return ratio(float64(received), float64(n))
}

// meanOfThreads is the mean of the threads' own bytes a completion.
func (r windowsResult) meanOfThreads() float64 {
	sum := 0.0
	for _, thread := range r.outcome.Threads {
		sum += ratio(float64(thread.Bytes), float64(thread.Calls))
	}
	return ratio(sum, float64(len(r.outcome.Threads)))
}

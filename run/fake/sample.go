package fake

import (
	"math"
	"time"

	"windtunnel/result"
	"windtunnel/run"
)

// pass lets virtual time go by.
func (m *Machine) pass(seconds float64) {
	m.now = m.now.Add(time.Duration(seconds * float64(time.Second)))
}

// end is what one end of a pair reports; the cell's rate is shared by its pairs.
func (t *trial) end(e run.Request) run.WorkerEnd {
	pairs := max(1, t.pairs())
	perSecond := t.sends(e, t.rate/float64(pairs)) / 8
	bytes := uint64(perSecond * t.carried(0, t.start.WindowSeconds))
	end := run.WorkerEnd{Pair: e.Pair, Beside: e.Beside, Role: e.Order.Role, Place: e.Place, End: result.PairEnd{
		WindowSeconds: t.start.WindowSeconds, Bytes: bytes, Calls: bytes / (128 << 10), Threads: 1,
		CPUSeconds: t.start.WindowSeconds / 2, Intervals: t.intervals(perSecond),
	}}
	t.shape(e, &end.End)
	if t.dead && e.Order.Role == receive {
		end.Error = "the worker did not report: it ended"
	}
	return end
}

// carried is for how long, between two times counted from the window's begin, the cell would have to carry its full
// rate to carry what it does.
func (t *trial) carried(from, to float64) float64 {
	rising := min(to, t.truth.RisesFor-t.start.WarmUpSeconds) - from
	return to - from - max(0, rising)*(1-t.truth.RisesFrom)
}

// intervals are the bytes over time.
func (t *trial) intervals(bytesPerSecond float64) []result.Interval {
	var all []result.Interval
	step := t.start.IntervalSeconds
	if step <= 0 {
		return nil
	}
	for from := -math.Floor(t.start.WarmUpSeconds/step+1e-9) * step; from < t.start.WindowSeconds-step/2; from += step {
		all = append(all, result.Interval{From: from, To: from + step, Bytes: uint64(bytesPerSecond * t.carried(from, from+step))})
	}
	return all
}

// sends is what a pair's sender sends, in bits per second: its load's rate, else what the path
// carries.
func (t *trial) sends(e run.Request, carried float64) float64 {
	switch load := e.Order.Load; {
	case e.Order.Kind == "ping":
		return carried
	case load.Float("rate") > 0 && load["packets"] == nil:
		return load.Float("rate")
	case load.Float("packets") > 0:
		return load.Float("packets") * t.truth.PacketBytes * 8
	}
	return carried
}

// pairs counts the cell's pairs, not what runs beside them.
func (t *trial) pairs() int {
	ends := 0
	for _, e := range t.ends {
		if !e.Beside {
			ends++
		}
	}
	return ends / 2
}

// shape gives an end what its kind of load counts.
func (t *trial) shape(e run.Request, end *result.PairEnd) {
	switch kind := e.Order.Kind; {
	case kind == "stream":
		end.Connections = []result.Connection{{Congestion: "cubic", MSS: 1448, BusySeconds: t.start.WindowSeconds}}
		return
	case kind == "ping" && e.Order.Role == send:
		end.Latencies = t.latencies()
	case e.Order.Role == send:
		end.Offered = &result.Offered{Method: "simulated"}
	}
	sent := float64(end.Bytes) / t.truth.PacketBytes
	end.Packets = uint64(sent)
	if e.Order.Role == receive {
		carried := t.rate / float64(max(1, t.pairs())) / 8 * t.start.WindowSeconds / t.truth.PacketBytes
		lost := uint64(sent*t.truth.Loss + max(0, sent-carried))
		end.Packets -= min(lost, end.Packets)
		end.Bytes = uint64(float64(end.Packets) * t.truth.PacketBytes)
		if e.Order.Kind == "frame" && e.Order.Load.Float("packets") > 0 && !t.truth.LatencyFails {
			end.Latencies = t.latencies()
		}
		end.Arrived = &result.Arrived{Expected: uint64(sent), Lost: lost, Jitter: t.truth.LatencySeconds / 10, Flows: 1, Method: "simulated"}
	}
}

// latencies are spread evenly up to twice the median.
func (t *trial) latencies() map[string]result.Histogram {
	const requests = 1000
	r := result.NewRecorder()
	for i := range requests {
		r.Record(int64(2 * t.truth.LatencySeconds * 1e9 * float64(i) / requests))
	}
	return map[string]result.Histogram{result.LatencyIntended: r.Histogram(), result.LatencyActual: r.Histogram()}
}

// sample is what the node's probes report.
func (n *node) sample(t *trial) result.NodeSample {
	window := t.start.WindowSeconds
	s := result.NodeSample{WindowSeconds: window, CPUSource: "simulated"}
	busy := 0.01
	for _, e := range t.ends {
		if e.Cell != n.name || e.Beside {
			continue
		}
		packets := t.rate / 8 * window / t.truth.WirePacketBytes
		link := result.LinkSample{Place: n.name, Device: "wire0", Role: result.RoleWire, RxNAPI: new(uint64)}
		stack := result.StackSample{Place: e.Place}
		if e.Order.Role == send {
			busy += t.truth.SenderBusy
			link.TxPackets, link.TxBytes = uint64(packets), uint64(packets*t.truth.WirePacketBytes)
		} else {
			busy += t.truth.ReceiverBusy
			link.RxPackets, link.RxBytes = uint64(packets), uint64(packets*t.truth.WirePacketBytes)
			stack.InBytes = uint64(t.rate / 8 * window)
			stack.InPackets = uint64(float64(stack.InBytes) / t.truth.EndpointPacketBytes)
		}
		s.Links, s.Stacks = append(s.Links, link), append(s.Stacks, stack)
	}
	cpu := result.CPUSample{Busy: min(1, busy) * window}
	cpu.System, cpu.Softirq, cpu.Idle = cpu.Busy/2, cpu.Busy/2, window-cpu.Busy
	if t.stolen {
		cpu.Steal = window / 10
	}
	s.CPUs = []result.CPUSample{cpu}
	return s
}

package fake

import (
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
	pairs := max(1, len(t.ends)/2)
	bytes := uint64(t.rate / float64(pairs) / 8 * t.start.WindowSeconds)
	end := run.WorkerEnd{Pair: e.Pair, Role: e.Order.Role, Place: e.Place, End: result.PairEnd{
		WindowSeconds: t.start.WindowSeconds, Bytes: bytes, Calls: bytes / (128 << 10), Threads: 1,
		CPUSeconds:  t.start.WindowSeconds / 2,
		Connections: []result.Connection{{Congestion: "cubic", MSS: 1448, BusySeconds: t.start.WindowSeconds}},
	}}
	if t.dead && e.Order.Role == receive {
		end.Error = "the worker did not report: it ended"
	}
	return end
}

// sample is what the node's probes report.
func (n *node) sample(t *trial) result.NodeSample {
	window := t.start.WindowSeconds
	s := result.NodeSample{WindowSeconds: window, CPUSource: "simulated"}
	busy := 0.01
	for _, e := range t.ends {
		if e.Cell != n.name {
			continue
		}
		packets := t.rate / 8 * window / t.truth.WirePacketBytes
		link := result.LinkSample{Place: n.name, Device: "wire0", Role: result.RoleWire}
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

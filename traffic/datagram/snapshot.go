package datagram

import (
	"time"

	"windtunnel/traffic"
)

// Snapshot reads the counters. Each flow's are of one instant; the clock is read
// just before them.
func (e *Engine) Snapshot() Snapshot {
	s := Snapshot{At: time.Now(), Flows: make([]FlowCounts, len(e.outs))}
	for i := range s.Flows {
		s.Flows[i] = e.counts(i)
	}
	for _, t := range e.threads {
		spent := traffic.ThreadTime(t.clock.CPU(), t.clock.Wait())
		if t.send != nil {
			s.Send.Add(spent)
			s.Missed += time.Duration(t.send.missed.Load())
		} else {
			s.Receive.Add(spent)
			s.Stood += time.Duration(t.receive.stood.Load())
			s.Vain += time.Duration(t.receive.vain.Load())
		}
	}
	return s
}

func (e *Engine) counts(i int) FlowCounts {
	e.homes[i].lock()
	defer e.homes[i].unlock()
	if out := e.outs[i]; out != nil {
		c := out.counts
		c.Sends = true
		c.IsGone = out.gone.is(e.clock.now())
		c.Away, c.IsAway, c.AwayWhy = out.away.until(e.clock.now()), out.away.is, out.away.why
		return c
	}
	c := e.ins[i].counts(e.config.Codec != nil)
	if in := e.first[i]; in != nil {
		c.SocketDrops = in.socket.drops()
	}
	return c
}

func (t *tally) counts(numbered bool) FlowCounts {
	all := t.sum()
	c := FlowCounts{Bytes: t.bytes, Calls: t.calls, Foreign: t.foreign, Longer: t.longer, Packets: all.Packets, Marked: t.marked}
	if !numbered {
		return c
	}
	c.Late, c.Reordered, c.Duplicate, c.Corrupt = all.Late, all.Reordered, all.Duplicate, all.Corrupt
	c.Expected = t.window.next - t.first
	if have := c.Packets + c.Late; have < c.Expected {
		c.Lost = c.Expected - have
	}
	c.Highest = t.window.next - 1
	c.Jitter = float64(t.jitter) / 16e9
	c.Backlog = float64(t.floor.Rise()) / 1e9
	c.IperfErrors, c.IperfOutOfOrder = t.iperfError, t.iperfOrder
	return c
}

package stream

import (
	"math"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// report is what an end did between two snapshots: what its main role did, and
// beside it the opposite direction where there is one.
func (w *worker) report(e *Engine, before, after Snapshot) result.PairEnd {
	role := w.load.mainRole(w.role)
	end := e.between(role, before, after)
	end.StoodSeconds = w.still.For.Seconds()
	if w.load.direction == both {
		opposite := e.between(other(role), before, after)
		opposite.StoodSeconds = end.StoodSeconds
		end.Opposite = &opposite
	}
	return end
}

func other(role traffic.Role) traffic.Role {
	if role == traffic.Send {
		return traffic.Receive
	}
	return traffic.Send
}

// between is what the flows of one role did from one snapshot to a later one. A window that was still open after they had
// ended, as nobody woke in time to close it, is over with them.
func (e *Engine) between(role traffic.Role, before, after Snapshot) result.PairEnd {
	spent := after.crew(role).Since(before.crew(role))
	end := result.PairEnd{
		WindowSeconds:  max(0, e.crews[role].over(after.At).Sub(before.At).Seconds()),
		CPUSeconds:     spent.CPU.Seconds(),
		Threads:        spent.Threads,
		BusiestSeconds: spent.Busiest().Seconds(),
	}
	var copied result.ZeroCopy
	var missed, held time.Duration
	for i, f := range after.Flows {
		was := before.Flows[i]
		if f.Role != role {
			continue
		}
		end.Bytes += f.Bytes - was.Bytes
		end.Calls += f.Calls - was.Calls
		missed += f.Missed - was.Missed
		held += f.Held - was.Held
		copied.Completed += f.ZeroCompleted - was.ZeroCompleted
		copied.Copied += f.ZeroCopied - was.ZeroCopied
		if was.TCP != nil && f.TCP != nil {
			end.Connections = append(end.Connections, connection(was.TCP, f.TCP))
		}
	}
	if role == traffic.Send {
		end.Offered = e.offered(spent.Wait, missed, held)
		end.ZeroCopy = e.zeroCopy(copied)
	} else if spent.Wait > 0 {
		end.Waited = &result.Wait{Seconds: spent.Wait.Seconds()}
	}
	return end
}

func (s Snapshot) crew(role traffic.Role) traffic.CrewTime {
	if role == traffic.Send {
		return s.Send
	}
	return s.Receive
}

// offered is what the senders were asked for; the target, the burst and what was missed or held up are of all their flows.
func (e *Engine) offered(waited, missed, held time.Duration) *result.Offered {
	o := &result.Offered{WaitSeconds: waited.Seconds(), Method: e.pacing.method, Why: e.pacing.why}
	if e.config.BitsPerSecond > 0 {
		flows := len(e.of(traffic.Send))
		o.TargetBitsPerSecond = e.config.BitsPerSecond * float64(flows)
		if e.pacing.method == methodBucket {
			mean := missed.Seconds() / float64(flows)
			o.MissedSeconds, o.HeldSeconds = &mean, held.Seconds()/float64(flows)
		}
		o.BurstPackets = int(math.Ceil(float64(flows*e.pacing.burst) / segment))
	}
	return o
}

// zeroCopy is nil where the kernel was let copy. sendfile and splice tell nothing of copies.
func (e *Engine) zeroCopy(counted result.ZeroCopy) *result.ZeroCopy {
	switch e.config.Copy {
	case CopyZero:
		counted.Method = "msg-zerocopy"
	case CopySendfile, CopySplice:
		counted.Method = e.config.Copy
	default:
		return nil
	}
	return &counted
}

// connection subtracts in the counters' own width, so that they may wrap.
func connection(before, after *TCPInfo) result.Connection {
	return result.Connection{
		Congestion:           after.Congestion,
		MSS:                  after.MSS,
		RTTSeconds:           after.RTT.Seconds(),
		MinRTTSeconds:        after.MinRTT.Seconds(),
		CongestionWindow:     after.CongestionWindow,
		Retransmits:          uint64(after.Retransmits - before.Retransmits),
		BytesRetransmitted:   after.BytesRetransmitted - before.BytesRetransmitted,
		SegmentsOut:          uint64(after.SegmentsOut - before.SegmentsOut),
		SegmentsIn:           uint64(after.SegmentsIn - before.SegmentsIn),
		BusySeconds:          (after.Busy - before.Busy).Seconds(),
		RwndLimitedSeconds:   (after.RwndLimited - before.RwndLimited).Seconds(),
		SndbufLimitedSeconds: (after.SndbufLimited - before.SndbufLimited).Seconds(),
		SendBufferBytes:      after.SendBuffer,
		ReceiveBufferBytes:   after.ReceiveBuffer,
	}
}

package ntttcp

import (
	"fmt"
	"runtime"

	"windtunnel/result"
	"windtunnel/traffic"
)

// limit says what bounded a window (traffic.Judge), by what this end knows: neither protocol tells how busy the other
// end was, nor what a UDP sender's datagrams came to. So it is asked twice: with another end that did nothing
// but its part, and with one that was full and lost half of the datagrams. Where the verdict hangs on that, there is none.
// The words are of the first, which has no threads that would be told of.
func (t *Test) limit(o Outcome, before, after tally) result.Limit {
	spent, held := after.spent.Since(before.spent), after.limited(before)
	idle, full := t.judge(o, spent, held, false), t.judge(o, spent, held, true)
	switch {
	case idle.Verdict == full.Verdict && idle.Verdict == result.RateReached: // a sender's: it does not see what arrives
		idle.Says = fmt.Sprintf("%.2f Mbit/s of the %.2f Mbit/s asked for were handed over", 8*float64(o.Bytes)/o.Seconds/1e6, t.target(o)/1e6)
		return idle
	case idle.Verdict == full.Verdict:
		return idle
	}
	busy := 100 * spent.CPU.Seconds() / (float64(max(1, atOnce(spent))) * o.Seconds)
	return result.Limit{Says: fmt.Sprintf("no verdict: this end's threads were busy %.0f %% of the time, and the protocol does not tell what the other end's did", min(busy, 100))}
}

func (t *Test) judge(o Outcome, spent traffic.CrewTime, held []result.Connection, full bool) result.Limit {
	here := result.PairEnd{WindowSeconds: o.Seconds, Bytes: o.Bytes}
	there := here
	here.Threads, here.CPUSeconds, here.BusiestSeconds = atOnce(spent), spent.CPU.Seconds(), spent.Busiest().Seconds()
	wait := spent.Wait.Seconds() * float64(here.Threads) / float64(max(1, spent.Threads)) // the mean thread's, as if there were so many
	here.StoodSeconds = min(o.Stood.Seconds(), o.Seconds)
	if full { // but for when this end stood still, and nothing was under way
		there.Threads, there.CPUSeconds = 1, there.WindowSeconds-min(here.StoodSeconds, silence(held, o.Seconds))
	}
	sender, receiver := here, there
	if t.Role == traffic.Receive {
		sender, receiver = there, here
	}
	sender.Offered = &result.Offered{}
	if t.Role == traffic.Send {
		sender.Offered.TargetBitsPerSecond = t.target(o)
		sender.Offered.WaitSeconds = wait
		sender.Connections = held
		if t.UDP {
			receiver.Arrived = &result.Arrived{Expected: o.Calls}
			if full {
				receiver.Bytes /= 2
				receiver.Arrived.Lost = o.Calls / 2
			}
		}
	} else {
		receiver.Waited = &result.Wait{Seconds: wait}
	}
	return traffic.Judge(result.Options{"message": int64(t.Message)}, sender, receiver)
}

// silence is for how much of a window nothing was under way on a sender's connections, in seconds: all of it where that is not known.
func silence(held []result.Connection, window float64) float64 {
	if len(held) == 0 {
		return window
	}
	return max(0, window-held[0].BusySeconds)
}

// atOnce is how many threads could be busy at once: connections that come late, a batch at a time, have more threads than there are CPUs.
func atOnce(spent traffic.CrewTime) int { return min(spent.Threads, runtime.NumCPU()) }

// target is the rate of all connections that was asked for; 0: none.
func (t *Test) target(o Outcome) float64 { return t.BitsPerSecond * float64(o.Connections) }

// limited is what held all connections of a sender up since an earlier tally, as one.
func (sum tally) limited(before tally) []result.Connection {
	if sum.flows == 0 {
		return nil
	}
	each := float64(sum.flows)
	return []result.Connection{{
		BusySeconds: (sum.busy - before.busy).Seconds() / each, MinRTTSeconds: sum.minRTT.Seconds(),
		RwndLimitedSeconds: (sum.rwnd - before.rwnd).Seconds() / each, SndbufLimitedSeconds: (sum.sndbuf - before.sndbuf).Seconds() / each,
	}}
}

package frame

import (
	"fmt"
	"strings"

	"windtunnel/result"
	"windtunnel/traffic"
)

// end is the result: of the marked frames, or where the sender did not say what it
// sent, of those that came within this end's own window.
func (w *receiveWorker) end(c *course, before, used reading, last parting) (result.PairEnd, error) {
	all, err := w.sink.tally()
	if err != nil {
		return result.PairEnd{}, err
	}
	ours, seconds := all.phases[window], float64(last.final.windowNS)/1e9
	untold := uint64(0) // frames that are missing, and of which nobody knows whether they left
	lost := last.final.sent - min(last.final.sent, ours.packets+ours.late+ours.merged)
	end := result.PairEnd{Calls: used.calls - before.calls, CPUSeconds: max(0, (used.cpu - before.cpu).Seconds()), Intervals: c.intervals}
	_, foreign := w.load.tool()
	if foreign {
		// The window is this end's own, by its clock, and what was lost is of all that was ever sent.
		came := ours.packets + ours.corrupt
		lost = last.final.sent - min(last.final.sent, came)
		ours, seconds = used.all.since(before.all), used.at.Sub(before.at).Seconds()
	}
	if last.err != nil {
		end.Error = last.err.Error()
		ours, seconds = used.all.since(before.all), used.at.Sub(before.at).Seconds()
		lost, untold = w.lostOf(ours, before)
	}
	end.WindowSeconds, end.Packets = seconds, ours.packets
	end.Bytes = ours.bytes
	switch w.sink.(type) {
	case *packetSink:
		end.Threads = 1
	case *portSink:
		cycles := used.cycle.Since(before.cycle)
		end.Threads, end.Cycles = 1, &cycles
	}
	where, why := w.where(all)
	end.Frames = w.load.frames(where + " " + w.device.name)
	end.Arrived = &result.Arrived{
		Expected: ours.packets + lost + ours.late, Lost: lost, Late: ours.late, Reordered: ours.reordered,
		Duplicate: ours.duplicate, Corrupt: ours.corrupt, SocketDrops: min(used.drops-before.drops, lost),
		Flows: int(w.load.flows), Method: where, Why: why,
	}
	if untold > 0 {
		end.Arrived.Untold = []result.Metric{result.Loss}
		lacks := fmt.Sprintf("the sender ended without a word, so nobody knows how many of the %d frames that are missing its device had refused", untold)
		if end.Arrived.Why = lacks; why != "" {
			end.Arrived.Why = why + "; " + lacks
		}
	}
	if end.Arrived.PerFlow, err = w.perFlow(); err != nil {
		return end, err
	}
	if foreign {
		unnumbered(end.Arrived, w.load, all, last.final.sent)
	}
	switch {
	case last.err != nil:
	case foreign:
		end.Error = overcounted(w.load.generator, last.final.sent, all.all().packets)
	default:
		end.Error = overcounted("the sender", last.final.sent, ours.packets)
	}
	if ours.merged > 0 {
		end.Error = fmt.Sprintf("%d frames came to %s as parts of aggregates, which cannot be counted: switch GRO off at %s, or use sink xdp", ours.merged, where, w.device.name)
	}
	if end.Error == "" && end.Packets == 0 {
		end.Error = traffic.ErrNothing.Error()
	}
	if end.Latencies, err = w.latencies(); err == nil && last.err == nil {
		end.Arrived.Backlog, err = w.backlog(ours.packets)
	}
	return end, err
}

// lostOf is what was lost of the frames that came within this end's own window. A sender tells what its device refused also when it
// stops early; of one that was killed, or cannot be heard, there is no number: what is missing may never have left.
func (w *receiveWorker) lostOf(ours totals, before reading) (lost, untold uint64) {
	gaps := ours.gaps()
	if gaps == 0 || w.listener.knowsRefused() {
		refused := w.listener.refused.Load() - before.told
		return gaps - min(gaps, refused), 0
	}
	return 0, gaps - min(gaps, w.listener.refused.Load()-before.told)
}

// perFlow is how the window's frames are spread over the flows, nil of frames without numbers.
func (w *receiveWorker) perFlow() (*result.PerFlow, error) {
	s, counts := w.sink.(spreader)
	if _, foreign := w.load.tool(); foreign || !counts {
		return nil, nil
	}
	spread, err := s.perFlow()
	return &spread, err
}

// fewFrames do not tell what the shortest time under way is.
const fewFrames = 200

// backlog is by how many seconds the shortest time under way grew in the window, 0 too where frames do not tell.
func (w *receiveWorker) backlog(frames uint64) (float64, error) {
	s, sees := w.sink.(grower)
	if !sees || frames < fewFrames {
		return 0, nil
	}
	grown, err := s.grown()
	return grown.Seconds(), err
}

// latencies are those of the window's frames from when they left, nil where frames did not tell.
func (w *receiveWorker) latencies() (map[string]result.Histogram, error) {
	s, times := w.sink.(timer)
	if !times {
		return nil, nil
	}
	flights, err := s.flights()
	if err != nil {
		return nil, err
	}
	all := result.NewRecorder()
	for bucket, frames := range flights {
		all.RecordMany(lagOf(bucket), frames)
	}
	h := all.Histogram()
	if h.Count == 0 {
		return nil, nil
	}
	return map[string]result.Histogram{result.LatencyActual: h}, nil
}

// since subtracts an earlier reading.
func (t totals) since(o totals) totals {
	return totals{
		packets: t.packets - o.packets, bytes: t.bytes - o.bytes, skipped: t.skipped - o.skipped, reordered: t.reordered - o.reordered,
		duplicate: t.duplicate - o.duplicate, late: t.late - o.late, corrupt: t.corrupt - o.corrupt, merged: t.merged - o.merged,
	}
}

// where is the hook, or both, at which this session's frames were counted, and why
// not at XDP alone.
func (w *receiveWorker) where(t tally) (where, why string) {
	how, why := w.sink.method()
	var names []string
	for place, frames := range t.at {
		if frames > 0 {
			names = append(names, placeNames[place])
		}
	}
	if len(names) == 0 {
		return how, why
	}
	if t.at[atTC] > 0 && how == auto && why == "" {
		why = "the path puts frames behind the driver's XDP, so they were counted at tc"
	}
	return strings.Join(names, "+"), why
}

// unnumbered says what is not known of frames without numbers, and which of the flows came.
func unnumbered(a *result.Arrived, l load, all tally, sent uint64) {
	a.Expected, a.Flows = sent, int(all.flows)
	a.Untold = []result.Metric{result.LatePackets, result.Reordered, result.Duplicates}
	a.Why = "frames of " + l.generator + " have no numbers: what was lost is of all that it sent, the warm-up too"
	if all.flows != uint64(l.flows) {
		a.Why += fmt.Sprintf("; of %d flows asked for, %d came", l.flows, all.flows)
	}
}

// overcounted is an error if more frames came than who sent them says: one of the counts is wrong, or they are somebody else's.
func overcounted(generator string, sent, came uint64) string {
	if came <= sent {
		return ""
	}
	return fmt.Sprintf("%d frames came, more than the %d that %s says it sent: look who else sends there", came, sent, generator)
}

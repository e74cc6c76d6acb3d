package search

import (
	"fmt"
	"maps"
	"slices"

	"windtunnel/result"
)

// The options by which kinds of numbered packets are told a rate.
const (
	packetsOption = "packets"
	bitsOption    = "rate"
	burstOption   = "burst" // how it is kept
)

// Units are those in which a kind of traffic can be searched, the better one first; none
// where its packets have no numbers, so that none is known to be lost.
func Units(options []result.Option) []string {
	has := func(name string, t result.OptionType) bool {
		return slices.ContainsFunc(options, func(o result.Option) bool { return o.Name == name && o.Type == t })
	}
	switch {
	case !has(packetsOption, result.PacketRate):
		return nil
	case has(bitsOption, result.BitRate):
		return []string{result.BitsPerSecond, result.PacketsPerSecond}
	}
	return []string{result.PacketsPerSecond}
}

// CheckUnit refuses a unit that a kind's options cannot be told.
func CheckUnit(kind string, options []result.Option, unit string) error {
	units := Units(options)
	switch {
	case len(units) == 0:
		return fmt.Errorf("the kind %s has no rate of packets whose losses are counted: search with datagram or frame", kind)
	case !slices.Contains(units, unit):
		return fmt.Errorf("the kind %s: %s", kind, result.UnknownWord("unit", unit, units))
	}
	return nil
}

// Unpaced is a load without a rate, to be Paced.
func Unpaced(load result.Options) result.Options {
	unpaced := result.Options{}
	maps.Copy(unpaced, load)
	delete(unpaced, bitsOption)
	delete(unpaced, packetsOption)
	return unpaced
}

// Paced is a load at a rate over so many pairs; 0 is as fast as it goes.
func Paced(load result.Options, unit string, perSecond float64, pairs int) result.Options {
	paced := Unpaced(load)
	name := packetsOption
	if unit == result.BitsPerSecond {
		name = bitsOption
	}
	if perSecond > 0 {
		paced[name] = perSecond / float64(pairs)
	} else {
		delete(paced, burstOption)
	}
	return paced
}

// Rated names the option that gives a load a rate of its own, "" if none does.
func Rated(load result.Options) string {
	for _, name := range []string{bitsOption, packetsOption} {
		if load.Float(name) > 0 {
			return name
		}
	}
	return ""
}

// Counted is what the pairs of a trial sent and received, one way: of a load that flows both
// ways, the mean of the two. What came late came (RFC 2544, section 26.1, counts what comes
// within two seconds); the share that did not is the receivers' own count, whose numbers are
// those of the window.
func Counted(unit string, pairs []result.PairSample) Measured {
	var m Measured
	ofReceivers, ofGenerator, ofPath := 0.0, 0, 0
	for _, p := range pairs {
		ways := p.Ways()
		for _, way := range ways {
			sent := float64(way.Sender.Packets)
			if unit == result.BitsPerSecond {
				sent = 8 * float64(way.Sender.Bytes)
			}
			if way.Sender.Packets > 0 {
				m.Grain = max(m.Grain, sent/float64(way.Sender.Packets))
			}
			m.Waited += waitedShare(way.Sender) / float64(len(ways)*len(pairs))
			sent /= float64(len(ways))
			lost, atSocket := lostShare(way)
			m.Sent += sent
			m.Received += sent * (1 - lost)
			queued := sent * (1 - lost) * queuedShare(way)
			m.Queued += queued
			ofReceivers += sent * atSocket
			if queued > 0 && busyReceiver(way.Receiver) {
				ofReceivers += queued
			}
			m.Seconds += way.Sender.WindowSeconds / float64(len(ways)*len(pairs))
		}
		if p.Limit != nil {
			switch p.Limit.Verdict {
			case result.GeneratorLimited:
				ofGenerator++
			case result.PathLimited:
				ofPath++
			}
		}
	}
	m.Limit = limitOf(m, ofReceivers, ofGenerator, ofPath)
	return m
}

// limitOf is whose the loss was, or why less was sent than asked for. A path is believed to
// have pushed back only where nothing was lost: else who fell short cannot be told.
func limitOf(m Measured, ofReceivers float64, ofGenerator, ofPath int) string {
	const hardly = 0.01
	lost := m.Sent - m.Received + m.Queued
	switch {
	case ofGenerator > 0:
		return result.GeneratorLimited
	case lost > 0 && ofReceivers > lost/2:
		return result.ReceiverLimited
	case ofPath > 0 && lost < hardly*m.Sent:
		return result.PathLimited
	}
	return ""
}

// waitedShare is the share of its threads' time in which a sender could run and had no CPU, for other reasons than the kernel's packet work.
func waitedShare(sender result.PairEnd) float64 {
	o, all := sender.Offered, float64(sender.Threads)*sender.WindowSeconds
	if o == nil || !(all > 0) {
		return 0
	}
	return max(0, o.WaitSeconds-o.PathSeconds) / all
}

// queuedShare is the share of one way's arrivals by which a queue grew: what comes out of it
// in the window is that much less than what went in. Less than a thousandth is the scheduler's.
func queuedShare(way result.Way) float64 {
	const seen = 0.001
	a := way.Receiver.Arrived
	if a == nil || a.Backlog < seen*way.Sender.WindowSeconds {
		return 0
	}
	return a.Backlog / (way.Sender.WindowSeconds + a.Backlog)
}

// busyReceiver reports whether it is the receiver before whom packets queue.
func busyReceiver(r result.PairEnd) bool {
	const busy = 0.9
	return r.Threads > 0 && r.CPUSeconds > busy*float64(r.Threads)*r.WindowSeconds
}

// lostShare is the share of one way's packets that never came, and that was lost in the
// receiving socket. Where nothing came at all, all of it was lost.
func lostShare(way result.Way) (lost, atSocket float64) {
	a := way.Receiver.Arrived
	if a == nil || a.Expected == 0 {
		if way.Receiver.Packets == 0 {
			return 1, 0
		}
		return 0, 0
	}
	return float64(a.Lost) / float64(a.Expected), float64(a.SocketDrops) / float64(a.Expected)
}

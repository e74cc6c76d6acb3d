package result

import (
	"errors"
	"slices"
)

const (
	// hit is from which share of the packets a flow was on the pulled link.
	hit = 0.05
	// known is until when after the cable is back what was lost is known as lost: by the next datagram, in a
	// record of 100 ms.
	known = 0.2
	// restless is from which share of its packets a flow lost too many while the cable was in, for the rest to be
	// the cable's.
	restless = 0.01
)

// Outage is what a pulled cable cost in one trial, in seconds: what was lost of one flow of datagrams from the pull until the
// cable was back, over the rate at which it was sent. Resolution is the time between two datagrams, and pulled how long the cable was out, beyond which
// nothing is seen. The error is why there is none.
func (t Trial) Outage() (seconds, resolution, pulled float64, err error) {
	pull, ok := t.pull()
	if !ok {
		return 0, 0, 0, errors.New("no cable was pulled")
	}
	if len(t.Pairs) != 1 || len(t.Pairs[0].Ways()) != 1 {
		return 0, 0, 0, errors.New("an outage is of one flow in one direction")
	}
	way := t.Pairs[0].Ways()[0]
	offered, a := way.Sender.Offered, way.Receiver.Arrived
	switch {
	case offered == nil || offered.TargetPacketsPerSecond <= 0 || a == nil || a.Flows > 1:
		return 0, 0, 0, errors.New("an outage is measured by one flow of datagrams at a rate of `packets`")
	case a.Expected == 0:
		return 0, 0, 0, errors.New("no packet was expected")
	case !t.carried(pull.Device):
		return 0, 0, 0, errors.New("the flow was on a member that was not pulled")
	}
	out := lostBetween(way.Receiver.Intervals, pull.From, pull.To+known)
	if in := float64(a.Lost) - out; in > restless*float64(a.Expected) {
		return 0, 0, 0, errors.New("packets were lost while the cable was in, too")
	}
	// The rate that was really sent, so that a sender that fell short makes the outage no shorter.
	rate := float64(a.Expected) / way.Sender.WindowSeconds
	return out / rate, 1 / rate, pull.To - pull.From, nil
}

// lostBetween is what was lost in the intervals that overlap a time.
func lostBetween(intervals []Interval, from, to float64) float64 {
	sum := uint64(0)
	for _, i := range intervals {
		if i.To > from && i.From < to {
			sum += i.Lost
		}
	}
	return float64(sum)
}

// pull is the trial's, if it has one.
func (t Trial) pull() (Pull, bool) {
	for _, n := range t.Nodes {
		if len(n.Pulls) > 0 {
			return n.Pulls[0], true
		}
	}
	return Pull{}, false
}

// carried tells whether packets of the load left by a wire's device.
func (t Trial) carried(device string) bool {
	var by, all uint64
	for _, n := range t.Nodes {
		var sent, through uint64
		for _, l := range n.Links {
			if l.Role != RoleWire {
				continue
			}
			sent += l.TxPackets
			if l.Device == device {
				through += l.TxPackets
			}
		}
		if sent > all { // of the node that sends the load
			by, all = through, sent
		}
	}
	return all > 0 && float64(by) > hit*float64(all)
}

// Pulled lists the devices whose cables were pulled.
func (t Trial) Pulled() []string {
	var devices []string
	for _, n := range t.Nodes {
		for _, p := range n.Pulls {
			if !slices.Contains(devices, p.Device) {
				devices = append(devices, p.Device)
			}
		}
	}
	return devices
}

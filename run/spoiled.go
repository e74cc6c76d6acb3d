package run

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"windtunnel/result"
)

// By how much of the window that was asked for, and by how many seconds in any
// case, an end's or a node's own may be off: beyond that they speak of different
// times.
const (
	windowLimit = 0.10
	windowLeast = 0.02
)

// spoiled says why a trial does not count, "" if it does.
func spoiled(t result.Trial) string {
	for _, pair := range t.Pairs {
		if pair.Sender.Error != "" {
			return fmt.Sprintf("the sender in %s: %s", pair.From, pair.Sender.Error)
		}
		if pair.Receiver.Error != "" {
			return fmt.Sprintf("the receiver in %s: %s", pair.To, pair.Receiver.Error)
		}
		if pair.Receiver.WindowSeconds <= 0 || !arrived(pair) {
			return fmt.Sprintf("nothing reached the receiver in %s within the window", pair.To)
		}
		if b := pair.Beside; b != nil && b.Sender.Error+b.Receiver.Error != "" {
			return fmt.Sprintf("the %s beside the load, %s to %s: %s", b.Kind, pair.From, pair.To, cmp.Or(b.Sender.Error, b.Receiver.Error))
		}
	}
	if why := apart(t); why != "" {
		return why
	}
	for _, name := range slices.Sorted(maps.Keys(t.Nodes)) {
		if why := spoiledNode(name, t.Nodes[name], t.Pulled()); why != "" {
			return why
		}
	}
	return ""
}

// arrived reports whether something did, in every direction of the load.
func arrived(pair result.PairSample) bool {
	for _, way := range result.Ways(pair.Sender, pair.Receiver) {
		if way.Receiver.Bytes == 0 {
			return false
		}
	}
	return true
}

// apart says whose window is not the one that was asked for, "" if nobody's is.
func apart(t result.Trial) string {
	took, longer := map[string]float64{}, map[string]float64{}
	end := func(whose string, e result.PairEnd) { took[whose], longer[whose] = e.WindowSeconds, grown(t, e) }
	for _, pair := range t.Pairs {
		end("the sender in "+pair.From, pair.Sender)
		end("the receiver in "+pair.To, pair.Receiver)
	}
	for name, sample := range t.Nodes {
		took["node "+name] = sample.WindowSeconds
	}
	for _, whose := range slices.Sorted(maps.Keys(took)) {
		if seconds := took[whose]; !isWindow(t, seconds-longer[whose]) {
			return fmt.Sprintf("the window of %s took %.2f s, not %.2f s", whose, seconds, t.WindowSeconds)
		}
	}
	return ""
}

// grown is by how much an end's window is longer than what was asked for, in seconds, because a queue on the way grew meanwhile: what left
// in the window comes for so much longer, which is the path's, and no other time.
func grown(t result.Trial, end result.PairEnd) float64 {
	if end.Arrived == nil {
		return 0
	}
	return max(0, min(end.WindowSeconds-t.WindowSeconds, end.Arrived.Backlog))
}

// isWindow reports whether what was taken is the window that was asked for.
func isWindow(t result.Trial, tookSeconds float64) bool {
	return math.Abs(tookSeconds-t.WindowSeconds) <= max(windowLeast, windowLimit*t.WindowSeconds)
}

func spoiledNode(name string, sample result.NodeSample, pulled []string) string {
	for _, cpu := range sample.CPUs {
		if share := cpu.Steal / sample.WindowSeconds; share > result.StealLimit {
			return fmt.Sprintf("%.0f %% of CPU %d of node %s was stolen by the hypervisor", 100*share, cpu.CPU, name)
		}
	}
	for _, link := range sample.Links {
		if link.CarrierChanges > 0 && !(link.Role == result.RoleWire && slices.Contains(pulled, link.Device)) {
			return fmt.Sprintf("link %s in %s went down within the window", link.Device, link.Place)
		}
	}
	return ""
}

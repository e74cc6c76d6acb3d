package analysis

import (
	"fmt"
	"math"

	"windtunnel/result"
)

// heldUp is the share of the sender's threads' time without a CPU from which it is a cause, beyond the other cell's.
const heldUp = 0.10

// generatorCause is a sender that was kept from sending: its threads could run and had no CPU, by another program or
// by a quota of CPU time. While they had one they were as fast as ever, so that their rate is by so much less.
func generatorCause(c contrast) []Cause {
	waits := c.two(senderWait)
	if !waits.known() {
		return nil
	}
	w, b := waits.means()
	if w-b < heldUp {
		return nil
	}
	busy := c.two(senderBusy)
	wBusy, _ := busy.means()
	worse, better := c.names()
	cause := Cause{Factor: "generator", Share: notKnown(), rank: rank{bound, w - b},
		Says: fmt.Sprintf("the sender was kept from sending: its threads could run and had no CPU for %s of the time in %s, %s in %s", percent(w), worse, percent(b), better),
		Evidence: []string{
			fmt.Sprintf("they ran for %s of the time: all of it is work or waiting for a CPU, so more CPU time would have sent more", percent(wBusy)),
			"the figure is one of the generator, and not of the path",
		}}
	if w+wBusy < allOfIt { // it waited for other things too
		cause.Evidence = cause.Evidence[1:]
		return []Cause{cause}
	}
	var part []float64
	for i := range waits.worse {
		part = append(part, math.Log(1-math.Min(waits.better[i], 0.99))-math.Log(1-math.Min(waits.worse[i], 0.99)))
	}
	if cause.Share = c.share(part); cause.Share.Known() {
		cause.By = "the sender's rate in the time that it ran, had it run for all of the time that it could"
	} else {
		cause.Share = result.Missing("seen, its share is not known: " + cause.Share.Reason)
	}
	return []Cause{cause}
}

// allOfIt is the share of the sender's time that work and waiting for a CPU make up, from which nothing else held it up.
const allOfIt = 0.90

// senderWait is the share of the sender's threads' time in which they could run and had no CPU, and the kernel's
// packet threads did not have it either: their work is the path's.
func senderWait(_ Cell, t result.Trial) (float64, bool) {
	return ofThreads(t, func(e result.PairEnd) float64 {
		if e.Offered == nil {
			return 0
		}
		return math.Max(0, e.Offered.WaitSeconds-e.Offered.PathSeconds)
	})
}

// senderBusy is the share in which they ran.
func senderBusy(_ Cell, t result.Trial) (float64, bool) {
	return ofThreads(t, func(e result.PairEnd) float64 { return e.CPUSeconds })
}

// ofThreads is a share of the time of all senders' threads.
func ofThreads(t result.Trial, seconds func(result.PairEnd) float64) (float64, bool) {
	sum, all := 0.0, 0.0
	for _, p := range t.Pairs {
		for _, e := range p.Senders() {
			if e.Generator == nil || e.Threads > 0 {
				sum += seconds(e)
				all += float64(e.Threads) * e.WindowSeconds
			}
		}
	}
	if !(all > 0) {
		return 0, false
	}
	return math.Min(1, sum/all), true
}

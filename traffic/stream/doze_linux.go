package stream

import (
	"time"

	"windtunnel/traffic"
)

// doze is how a receiver waits whose sender's CPU is the limit: it sleeps after each
// call that did not fill, is not woken, and so acknowledges when it reads. It does so
// while dozeLeast or more come in that time, since who sends less is not busy with
// waking, and no more than one part in dozeRoom of the socket's buffer, so that the
// sleep never is what closes the window.
type doze struct {
	call uintptr // bytes of a reading call at most
	nap  time.Duration
}

const (
	dozeLeast = 16 << 10
	dozeRoom  = 8
)

// The two cases in which acknowledging at once takes what the sender needs, with the
// lengths of calls and sleeps that let most arrive. In bulk with a stack of its own
// the receiver's CPU is the limit, and a doze costs a fifth.
//
//   - The stack works on another CPU than the receiver, as between virtual devices it
//     does on the sender's: a sixth more arrived.
//   - The messages are small. With fewer acknowledgements to take the sender's queue
//     fills, and messages are joined to packets there, instead of leaving by themselves,
//     which is dearer: of 1390 bytes half as much again arrived, of 4 KiB as much. Where
//     they are joined anyway as much arrives awake, at 0.9 of the CPU time a byte (a Xeon
//     of model 207), so both are tried (dozeTrial).
var (
	dozeElsewhere = doze{receiveBufferSize, 20 * time.Microsecond}
	dozeOfSmall   = doze{16 << 10, 70 * time.Microsecond}
)

// smallMessage is up to which size messages are small, bytes.
const smallMessage = 2 << 10

// doze is how the receiver dozes, if it should.
func (t *thread) doze() (d doze, should bool) {
	switch {
	case t.small:
		return dozeOfSmall, t.trial.dozes()
	case traffic.StackElsewhere(int(t.flows[0].fd)):
		return dozeElsewhere, true
	}
	return doze{}, false
}

// How a receiver of small messages finds out whether it should doze: bursts awake and bursts in which it dozes, by turns, which takes
// a third of a second. More has to come by more than it varies, since a doze costs CPU time.
const (
	dozeTries = 9
	dozeGain  = 1.05
)

// dozeTrial is that, of one thread.
type dozeTrial struct{ traffic.Turns }

func newDozeTrial() dozeTrial { return dozeTrial{traffic.NewTurns(dozeTries)} }

// note is told of each burst. Short ones, as a connection begins with, tell no rate.
func (d *dozeTrial) note(dozed bool, took time.Duration, moved uint64) {
	switch {
	case took < burstTime/2:
	case dozed != d.Other(): // too little came for a doze
		d.Again()
	default:
		d.Add(float64(moved) / took.Seconds())
	}
}

// dozes tells whether the next burst is to be one.
func (d *dozeTrial) dozes() bool { return d.Other() || d.Gain() >= dozeGain }

package datagram

import (
	"errors"
	"fmt"
	"time"

	"windtunnel/traffic"
)

// errSilent is of a peer whose word did not come.
var errSilent = errors.New("it is silent")

// underWay says at the end of a wait whether something is on its way still, as far as this end can see.
type underWay func() bool

// datagramsCome tells that more have come than when it was asked before.
func (r *run) datagramsCome() underWay {
	count := func() (n uint64) {
		for _, f := range r.engine.Snapshot().Flows[r.sends:] {
			n += f.Packets + f.Late + f.Duplicate + f.Corrupt
		}
		return n
	}
	had := count()
	return func() bool {
		have := count()
		come := have > had
		had = have
		return come
	}
}

// noteLeaves tells that the peer's system has not acknowledged this end's notes, or had not when it was asked before: then
// its answer may be on its way.
func (r *run) noteLeaves() underWay {
	had := false
	return func() bool {
		before := had
		had = unacknowledged(r.session.conn)
		return had || before
	}
}

// waitsOn tells whether a wait that was to end at a limit goes on.
func (r *run) waitsOn(limit time.Time, is underWay) bool { return r.mayWaitOn(limit) && is() }

// mayWaitOn tells whether a wait that was to end at a limit may go on.
func (r *run) mayWaitOn(limit time.Time) bool {
	return r.when.OneOff && time.Now().Before(limit.Add(traffic.LongestQueue))
}

// unheard is why a word of the peer did not come, who may have waited in vain for this end's as well: for as long as the longest queue.
func (r *run) unheard(is underWay, otherwise error) error {
	if after := time.Since(r.ended.At); r.when.OneOff && after >= traffic.LongestQueue && is() {
		return traffic.QueuedOn(after)
	}
	return otherwise
}

// countsEvery is how often an end says that it still counts what comes.
const countsEvery = 4 * time.Second

// silence is for how long nothing came while this end looked: a program that had no CPU has not heard that nothing did.
type silence struct {
	had           uint64
	since, looked time.Time
}

// lateLook is how much later than the look before it one is that says so; looks are 2 ms apart.
const lateLook = 20 * time.Millisecond

func newSilence(now time.Time) *silence { return &silence{since: now, looked: now} }

// look takes how many have come by now.
func (s *silence) look(now time.Time, have uint64) time.Duration {
	if late := now.Sub(s.looked); late >= lateLook {
		s.since = s.since.Add(late)
	}
	s.looked = now
	if have != s.had {
		s.had, s.since = have, now
	}
	return now.Sub(s.since)
}

// settle waits until everything that was sent has come, or nothing comes any more. It is an error where something still does, though it
// was waited for longer than until the limit, as a test by hand does.
func (r *run) settle(limit time.Time) error {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	patience, say := r.quiet(), limit.Add(drain/2)
	for heard := newSilence(time.Now()); time.Now().Before(limit) || r.mayWaitOn(limit); {
		have, sent, last := r.come(r.engine.Snapshot().Flows[r.sends:])
		if have >= sent {
			return nil
		}
		silent := heard.look(time.Now(), have)
		over := silent >= patience || r.when.Alone && last && silent >= quietInOrder
		if over && !(time.Now().Before(limit) && r.engine.Unread()) { // else it is this end that took nothing, as its threads had no CPU
			return nil
		}
		if time.Now().After(say) {
			say = say.Add(countsEvery)
			if err := r.session.tell(noteCounts, nil); err != nil {
				return fmt.Errorf("telling the peer that its datagrams still come: %w", err)
			}
		}
		select {
		case <-tick.C:
		case <-r.ctx.Done():
			return nil
		case <-r.worker.closing:
			return nil
		}
	}
	if !r.when.OneOff {
		return nil
	}
	return fmt.Errorf("those that had not come were told as lost: %w", traffic.QueuedOn(time.Since(r.ended.At)))
}

// quiet is how long datagrams are waited for that were sent and have not come: in a test by hand also as long as the first one took, whose
// way need not be that of the word that they were sent, and until some of few are due.
func (r *run) quiet() time.Duration {
	if !r.when.OneOff {
		return quiet
	}
	long := quiet + r.session.way
	if perSecond := r.engine.config.packetsPerSecond() * float64(r.receives); perSecond > 0 {
		long = max(long, time.Duration(min(3/perSecond, handshakeTimeout.Seconds())*float64(time.Second)))
	}
	return min(long, handshakeTimeout)
}

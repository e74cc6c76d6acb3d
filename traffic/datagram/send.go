package datagram

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// outflow is one flow at its sender.
type outflow struct {
	id      uint32
	socket  *socket
	to      name // of an unconnected socket's peer
	seq     uint64
	counts  FlowCounts
	budget  *traffic.Budget // datagrams
	stalled time.Duration
	away    away
	gone    gone
}

func newOutflow(f Flow, s *socket, c Config) (*outflow, error) {
	to, err := s.name(f.Peer)
	if err != nil {
		return nil, fmt.Errorf("flow %d: %w", f.ID, err)
	}
	return &outflow{id: f.ID, socket: s, to: to, seq: c.FirstSeq}, nil
}

// errGone says that ICMP brought a datagram back.
var errGone = errors.New("the peer refuses datagrams (ICMP port unreachable): its program has ended, or the port is closed")

// sender is what a sending thread has.
type sender struct {
	engine  *Engine
	thread  *thread
	config  Config
	flows   []*outflow // that still send
	turn    int
	pacer   pacer
	perFlow float64 // datagrams per second
	mark    int
	seen    [marks]seen             // when a mark's first datagrams left
	lag     [marks]*result.Recorder // by mark; nil: as fast as it goes
	batch   *batch                  // the memory and the form of a call
	depth   int                     // of the pacing with all flows
	slept   bool                    // just now
	missed  atomic.Int64            // ns of the rate that it slept through
}

func newSender(e *Engine, t *thread, flows []*outflow) *sender {
	s := &sender{engine: e, thread: t, config: e.config, flows: flows, perFlow: e.config.packetsPerSecond()}
	for m := range s.lag {
		if s.perFlow > 0 {
			s.lag[m] = result.NewRecorder()
		}
	}
	s.batch = newBatch(e.config, flows)
	s.depth = s.newPacer(0).depth
	return s
}

func (s *sender) newPacer(now int64) pacer {
	return newPacer(s.perFlow*float64(len(s.flows)), s.config.Burst, s.config.Together, s.batch.largest, now)
}

// pace begins the schedule anew for the flows that are left.
func (s *sender) pace() { s.pacer = s.newPacer(s.engine.clock.now()) }

func (s *sender) stopped() bool { return s.engine.sated.Load() }

func (s *sender) work() error {
	s.pace()
	var failures []error
	for len(s.flows) > 0 && !s.stopped() {
		if err := s.burst(); err != nil {
			failures = append(failures, err)
			if s.config.FailTogether {
				break
			}
		}
		s.thread.clock.Sample()
	}
	return errors.Join(failures...)
}

// burst sends until a stop, a flow's end, or the burst's time is over.
func (s *sender) burst() error {
	clock := s.engine.clock
	now := clock.now()
	for until := now + burstNS; now < until && !s.stopped(); now = clock.now() {
		lost := s.pacer.lost
		n, release := s.pacer.take(now, s.batch.largest)
		if s.slept {
			s.missed.Add(int64(s.pacer.lost - lost))
		}
		if s.slept = n == 0; s.slept {
			s.engine.sated.Sleep(sleepFor(release - now))
			continue
		}
		f := s.flows[s.turn]
		granted := int(f.budget.Take(int64(n)))
		if granted == 0 && f.budget.Await(&s.engine.sated) {
			s.pace() // what was not sent meanwhile is not due now
			return nil
		}
		if granted == 0 {
			s.dropSpent()
			return nil
		}
		s.note(now)
		if s.pacer.left == 0 {
			s.turn = (s.turn + 1) % len(s.flows)
		}
		if err := s.send(f, granted, release, now); err != nil {
			s.drop(f, err)
			return err
		}
	}
	return nil
}

// note sees a new mark, and what the thread's CPU time is before the mark's first datagrams.
func (s *sender) note(now int64) {
	mark := s.engine.markAt(now)
	if mark == s.mark && s.seen[mark].yes {
		return
	}
	s.thread.clock.Sample()
	if mark == s.mark {
		return
	}
	s.mark = mark
	s.thread.latch.lock()
	defer s.thread.latch.unlock()
	if s.lag[mark] != nil {
		s.lag[mark].Reset()
	}
}

// send lets n datagrams of a flow leave. What the system turned away for want
// of room, or of a way to the peer that was there before, is tried again later, under
// the same numbers.
func (s *sender) send(f *outflow, n int, release, now int64) error {
	s.batch.fill(s.config.Codec, n, Stamp{Flow: f.id, Mark: uint8(s.mark), Seq: f.seq, Intended: release, Sent: now})
	sent, calls, refused, err := s.batch.transmit(f, n)
	f.budget.GiveBack(int64(n - sent))
	s.thread.latch.lock()
	if sent > 0 { // a send by which nothing left is nobody's first, and has no lag
		s.left(now, release)
	}
	f.seq += uint64(sent)
	f.counts.Packets += uint64(sent)
	outlived := f.outlives(err)
	if outlived {
		refused++
		f.away.note(now, sent > 0, err)
	} else {
		f.away.note(now, sent > 0, nil)
	}
	f.counts.Bytes += uint64(sent) * uint64(s.config.Message)
	f.counts.Marked[s.mark].Packets += uint64(sent)
	f.counts.Calls += uint64(calls)
	f.counts.Refused += uint64(refused)
	ended := s.goneEnds(f, now)
	s.thread.latch.unlock()
	switch {
	case ended != nil:
		return ended
	case err == errGone && s.config.goesOn():
	case outlived:
		if no := s.awayEnds(f, now, err); no != nil {
			return no
		}
		if s.perFlow == 0 { // at a rate what is due does not wait for it
			s.engine.sated.Sleep(sleepFor(awayPause.Nanoseconds()))
		}
	case err != nil:
		return err
	case sent > 0:
		f.stalled = 0
	case refused > 0: // the queue is full: let it drain a little
		s.engine.sated.Sleep(sleepFor(int64(50 * time.Microsecond)))
	default: // the socket took nothing for as long as a call waits
		if f.stalled += patience; s.config.Patience > 0 && f.stalled >= s.config.Patience {
			return fmt.Errorf("the socket took no datagram for %s: look at the queue of its interface", f.stalled)
		}
	}
	return nil
}

// left notes that datagrams of the mark left; the latch is held.
func (s *sender) left(now, release int64) {
	if first := &s.seen[s.mark]; !first.yes {
		*first = seen{at: now, cpu: s.thread.clock.CPU(), yes: true}
	}
	if lag := s.lag[s.mark]; lag != nil {
		lag.Record(now - release)
	}
}

// dropSpent ends the flows that may send no more.
func (s *sender) dropSpent() {
	for _, f := range slices.Clone(s.flows) {
		if f.budget.IsSpent() {
			s.drop(f, nil)
		}
	}
}

// drop ends a flow; the others keep their rate.
func (s *sender) drop(f *outflow, err error) {
	s.end(f, err)
	for i, other := range s.flows {
		if other == f {
			s.flows = append(s.flows[:i], s.flows[i+1:]...)
			break
		}
	}
	s.turn = 0
	if len(s.flows) > 0 {
		s.pace()
	}
}

func (s *sender) end(f *outflow, err error) {
	s.thread.latch.lock()
	f.counts.Ended, f.counts.Err = true, err
	s.thread.latch.unlock()
}

// fill writes the headers of n datagrams with successive numbers.
func (b *batch) fill(codec Codec, n int, s Stamp) {
	switch own := codec.(type) {
	case nil:
	case longHeader:
		own.putRun(b.memory, b.message, n, s)
	case shortHeader:
		own.putRun(b.memory, b.message, n, s)
	default:
		for i := range n {
			codec.Put(b.memory[i*b.message:][:b.message:b.message], s)
			s.Seq++
		}
	}
}

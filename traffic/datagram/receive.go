package datagram

import (
	"bytes"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// receiver is what a receiving thread has.
type receiver struct {
	engine *Engine
	thread *thread
	config Config
	inlets []*inlet
	open   int              // inlets whose sockets have not failed
	spread *result.Recorder // nil: not asked for
	mark   uint8            // the highest that came
	seen   [marks]seen      // when a mark first came
	calls  *intake          // the memory and the form of a call
	raised atomic.Bool      // its thread took a higher priority
	polled atomic.Bool      // its thread polled
	alive  int64            // when it was last known to run, ns
	stood  atomic.Int64     // ns for which it did not, though nothing it does takes so long
	gone   int64            // of those, the last time
	goes   int64            // when it went on then, ns
	vain   atomic.Int64     // ns in which it did, and found nothing
	gain   atomic.Uint64    // bits of a float64: what came while it tried to, by what came while it did not; 0: not tried
}

// seen is the clock and the thread's own CPU time at a mark's first datagram.
type seen struct {
	at  int64 // ns of the engine's clock
	cpu time.Duration
	yes bool
	// What a receiver's first one said.
	flow uint32
	seq  uint64
	sent int64 // ns of the sender's clock
	// behind is for how long, in ns, it may have lain in the socket, as the receiver stood still until just before.
	behind int64
}

func newReceiver(e *Engine, t *thread, inlets []*inlet) (*receiver, error) {
	r := &receiver{engine: e, thread: t, config: e.config, inlets: inlets, open: len(inlets)}
	if e.config.Spread {
		r.spread = result.NewRecorder()
	}
	var err error
	r.calls, err = newIntake(e.config, inlets)
	return r, err
}

func (r *receiver) close() { r.calls.close() }

func (r *receiver) work() error {
	var failures []error
	moving := time.Now()
	for r.open > 0 && !r.engine.stop.Load() {
		moved, err := r.burst()
		if err != nil {
			r.open--
			failures = append(failures, err)
			if r.config.FailTogether {
				break
			}
		}
		if moved {
			moving = time.Now()
		} else if quiet := time.Since(moving); r.config.Silence > 0 && quiet >= r.config.Silence {
			failures = append(failures, fmt.Errorf("no datagram came for %s", quiet.Round(patience)))
			break
		}
		r.thread.clock.Sample()
	}
	return errors.Join(failures...)
}

// burst receives until a stop, an inlet's error, which ends that one, or the burst's time is over.
func (r *receiver) burst() (moved bool, err error) {
	clock := r.engine.clock
	now := clock.now()
	for until := now + burstNS; now < until && !r.engine.stop.Load(); now = clock.now() {
		r.live(now)
		n, err := r.turn()
		if err != nil {
			return moved, err
		}
		if n == 0 { // patience ended the call
			return moved, nil
		}
		moved = true
	}
	return moved, nil
}

// live notes that the thread runs. Its calls end by patience: where it was away for longer, the program was stopped (or had no CPU), and
// what came meanwhile lay in the sockets.
func (r *receiver) live(now int64) {
	if away := now - r.alive; r.alive > 0 && away > 2*patience.Nanoseconds() {
		r.stood.Add(away - patience.Nanoseconds())
		r.gone, r.goes = away, now
	}
	r.alive = now
}

// message takes what one message brought: one datagram, or an aggregate of
// datagrams of stride bytes, the last of which may be shorter.
func (r *receiver) message(in *inlet, b []byte, stride int, from *name, now int64) {
	account := in.only
	if account == nil && len(in.byPeer) > 0 {
		if account = in.byPeer[from.addrPort()]; account == nil {
			in.accounts[0].foreign++
			return
		}
	}
	if in.codec == nil {
		r.unnumbered(in, account, b, stride)
		return
	}
	if len(b) == 0 {
		r.strange(in, account, from)
	}
	for len(b) > 0 {
		n := min(stride, len(b))
		s, taken := r.datagram(in, account, b[:n], from, now)
		if taken != nil && taken.inTurn {
			k := in.runBehind(b, n)
			taken.takeRun(s.Mark, n, k)
			n += k * n
		}
		b = b[n:]
	}
	if account == nil {
		account = in.accounts[0]
	}
	account.calls++
}

// unnumbered counts datagrams without a header.
func (r *receiver) unnumbered(in *inlet, account *tally, b []byte, stride int) {
	if account == nil {
		account = in.accounts[0]
	}
	packets := max(1, (len(b)+stride-1)/max(1, stride))
	account.calls++
	account.bytes += uint64(len(b))
	account.marked[0].Packets += uint64(packets)
	if stride > in.message { // a recvfrom of so many bytes cuts them off
		last := len(b) - (packets-1)*stride
		account.bytes -= uint64((packets-1)*(stride-in.message) + max(0, last-in.message))
		account.longer += uint64(packets)
	}
}

// datagram takes one, and returns what it said and whose it was; nil where it was not counted as received.
func (r *receiver) datagram(in *inlet, account *tally, b []byte, from *name, now int64) (s Stamp, whose *tally) {
	s, ok := in.decode(b)
	if !ok {
		r.strange(in, account, from)
		return s, nil
	}
	if account == nil {
		if account = in.find(s); account == nil {
			r.strange(in, nil, from)
			return s, nil
		}
	}
	if s.Mark == opening {
		return s, nil
	}
	if !account.timed {
		in.know(from)
	}
	if in.apart {
		in.rejoin(from)
	}
	if s.Mark > r.mark {
		first := s
		if account.short {
			account.unwrap(&first)
		}
		r.see(first, now)
	}
	if d := account.take(s, len(b), now); d >= 0 && r.spread != nil {
		r.spread.Record(d)
	}
	return s, account
}

// see notes that a mark has come for the first time.
func (r *receiver) see(s Stamp, now int64) {
	r.mark = min(s.Mark, marks-1)
	r.thread.clock.Sample()
	first := seen{at: now, cpu: r.thread.clock.CPU(), yes: true, flow: s.Flow, seq: s.Seq, sent: s.Sent}
	if r.gone > 0 && now-r.goes <= patience.Nanoseconds() {
		first.behind = r.gone
	}
	r.seen[r.mark] = first
	if r.spread != nil {
		r.spread.Reset()
	}
}

// decode reads a datagram's header and compares the rest.
func (in *inlet) decode(b []byte) (s Stamp, ok bool) {
	switch {
	case in.long != nil:
		s, ok = in.long.Get(b)
		ok = ok && len(b) == in.message
	case in.short != nil:
		s, ok = in.short.Get(b)
		ok = ok && len(b) == in.message
	default:
		s, ok = in.codec.Get(b)
	}
	if ok && in.payload != nil {
		ok = bytes.Equal(b[len(b)-min(len(b), len(in.payload)):], in.payload)
	}
	return s, ok
}

// runBehind counts the datagrams of size bytes behind the first one, which is intact, that differ from it by
// successive numbers alone; 0 where the header is not our own.
func (in *inlet) runBehind(b []byte, size int) (n int) {
	switch {
	case in.long != nil:
		n = in.long.runBehind(b, size)
	case in.short != nil:
		n = in.short.runBehind(b, size)
	}
	for i := 1; i <= n && in.payload != nil; i++ {
		if end := (i + 1) * size; !bytes.Equal(b[end-len(in.payload):end], in.payload) {
			return i - 1
		}
	}
	return n
}

// strange counts what is not a datagram of ours: corrupt where the peer sent
// it, foreign else.
func (r *receiver) strange(in *inlet, account *tally, from *name) {
	if account == nil {
		account = in.accounts[0]
	}
	if in.socket.connected || in.peers[from.addrPort()] {
		account.marked[r.mark].Corrupt++
		return
	}
	account.foreign++
}

// know remembers who sends intact datagrams.
func (in *inlet) know(from *name) {
	if !in.socket.connected && len(in.peers) < maxPeers {
		in.peers[from.addrPort()] = true
	}
}

// seenMark is when a mark's first datagram left or came, by the engine's clock,
// and the CPU time, then, of the threads of that direction which have seen it: all of
// them, or not.
func (e *Engine) seenMark(role traffic.Role, mark int) (first seen, all bool) {
	all = true
	for _, t := range e.threads {
		var s seen
		t.latch.lock()
		switch {
		case role == traffic.Send && t.send != nil:
			s = t.send.seen[mark]
		case role == traffic.Receive && t.receive != nil:
			s = t.receive.seen[mark]
		default: // of the other direction
			t.latch.unlock()
			continue
		}
		t.latch.unlock()
		if !s.yes {
			all = false
			continue
		}
		cpu := first.cpu + s.cpu
		if !first.yes || s.at < first.at {
			first = s
		}
		first.cpu = cpu
	}
	return first, all
}

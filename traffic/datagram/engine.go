// Package datagram is numbered UDP: at a bit rate, at a packet rate, or as fast as
// it goes. An Engine drives the sockets with hot threads, the header is a Codec,
// and a receiver tells lost, late, reordered, duplicate and corrupt datagrams
// apart. The kind of load "datagram" puts a control connection beside it.
package datagram

import (
	"errors"
	"fmt"
	"math"
	"net"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"windtunnel/result"
	"windtunnel/traffic"
)

// Engine drives flows of datagrams with hot threads.
type Engine struct {
	config  Config
	clock   clock
	sockets []*socket
	outs    []*outflow // by flow; nil for a receiver
	ins     []*tally   // by flow; nil for a sender
	homes   []*latch   // by flow: what guards its counters
	first   []*inlet   // by flow: its socket, if it is the first of it
	threads []*thread

	from    [marks]atomic.Int64 // when the senders' mark begins, by the clock
	stop    atomic.Bool
	sated   traffic.Stop // of the senders, which may have to stop alone
	start   chan struct{}
	begin   func() // closes start
	done    chan struct{}
	sent    chan struct{} // closed when no thread sends any more
	running sync.WaitGroup
	release func()
	forget  func() // closes what tells of the namespace's full buffers
	closing sync.Once

	mu       sync.Mutex
	isDone   bool
	sending  int // threads
	left     int // threads
	failures []error
}

// clock is the engine's own: ns since it was made, never stepped.
type clock struct{ base time.Time }

func (c clock) now() int64 { return int64(time.Since(c.base)) }

// NewEngine takes the flows' sockets over, also where it fails, and returns when
// the threads stand; nothing moves before Start. The engine must be closed.
func NewEngine(flows []Flow, c Config) (*Engine, error) {
	e := &Engine{clock: clock{time.Now()}, start: make(chan struct{}), done: make(chan struct{}), sent: make(chan struct{})}
	e.begin = sync.OnceFunc(func() { close(e.start) })
	e.SetMark(0)
	if err := e.assemble(flows, c); err != nil {
		for _, f := range flows {
			if f.Conn != nil {
				f.Conn.Close()
			}
		}
		e.free()
		return nil, err
	}
	e.left = len(e.threads)
	e.release = traffic.HoldHot(len(e.threads))
	if err := e.spawn(); err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

func (e *Engine) assemble(flows []Flow, c Config) error {
	var err error
	if e.config, err = c.check(flows); err != nil {
		return err
	}
	sockets := map[*net.UDPConn]*socket{}
	for i, f := range flows {
		if f.Conn == nil || f.Role != traffic.Send && f.Role != traffic.Receive {
			return fmt.Errorf("flow %d needs a socket and a role: %q or %q", i, traffic.Send, traffic.Receive)
		}
		if sockets[f.Conn] != nil {
			continue
		}
		s, err := takeOver(f.Conn, e.config)
		if err != nil {
			return fmt.Errorf("taking over the socket of flow %d: %w", i, err)
		}
		sockets[f.Conn] = s
		e.sockets = append(e.sockets, s)
	}
	e.forget = knowFull(e.sockets)
	return e.deal(flows, sockets)
}

// spawn starts the threads and waits until they stand.
func (e *Engine) spawn() error {
	standing := make(chan error, len(e.threads))
	for _, t := range e.threads {
		e.running.Go(func() {
			// Without unlocking, so that the OS thread and its affinity end with the goroutine.
			runtime.LockOSThread()
			err := t.settle()
			standing <- err
			<-e.start
			if err == nil {
				err = t.work()
			}
			t.clock.End()
			e.end(t, err)
		})
	}
	var failures []error
	for range e.threads {
		failures = append(failures, <-standing)
	}
	return errors.Join(failures...)
}

// end notes that a thread has ended.
func (e *Engine) end(t *thread, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.left--
	sent := false
	if t.send != nil {
		if e.sending--; e.sending == 0 {
			sent = true
			close(e.sent)
		}
	}
	if err != nil {
		e.failures = append(e.failures, err)
	}
	if !e.isDone && (e.left == 0 || sent || err != nil && e.config.FailTogether) {
		e.isDone = true
		close(e.done)
	}
	if err != nil && e.config.FailTogether {
		e.stopAll()
	}
}

// Start lets the datagrams flow.
func (e *Engine) Start() { e.begin() }

// Done is closed when every sending flow has ended, by its limit or by an error;
// in an engine of receivers only, when all have failed or Halt was called. With
// FailTogether, at the first error.
func (e *Engine) Done() <-chan struct{} { return e.done }

// Err is what made flows end early, or nil.
func (e *Engine) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return errors.Join(e.failures...)
}

// SetMark makes the datagrams sent from now on carry a mark of 0 to 2, counts
// them under it at both ends, and begins the distributions anew.
func (e *Engine) SetMark(mark uint8) {
	mark = min(mark, marks-1)
	for m := 1; m < marks; m++ {
		e.from[m].Store(math.MaxInt64)
	}
	if mark > 0 {
		e.from[mark].Store(e.clock.now())
	}
}

// markFrom lets a mark begin at a time: the senders see to it themselves, however
// late a goroutine would be.
func (e *Engine) markFrom(mark int, at time.Time) {
	e.from[mark].Store(int64(at.Sub(e.clock.base)))
}

// markAt is the senders' mark at a time of the clock.
func (e *Engine) markAt(now int64) int {
	m := marks - 1
	for m > 0 && now < e.from[m].Load() {
		m--
	}
	return m
}

// HaltSenders ends the sending flows and waits for them; what is received goes on.
func (e *Engine) HaltSenders() {
	e.sated.Ask()
	e.begin()
	e.mu.Lock()
	sending := e.sending > 0
	e.mu.Unlock()
	if sending {
		<-e.sent
	}
}

func (e *Engine) stopAll() {
	e.stop.Store(true)
	e.sated.Ask()
}

// Halt stops sending and receiving and waits for the threads; the sockets stay
// open and the counters stay.
func (e *Engine) Halt() {
	e.stopAll()
	e.begin()
	e.hurry()
	e.running.Wait()
}

// Close ends everything and frees it.
func (e *Engine) Close() {
	e.closing.Do(func() {
		e.Halt()
		e.free()
		e.release()
	})
}

// free closes what the engine holds.
func (e *Engine) free() {
	for _, t := range e.threads {
		t.close()
	}
	for _, s := range e.sockets {
		s.close()
	}
	if e.forget != nil {
		e.forget()
	}
}

// Lag is how late each send began after the time it was meant for, since the
// last SetMark; nil where nothing is sent, or as fast as it goes.
func (e *Engine) Lag() *result.Recorder { return e.lagUnder(e.markAt(e.clock.now())) }

// lagUnder is Lag under one mark.
func (e *Engine) lagUnder(mark int) *result.Recorder {
	return e.merged(func(t *thread) *result.Recorder {
		if t.send == nil {
			return nil
		}
		return t.send.lag[mark]
	})
}

// Jitter is how much the transit times of successive datagrams differed, since
// the last SetMark that arrived; nil without Config.Spread.
func (e *Engine) Jitter() *result.Recorder {
	return e.merged(func(t *thread) *result.Recorder {
		if t.receive == nil {
			return nil
		}
		return t.receive.spread
	})
}

// Buffers are those of the first flow's socket as they really are (SO_SNDBUF,
// SO_RCVBUF), in bytes; 0 where the system does not tell.
func (e *Engine) Buffers() (send, receive int) { return e.sockets[0].buffers() }

// Unread tells whether something has come to a receiver that it has not read yet; never where the system does not tell.
func (e *Engine) Unread() bool {
	for _, t := range e.threads {
		if t.receive != nil && slices.ContainsFunc(t.receive.inlets, func(in *inlet) bool { return in.socket.unread() > 0 }) {
			return true
		}
	}
	return false
}

// Anew begins jitter, and the distributions of jitter and lag, anew, as iperf3 does
// where the omitted part of a test ends. What is counted goes on.
func (e *Engine) Anew() {
	for i, in := range e.ins {
		if in != nil {
			e.homes[i].lock()
			in.jitter = 0
			e.homes[i].unlock()
		}
	}
	for _, t := range e.threads {
		t.latch.lock()
		if t.receive != nil && t.receive.spread != nil {
			t.receive.spread.Reset()
		}
		if t.send != nil {
			for _, lag := range t.send.lag {
				if lag != nil {
					lag.Reset()
				}
			}
		}
		t.latch.unlock()
	}
}

func (e *Engine) merged(of func(*thread) *result.Recorder) *result.Recorder {
	var all *result.Recorder
	for _, t := range e.threads {
		r := of(t)
		if r == nil {
			continue
		}
		if all == nil {
			all = result.NewRecorder()
		}
		t.latch.lock()
		all.Merge(r)
		t.latch.unlock()
	}
	return all
}

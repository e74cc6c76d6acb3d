package stream

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"windtunnel/traffic"
)

// The ways in which Config.Copy lets a sender hand bytes over.
const (
	CopyPlain    = "plain"    // the kernel copies each message; "" means this, too
	CopyZero     = "zerocopy" // MSG_ZEROCOPY: the kernel refers to the message's pages
	CopySendfile = "sendfile" // sendfile from a file in memory
	CopySplice   = "splice"   // splice from a pipe that refers to the same pages again and again

	// maxSpliced is how many bytes a pipe may hold that anybody may make (fs.pipe-max-size), and so the longest message
	// that is sent by splice.
	maxSpliced = 1 << 20
)

// copies are all of them.
var copies = []string{CopyPlain, CopyZero, CopySendfile, CopySplice}

// The ways in which Config.Pacing keeps a rate.
const (
	PaceAuto   = "auto"   // the kernel where it can, else a bucket; "" means this, too
	PaceKernel = "kernel" // SO_MAX_PACING_RATE, by the qdisc fq or by TCP itself
	PaceBucket = "bucket" // a bounded token bucket in the hot thread
)

// Flow is one connected socket and what this end does with it. The engine takes
// the socket over, also when NewEngine fails, and closes it in Close.
type Flow struct {
	Conn net.Conn // a *net.TCPConn
	Role traffic.Role
}

// Config says how an engine moves bytes. Its zero value sends 128 KiB messages as
// fast as they go, with one hot thread.
type Config struct {
	Message int   // bytes of one sending call; 0: 128 KiB
	Threads int   // hot threads for the senders, and as many for the receivers; flows are dealt to them in turn; 0: 1
	CPUs    []int // where they are pinned, in turn; empty: not pinned
	NoDelay bool  // TCP_NODELAY of every flow; without it, it is switched off
	Copy    string
	Discard bool // receivers drop the payload in the kernel (MSG_TRUNC)
	Receive int  // bytes of one receiving call at most; 0: what is fastest
	Prompt  bool // receivers wait for no more than what is there: else what comes last may be read 0.1 s late

	BitsPerSecond float64 // of payload, of each sending flow; 0: as fast as it goes
	Pacing        string
	Burst         int // bytes: the depth of the bucket; 0: 10 ms of the rate
	// Together is how many whole messages leave back to back once the bucket has
	// them; 0: the bucket cuts messages into pieces.
	Together int

	LimitBytes uint64 // senders end after so many bytes over all flows; 0: no limit
	LimitCalls uint64 // the same in whole messages
	LimitEach  bool   // each flow may send as much, instead of all together
	LimitLater bool   // what is moved before LimitFrom does not count
	LimitFirst uint64 // with it: senders that have sent so many bytes, over all flows, wait for LimitFrom; 0: they do not
	// LimitReceivers bounds what is received in the same way.
	LimitReceivers bool
	Payload        []byte // what messages hold, again and again; nil: a pattern

	// Silence is for how long nothing may move on any flow of a role before its
	// threads give up; 0: 5 s; below 0: for ever.
	Silence time.Duration
	// FailTogether ends the whole engine at the first error of a flow. Without
	// it, a flow fails alone.
	FailTogether bool
}

// The defaults of a Config, and the bound on what it sends in a call.
const (
	defaultMessage = 128 << 10
	defaultSilence = 5 * time.Second
)

func (c Config) filled() Config {
	if c.Message == 0 {
		c.Message = defaultMessage
	}
	if c.Silence == 0 {
		c.Silence = defaultSilence
	}
	if c.Copy == CopyPlain {
		c.Copy = ""
	}
	if c.Pacing == PaceAuto {
		c.Pacing = ""
	}
	c.Threads = max(1, c.Threads)
	return c
}

// receiveSize is the size of one receiving call.
func (c Config) receiveSize(fastest int) int {
	if c.Receive > 0 {
		return c.Receive
	}
	return fastest
}

// limit is the lower one of both, in bytes; 0: none.
func (c Config) limit() uint64 {
	limit := c.LimitBytes
	if calls := c.LimitCalls * uint64(c.Message); calls > 0 && (limit == 0 || calls < limit) {
		limit = calls
	}
	return limit
}

func (c Config) check() error {
	switch {
	case c.Message < 0 || c.Message > maxMessage:
		return fmt.Errorf("a message of %d bytes is not within 1 and %d", c.Message, maxMessage)
	case c.Receive < 0 || c.Receive > maxMessage:
		return fmt.Errorf("%d bytes of one receiving call are not within 1 and %d", c.Receive, maxMessage)
	case c.Copy != "" && !slices.Contains(copies, c.Copy):
		return fmt.Errorf("no way of sending is called %q: there are %s", c.Copy, strings.Join(copies, ", "))
	case c.Copy == CopySplice && c.Message > maxSpliced:
		return fmt.Errorf("a message of %d bytes is longer than the %d that a pipe holds: ask for copy %s, or a shorter message", c.Message, maxSpliced, CopySendfile)
	case c.Pacing != "" && c.Pacing != PaceKernel && c.Pacing != PaceBucket:
		return fmt.Errorf("no pacing is called %q: there are %s, %s and %s", c.Pacing, PaceAuto, PaceKernel, PaceBucket)
	case c.BitsPerSecond < 0 || c.Burst < 0 || c.Burst > MaxBurst:
		return fmt.Errorf("a rate of %g bit/s with bursts of %d bytes cannot be kept", c.BitsPerSecond, c.Burst)
	}
	return c.available()
}

// Engine drives connected sockets with hot threads.
type Engine struct {
	config  Config
	flows   []*flow
	source  *source // what senders send; nil without senders
	pacing  pacing
	crews   map[traffic.Role]*crew
	start   chan struct{}
	begin   func() // lets the traffic flow
	done    chan struct{}
	finish  func()       // closes done
	left    atomic.Int32 // crews that have not ended
	release func()
	closing sync.Once
}

// NewEngine takes the flows over and returns when its threads stand, pinned;
// nothing moves before Start. The engine must be closed.
func NewEngine(flows []Flow, c Config) (*Engine, error) {
	c = c.filled()
	err := c.check()
	e := &Engine{config: c, start: make(chan struct{}), done: make(chan struct{}), crews: map[traffic.Role]*crew{}, release: func() {}}
	e.begin = sync.OnceFunc(func() { close(e.start) })
	e.finish = sync.OnceFunc(func() { close(e.done) })
	for _, f := range flows {
		if err == nil {
			err = e.take(f)
		} else {
			f.Conn.Close()
		}
	}
	if err == nil {
		err = e.muster()
	}
	if err != nil {
		e.free()
		return nil, err
	}
	e.spawn()
	return e, nil
}

// take makes a flow of a connection.
func (e *Engine) take(f Flow) error {
	taken, err := takeOver(f, e.config)
	if err != nil {
		return err
	}
	e.flows = append(e.flows, taken)
	return nil
}

// muster makes the crews, a thread at a time, none of them running.
func (e *Engine) muster() error {
	var err error
	if sending := e.of(traffic.Send); len(sending) > 0 {
		if e.source, err = newSource(e.config); err != nil {
			return err
		}
		if e.pacing, err = pace(sending, e.config); err != nil {
			return err
		}
		e.allot(sending)
	}
	if e.config.LimitReceivers {
		e.allot(e.of(traffic.Receive))
	}
	for _, role := range []traffic.Role{traffic.Send, traffic.Receive} {
		if e.crews[role], err = newCrew(e, role); err != nil {
			return err
		}
	}
	return nil
}

// allot gives flows what they may move.
func (e *Engine) allot(flows []*flow) {
	c := e.config
	for i, b := range traffic.Budgets(len(flows), traffic.Allowance{Limit: c.limit(), Each: c.LimitEach, Later: c.LimitLater, First: c.LimitFirst}) {
		flows[i].budget = b
	}
}

// LimitFrom lets the limits of a Config with LimitLater count from a reading on: the bytes of each flow.
func (e *Engine) LimitFrom(moved []uint64) {
	budgets := make([]*traffic.Budget, len(e.flows))
	for i, f := range e.flows {
		budgets[i] = f.budget
	}
	traffic.Bound(budgets, moved, e.config.limit())
}

func (e *Engine) of(role traffic.Role) []*flow {
	var mine []*flow
	for _, f := range e.flows {
		if f.role == role {
			mine = append(mine, f)
		}
	}
	return mine
}

func (e *Engine) spawn() {
	threads := len(e.crews[traffic.Send].threads) + len(e.crews[traffic.Receive].threads)
	e.left.Store(int32(len(e.crews)))
	e.release = holdHot(threads)
	var standing sync.WaitGroup
	standing.Add(threads)
	for _, c := range e.crews {
		c.spawn(standing.Done, e.start)
	}
	standing.Wait()
}

// crewEnded is told once by each crew, with the error that ends all, if one does.
func (e *Engine) crewEnded(err error) {
	if err != nil {
		for _, c := range e.crews {
			c.stop.Ask()
		}
	}
	if e.left.Add(-1) == 0 || err != nil {
		e.finish()
	}
}

// Start lets the traffic flow.
func (e *Engine) Start() { e.begin() }

// Done is closed when every flow has ended: at its limit, at the peer's end, or
// by an error; with FailTogether at the first error.
func (e *Engine) Done() <-chan struct{} { return e.done }

// Err is what ended flows so far other than a limit or the peer's end, or nil.
func (e *Engine) Err() error {
	var failures []error
	said := map[string]bool{} // of many flows, one reason is said once
	for _, f := range e.flows {
		if err := f.err(); err != nil && !said[err.Error()] {
			said[err.Error()] = true
			failures = append(failures, err)
		}
	}
	if len(failures) > 0 {
		return errors.Join(failures...)
	}
	return errors.Join(e.crews[traffic.Send].failure(), e.crews[traffic.Receive].failure())
}

// Halt makes senders stop sending and receivers stop reading, and returns when
// they have, which takes 0.1 s at most. The sockets stay open.
func (e *Engine) Halt() {
	for _, c := range e.crews {
		c.stop.Ask()
	}
	e.begin()
	for _, c := range e.crews {
		c.running.Wait()
	}
}

// HaltSenders is Halt for the sending flows alone.
func (e *Engine) HaltSenders() { e.crews[traffic.Send].halt(e.begin) }

// cut is Halt without waiting for blocked calls: it ends the connections.
func (e *Engine) cut() {
	for _, c := range e.crews {
		c.stop.Ask()
	}
	for _, f := range e.flows {
		f.shutdown()
	}
	e.Halt()
}

// Close halts and frees everything, the sockets too. A Snapshot after it has counts
// alone.
func (e *Engine) Close() {
	e.closing.Do(func() {
		e.Halt()
		e.free()
	})
}

func (e *Engine) free() {
	for _, c := range e.crews {
		c.close()
	}
	for _, f := range e.flows {
		f.close()
	}
	if e.source != nil {
		e.source.free()
	}
	e.release()
}

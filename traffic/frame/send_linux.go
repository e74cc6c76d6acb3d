package frame

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"windtunnel/result"
	"windtunnel/traffic"
)

// lead is how long before the start the threads are set going, and held: the
// kernel takes about 25 ms to begin with live frames.
const lead = 80 * time.Millisecond

const (
	tardiness = 0.01 // of a window: as much as a rate that was kept may miss
	starving  = 0.10 // of a window without a CPU
)

// sendWorker is a prepared sender.
type sendWorker struct {
	load      load
	order     traffic.Order
	cpus      []int
	yields    bool // to the sink: both have one CPU
	session   *session
	device    device
	header    header
	sources   []source
	start     func() (mover, error) // sets everything going, held back
	method    string
	why       string
	generator *result.Generator // nil: ourselves
	opened    func() error      // takes away what lets the peer take live frames; nil: nothing does
	reopened  bool              // that was attached amid the trial
	free      func()            // ends keepOpen, once

	closing chan struct{}
	once    sync.Once
	running sync.Mutex // held by Run; Close takes it before it frees anything
	failed  error      // of Close
}

// Address is "": nobody connects to a sender.
func (w *sendWorker) Address() string { return "" }

// Run sends as scheduled.
func (w *sendWorker) Run(ctx context.Context, when traffic.Schedule) (result.PairEnd, error) {
	w.running.Lock()
	defer w.running.Unlock()
	select {
	case <-w.closing:
		return result.PairEnd{}, errClosed
	default:
	}
	c := &course{when: when, closing: w.closing, size: w.load.sizes.mean(), failure: func() error { return nil }}
	if err := c.sleep(ctx, when.Start.Add(-lead)); err != nil {
		return result.PairEnd{}, err
	}
	e, err := w.start()
	if err != nil {
		return result.PairEnd{}, err
	}
	c.broken, c.failure = e.broken(), e.failure
	c.read = func() (uint64, uint64) {
		sent, _ := e.counts(warmUp, window, after)
		return sent, 0
	}
	c.tell = func() {
		w.tellRefused(e, false)
		w.noteGone(e)
	}
	c.start()
	defer c.stop()
	w.free = sync.OnceFunc(w.keepOpen(e))
	defer w.free()
	return w.drive(ctx, e, c)
}

// tellRefused tells the receiver which numbers it need not wait for, over if nothing is sent any more. Only live frames have a number before
// they are refused.
func (w *sendWorker) tellRefused(e mover, over bool) {
	w.session.refused(e.skipped(), over || w.method != byXDP)
}

// noteGone ends live frames that can leave no more, of which no call fails: their device was deleted or has left the namespace, and
// what of it the programs' map held is empty, or its MTU was lowered.
func (w *sendWorker) noteGone(e mover) {
	own, is := e.(*engine)
	for _, s := range w.sources {
		l, live := s.(*live)
		if !is || !live {
			continue
		}
		switch refusal := l.refusal(); {
		case errors.Is(refusal, unix.ENODEV):
			own.note(fmt.Errorf("sending live frames: %s is there no more: %w", w.device.name, refusal))
			return
		case errors.Is(refusal, unix.EMSGSIZE):
			own.note(fmt.Errorf("sending live frames by %s: %w%s", w.device.name, refusal, tooLong))
			return
		}
	}
}

// lacked is why frames had no way out for a while.
func (w *sendWorker) lacked() string {
	why := unix.ENETDOWN
	for _, s := range w.sources {
		if l, live := s.(*live); live && l.away() > 0 {
			why = l.lacked()
		}
	}
	switch {
	case why == unix.ENETDOWN:
		return why.Error()
	case w.device.kind == "veth":
		return fmt.Sprintf("the other end of %s had no XDP attached natively and no GRO any more, of which live frames need one", w.device.name)
	}
	return fmt.Sprintf("%s (%s) took no frames of XDP any more: %v", w.device.name, w.device.kind, why)
}

// longestTurn bounds how long a thread waits for its first frame, in seconds: more than any measurement takes.
const longestTurn = 1e6

// startSources lets a thread run for each source. At a rate they take turns, or all would send at the same time, and none in between.
func (w *sendWorker) startSources() *engine {
	for i, s := range w.sources {
		s.rate(w.load.rate/float64(w.load.threads), max(1, w.load.burst/w.load.threads))
		if w.load.rate > 0 {
			s.delay(time.Duration(min(float64(i)/w.load.rate, longestTurn) * float64(time.Second)))
		}
	}
	return newEngine(w.sources, w.cpus, w.yields)
}

// drive marks the frames of the window as such, and tells the receiver how many they were.
func (w *sendWorker) drive(ctx context.Context, e mover, c *course) (result.PairEnd, error) {
	var late error
	err := c.until(ctx, c.when.Start)
	if err == nil {
		e.release()
		late = tardy(e, c)
		err = w.warm(ctx, e, c)
	}
	if err != nil {
		e.halt()
		return result.PairEnd{}, err
	}
	w.tellRefused(e, false)
	e.setPhase(window)
	before := e.usage()
	early := c.until(ctx, c.windowEnd())
	e.setPhase(after)
	used := e.usage()
	if early == nil {
		c.finish()
	}
	if early == nil && !c.when.Alone {
		early = c.sleep(ctx, time.Now().Add(tail))
	}
	e.halt()
	w.free()
	if early == nil {
		w.noteGone(e)
	}
	early = cmp.Or(early, e.failure())
	if early != nil { // the receiver gets no last word
		w.tellRefused(e, true)
	}
	end := w.end(e, c, before, used)
	if early = cmp.Or(early, e.failure()); early == nil {
		early = w.session.tell(final{sent: told(e, end.Packets), windowNS: uint64(used.at.Sub(before.at).Nanoseconds())})
	}
	if early == nil && end.Packets == 0 {
		early = silent(end)
	}
	early = cmp.Or(early, late)
	if early != nil {
		end.Error = early.Error()
	}
	return end, ctx.Err()
}

// warm waits for the window. Threads of ours without a rate find out meanwhile how to be fastest here.
func (w *sendWorker) warm(ctx context.Context, e mover, c *course) error {
	if own, is := e.(*engine); is && w.load.rate == 0 {
		if err := own.choosePause(ctx, c); err != nil {
			return err
		}
	}
	return c.until(ctx, c.windowBegin())
}

// tardy is an error if a program of others was not going when its window began: the part that it missed would pass for a lower rate.
func tardy(e mover, c *course) error {
	late := time.Since(c.windowBegin())
	if _, foreign := e.(*foreignMover); !foreign || late <= time.Duration(tardiness*float64(c.when.Window)) {
		return nil
	}
	return fmt.Errorf("the generator sent its first frame %s after its window began: let nothing else use the machine, or take a longer --window", late.Round(time.Millisecond))
}

// silent says of a window without a frame what is known of why.
func silent(end result.PairEnd) error {
	if rate := end.Offered.TargetPacketsPerSecond; rate > 0 && rate*end.WindowSeconds < 1 {
		return fmt.Errorf("no frame was due in the window: at %.3g a second it must be longer", rate)
	}
	if share := end.Offered.WaitSeconds / end.WindowSeconds; share >= starving {
		return fmt.Errorf("no frame was sent in the window, and for %.0f %% of it the sender's threads could run and had no CPU: let nothing else use the machine, or give its node more CPUs", 100*min(1, share))
	}
	return errors.New("no frame was sent in the window")
}

// told is what a receiver is told of: the frames of the window, if it can tell which these are, else all.
func told(e mover, inWindow uint64) uint64 {
	if m, foreign := e.(*foreignMover); foreign {
		return m.total()
	}
	return inWindow
}

func (w *sendWorker) end(e mover, c *course, before, used usage) result.PairEnd {
	sent, refused := e.counts(window)
	if w.reopened {
		w.why, w.reopened = strings.TrimPrefix(w.why+"; "+w.openedWords(), "; "), false
	}
	spent := used.spent.Since(before.spent)
	end := result.PairEnd{
		WindowSeconds:  used.at.Sub(before.at).Seconds(),
		Bytes:          uint64(math.Round(float64(sent) * w.load.sizes.mean())),
		Packets:        sent,
		Calls:          used.calls - before.calls,
		CPUSeconds:     spent.CPU.Seconds(),
		BusiestSeconds: spent.Busiest().Seconds(),
		Threads:        w.load.threads,
		Intervals:      c.intervals,
		Generator:      w.generator,
		Frames:         w.load.frames(w.method + " " + w.device.name),
		Offered: &result.Offered{
			TargetPacketsPerSecond: w.load.rate,
			BurstPackets:           w.bursts(),
			Lag:                    w.lag(e),
			WaitSeconds:            spent.Wait.Seconds(),
			Refused:                refused,
			Method:                 methodNames[w.method],
			Why:                    w.why,
		},
	}
	if w.load.rate > 0 && len(w.sources) > 0 {
		missed := (used.missed - before.missed).Seconds() / float64(w.load.threads)
		end.Offered.MissedSeconds = &missed
	}
	if away := used.away - before.away; away > 0 {
		end.Offered.AwaySeconds, end.Offered.AwayWhy = away.Seconds()/float64(w.load.threads), w.lacked()
	}
	if used.cycles.Hertz > 0 {
		cycles := used.cycles.Since(before.cycles)
		end.Cycles = &cycles
	}
	return end
}

// bursts is the declared depth; without a rate there is none.
func (w *sendWorker) bursts() int {
	if w.load.rate == 0 {
		return 0
	}
	return max(1, w.load.burst/w.load.threads) * w.load.threads
}

// Close ends a Run that is under way and frees everything.
func (w *sendWorker) Close() error {
	w.once.Do(func() {
		close(w.closing)
		w.running.Lock()
		defer w.running.Unlock()
		w.failed = errors.Join(w.session.control.Close(), closeSources(w.sources))
		w.sources = nil
		if w.opened != nil {
			w.failed = errors.Join(w.failed, w.opened())
		}
	})
	return w.failed
}

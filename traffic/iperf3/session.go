package iperf3

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

// session is one client of a server.
type session struct {
	server   *server
	number   uint64
	cookie   cookie
	control  *control
	observer Observer
	arrivals gate
	noFiles  chan struct{} // told that the server had none for a stream

	params  params
	test    Test
	cpus    []int
	streams []*dataStream
	mover   mover // nil before all streams stand
}

const (
	// parameterTimeout bounds a client's parameters, streamTimeout the time until
	// its next data stream comes, doneTimeout its last word.
	parameterTimeout = 30 * time.Second
	streamTimeout    = 30 * time.Second
	doneTimeout      = 10 * time.Second
	// grace is what iperf3's server adds to a test's time before it gives up.
	grace = 40 * time.Second
	// lateEnd is for how long a client's end may be under way that has said how long
	// its test lasts: the path's latency and what a late sender has queued before it.
	lateEnd = 10 * time.Second
)

func newSession(ctx context.Context, s *server, conn *net.TCPConn, name cookie, number uint64) *session {
	one := &session{server: s, number: number, cookie: name, noFiles: make(chan struct{}, 1)}
	one.control = newControl(ctx, conn)
	one.observer = s.observe(number, conn.RemoteAddr().String())
	return one
}

// serve is a session from its first state to its end; what it returns the
// observer has been told. leave is called before the client sees the end, so that
// it may come again at once, with whether streams of it may still come.
func (s *session) serve(ctx context.Context, leave func(lacks bool)) error {
	defer s.control.release()
	err := s.run(ctx)
	lacks := s.arrivals.shut()
	if err != nil && ctx.Err() != nil {
		err = ErrServerTerminated
	}
	leave(lacks)
	if err == nil || s.tell(err) {
		s.control.closeInOrder()
	} else {
		s.control.close()
	}
	// Last, so that the client hears the reason before its streams break.
	if s.mover != nil {
		s.mover.close()
	} else {
		closeStreams(s.streams)
	}
	if err != nil {
		s.observer.Failed(err)
	}
	return err
}

// tell gives the client the reason, in the protocol's way, unless it is gone.
func (s *session) tell(err error) (told bool) {
	switch {
	case errors.Is(err, ErrServerTerminated), errors.Is(err, errMaxBytes), errors.Is(err, errAskBytes), errors.Is(err, errMaxTime):
		return s.control.sendState(serverTerminate) == nil
	case errors.Is(err, ErrClientTerminated), errors.Is(err, ErrControlClosed):
		return false
	}
	return s.control.sendError(cmp.Or(NumberOf(err), ErrorMessage), errnoOf(err)) == nil
}

func (s *session) run(ctx context.Context) error {
	if err := (socketOptions{userTimeout: s.server.options.SendTimeout}).apply(s.control.conn); err != nil {
		return err
	}
	if err := s.agree(); err != nil {
		return err
	}
	if err := s.gather(ctx); err != nil {
		return err
	}
	m, err := newMover(s.test, s.streams, true, s.cpus)
	if err != nil {
		s.streams = nil // the engine has closed them
		return &sessionError{number: ErrorInitStream, err: fmt.Errorf("readying the streams: %w", err)}
	}
	s.mover = m
	var running time.Time
	for _, step := range []state{testStart, testRunning} {
		running = time.Now()
		if err := s.control.sendState(step); err != nil {
			return ErrControlClosed
		}
	}
	return s.drive(ctx, running)
}

// agree takes the parameters, and judges them.
func (s *session) agree() error {
	if err := s.control.sendState(paramExchange); err != nil {
		return ErrControlClosed
	}
	body, err := s.control.receiveJSON(maxParameters, parameterTimeout)
	if errors.Is(err, ErrControlClosed) {
		return err
	}
	if err == nil {
		s.params, err = readParams(body)
	}
	if err != nil {
		return &sessionError{number: ErrorRecvParams, err: fmt.Errorf("reading the parameters: %w", err)}
	}
	s.test = s.params.test(reportEvery(s.server.options.Interval))
	o := &s.server.options
	if err := o.authorize(s.params.AuthToken, time.Now()); err != nil {
		return &sessionError{number: ErrorAuth, err: err}
	}
	if s.cpus = o.CPUs; len(s.cpus) == 0 && s.params.ServerAffinity != nil {
		s.cpus = []int{*s.params.ServerAffinity}
		if err := checkCPUs(s.cpus); err != nil {
			return err
		}
	}
	return o.judge(s.test)
}

// judge refuses a test that goes over the server's limits.
func (o *ServerOptions) judge(t Test) error {
	if o.MaxTime > 0 && o.TimedOnly && t.Duration == 0 {
		return &sessionError{number: ErrorMaxDuration, err: fmt.Errorf("the client's test ends by its bytes or never; the server allows %s", o.MaxTime)}
	}
	if o.MaxTime > 0 && t.Duration+t.Omit > o.MaxTime {
		return &sessionError{number: ErrorMaxDuration, err: fmt.Errorf("the client asks for %s; the server allows %s", t.Duration+t.Omit, o.MaxTime)}
	}
	// Such a test may be over before it is looked at.
	if bytes := max(float64(t.Bytes), float64(t.Blocks)*float64(t.Length)); o.MaxBytes > 0 && bytes > float64(o.MaxBytes) {
		return fmt.Errorf("%w: %.0f, where that is %d", errAskBytes, bytes, o.MaxBytes)
	}
	asked := max(t.BitsPerSecond, t.FQRate) * float64(t.streams())
	if o.MaxRate > 0 && asked > o.MaxRate {
		return &sessionError{number: ErrorTotalRate, err: fmt.Errorf("the client asks for %.0f bit/s in all; the server allows %.0f", asked, o.MaxRate)}
	}
	return nil
}

// drive runs the test over streams that stand, which the client has been told to start, and ends it with the client.
func (s *session) drive(ctx context.Context, running time.Time) error {
	t := &trial{
		test: s.test, server: true, streams: s.streams, mover: s.mover, control: s.control, observer: s.observer, guard: s.guard(),
		running: running,
	}
	s.observer.Connected(s.start())
	over := s.server.flow()
	last, err := t.flow(ctx)
	used, shared := t.meter.used(), over()
	if !errors.Is(err, errEnded) {
		end := t.end(last, used, nil)
		end.CPUShared = shared
		s.observer.Ended(end)
		return err
	}
	jitter, lag := s.mover.jitter(), s.mover.lag()
	away, why := s.mover.away()
	s.mover.close() // as iperf3: the client sees its streams end
	peer, err := s.receiveResults(t)
	end := t.tally.end(last, used, true, peer)
	end.Jitter, end.Lag, end.CPUShared = jitter, lag, shared
	end.Away, end.AwayWhy = away, why
	s.observer.Ended(end)
	if err != nil {
		return err
	}
	return s.sendResults(t.tally.results(last, used, true))
}

func (s *session) guard() guard {
	o := s.server.options
	g := guard{
		silence: o.ReceiveTimeout, silent: noneCame, maxTime: o.MaxTime, maxBytes: o.MaxBytes, maxRate: o.MaxRate, rateAverage: o.RateAverage,
		overdue: s.test.Omit + s.test.Duration + grace,
	}
	if !s.test.receives(true) {
		g.silence, g.silent = o.StallTimeout+s.test.between(), noneTaken
	}
	switch {
	case s.test.Duration == 0:
		g.overdue = MaxOmit + MaxDuration
	case g.maxTime > 0:
		g.maxTime += lateEnd
	}
	return g
}

func (s *session) receiveResults(t *trial) (*results, error) {
	if err := s.control.sendState(exchangeResults); err != nil {
		return nil, ErrControlClosed
	}
	body, err := s.control.receiveJSON(maxResults, answerTimeout)
	if errors.Is(err, ErrControlClosed) {
		return nil, err
	}
	var peer results
	if err == nil {
		peer, err = readResults(body, t.ids())
	}
	if err != nil {
		return nil, &sessionError{number: ErrorRecvResults, err: fmt.Errorf("reading the client's results: %w", err)}
	}
	peer.OutputText, peer.OutputJSON = "", nil // a client has none to tell
	return &peer, nil
}

// sendResults hands over this end's figures, with what was printed where the
// client asks for it, and waits for the client's last word.
func (s *session) sendResults(mine results) error {
	if keeper, ok := s.observer.(Transcriber); ok && s.test.GetServerOutput {
		mine.OutputText, mine.OutputJSON = keeper.Transcript()
	}
	if err := s.control.sendJSON(mine); err != nil {
		return fmt.Errorf("sending the results: %w", err)
	}
	if err := s.control.sendState(displayResults); err != nil {
		return ErrControlClosed
	}
	// Whether the client still says that it is done changes nothing.
	s.control.receiveState(doneTimeout)
	return nil
}

// start is what the observer hears when all streams stand.
func (s *session) start() Start {
	local, remote := addressOf(s.control.conn.LocalAddr()), addressOf(s.control.conn.RemoteAddr())
	b := Start{
		Server: true, Session: s.number, Time: time.Now(), Host: remote.Addr().String(), Port: int(remote.Port()),
		ClientVersion: s.params.ClientVersion, Cookie: s.cookie.String(), ControlLocal: local, ControlRemote: remote,
		ControlMSS: factsOf(s.control.conn).mss, Test: s.test,
	}
	b.describe(s.streams, s.mover)
	return b
}

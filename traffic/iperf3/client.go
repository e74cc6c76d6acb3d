package iperf3

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
	"time"

	"windtunnel/traffic"
)

const (
	// defaultConnectTimeout bounds each connect.
	defaultConnectTimeout = 30 * time.Second
	// greetingTimeout bounds the server's answer to each UDP stream, as in iperf3.
	greetingTimeout = 30 * time.Second
)

// client is one test from the client's end.
type client struct {
	options  Options
	test     Test
	observer Observer
	control  *control
	cookie   cookie
	streams  []*dataStream
}

// Run is a client's test from connect to the exchanged results. It returns what
// observer.Failed is told, or nil. When ctx ends, the server is told so and what
// there is until then is reported (ErrInterrupted).
func Run(ctx context.Context, o Options, observer Observer) error {
	c := &client{options: o, observer: observer, cookie: newCookie()}
	err := c.run(ctx)
	if err != nil && ctx.Err() != nil && !errors.Is(err, ErrInterrupted) {
		err = ErrInterrupted
	}
	if err != nil {
		observer.Failed(err)
	}
	return err
}

func (c *client) run(ctx context.Context) error {
	var err error
	if c.test, err = c.options.test(); err != nil {
		return err
	}
	conn, err := c.connect(ctx)
	if err != nil {
		return err
	}
	c.control = newControl(ctx, conn)
	defer c.control.release()
	defer c.control.close()
	if err = c.agree(conn); err == nil {
		err = c.createStreams(ctx)
	}
	if err != nil {
		closeStreams(c.streams)
		if ctx.Err() != nil {
			c.control.sendState(clientTerminate) // as later: else it were a connection that broke
		}
		return err
	}
	m, err := newMover(c.test, c.streams, false, c.options.CPUs)
	if err != nil {
		return fmt.Errorf("readying the streams: %w", err)
	}
	defer m.close()
	return c.drive(ctx, m)
}

// connect makes the control connection.
func (c *client) connect(ctx context.Context) (*net.TCPConn, error) {
	address := net.JoinHostPort(c.options.Host, strconv.Itoa(c.port()))
	local, err := c.local("tcp", 0)
	if err != nil {
		return nil, err
	}
	o := socketOptions{device: c.options.BindDevice, userTimeout: c.options.SendTimeout}
	dialer := net.Dialer{Timeout: c.connectTimeout(), LocalAddr: local, Control: o.control}
	c.options.KeepAlive.apply(&dialer.KeepAliveConfig)
	dialer.SetMultipathTCP(false)
	conn, err := dialer.DialContext(ctx, "tcp"+c.family(), address)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w; %s", address, err, c.hint(err))
	}
	return conn.(*net.TCPConn), nil // net switches TCP_NODELAY on
}

func (c *client) hint(err error) string {
	var option *OptionError
	switch {
	case errors.As(err, &option):
		return "leave that option out, or ask for something else"
	case c.options.Bind != "" && (errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EINVAL)):
		return "is " + c.options.Bind + " an address of this host, from which that can be reached?"
	}
	var unnamed *net.DNSError
	var unusable *net.AddrError
	switch {
	case errors.As(err, &unnamed):
		return "is " + c.options.Host + " its name?"
	case errors.As(err, &unusable): // before anything was sent
		return "it has none of the family that -4, -6 or -B ask for"
	}
	if says := traffic.BadZone(c.options.Host); says != "" && c.options.BindDevice == "" {
		return says
	}
	if says := traffic.NoRoute(err); says != "" {
		return says
	}
	return fmt.Sprintf("is an iperf3 server running there, and may port %d pass?", c.port())
}

func (c *client) port() int { return cmp.Or(c.options.Port, DefaultPort) }

func (c *client) connectTimeout() time.Duration {
	if c.options.ConnectTimeout > 0 {
		return c.options.ConnectTimeout
	}
	return defaultConnectTimeout
}

func (c *client) family() string {
	if c.options.Family == 0 {
		return ""
	}
	return strconv.Itoa(c.options.Family)
}

// local is the address to bind to, nil for any.
func (c *client) local(network string, port int) (net.Addr, error) {
	if c.options.Bind == "" && port == 0 {
		return nil, nil
	}
	address := net.JoinHostPort(c.options.Bind, strconv.Itoa(port))
	if network == "udp" {
		return net.ResolveUDPAddr("udp"+c.family(), address)
	}
	return net.ResolveTCPAddr("tcp"+c.family(), address)
}

// apply keeps net's keepalive where none was asked for: a peer that vanished is
// noticed by it.
func (k KeepAlive) apply(config *net.KeepAliveConfig) {
	if !k.On {
		return
	}
	*config = net.KeepAliveConfig{Enable: true, Idle: k.Idle, Interval: k.Interval, Count: k.Count}
	if k.Idle == 0 {
		config.Idle = -1 // net then leaves the system's
	}
	if k.Interval == 0 {
		config.Interval = -1
	}
	if k.Count == 0 {
		config.Count = -1
	}
}

// agree introduces the client and hands over the parameters.
func (c *client) agree(conn *net.TCPConn) error {
	if err := c.control.send(c.cookie[:]); err != nil {
		return fmt.Errorf("introducing this client: %w", err)
	}
	if err := c.control.expect(paramExchange, answerTimeout); err != nil {
		return err
	}
	if c.test.Length == 0 {
		c.test.Length = datagramLength(factsOf(conn).mss)
	}
	c.test.EndsQuiet = c.test.Protocol == UDP && c.test.Reverse && c.test.minds()
	p := newParams(c.test, c.options)
	if c.options.PublicKey != nil && c.options.Username != "" {
		var err error
		if p.AuthToken, err = newToken(c.options, time.Now()); err != nil {
			return err
		}
	}
	if err := c.control.sendJSON(p); err != nil {
		return fmt.Errorf("sending the parameters: %w", err)
	}
	if c.options.Asked != nil {
		c.options.Asked(c.about())
	}
	err := c.control.expect(createStreams, answerTimeout)
	if errors.Is(err, ErrControlClosed) {
		return ErrControlClosedUnsaid
	}
	return err
}

// datagramLength fits a datagram into a packet as iperf3 does: the control
// connection's MSS, which has room to spare for UDP's shorter header.
func datagramLength(mss int) int {
	if mss <= 0 {
		return DefaultUDPLength
	}
	return min(max(mss, MinUDPLength), MaxUDPLength)
}

// drive runs the test over streams that stand, and ends it with the server.
func (c *client) drive(ctx context.Context, m mover) error {
	for _, step := range []state{testStart, testRunning} {
		if err := c.control.expect(step, answerTimeout); err != nil {
			return err
		}
	}
	t := &trial{
		test: c.test, streams: c.streams, mover: m, control: c.control, observer: c.observer,
		guard: guard{silence: c.silence(), silent: noneCame},
	}
	c.observer.Connected(c.start(m))
	last, err := t.flow(ctx)
	used := t.meter.used()
	if errors.Is(err, errEnded) {
		err = c.exchange(t, last, used)
	} else {
		c.observer.Ended(t.end(last, used, nil))
	}
	if errors.Is(err, ErrInterrupted) || ctx.Err() != nil {
		c.control.sendState(clientTerminate) // the server may be gone, too
	}
	return err
}

// silence is for how long nothing may come; a client that only sends waits for nothing.
func (c *client) silence() time.Duration {
	switch {
	case !c.test.receives(false):
		return MaxDuration + MaxOmit
	case c.options.ReceiveTimeout > 0:
		return c.options.ReceiveTimeout
	}
	return DefaultReceiveTimeout
}

// exchange ends the test with the server: results both ways, this end's first.
func (c *client) exchange(t *trial, last reading, used CPU) error {
	peer, err := c.trade(t, last, used)
	c.observer.Ended(t.end(last, used, peer))
	if err != nil {
		return err
	}
	t.mover.close() // as iperf3: data sockets first
	if err := c.control.sendState(iperfDone); err == nil {
		c.control.closeInOrder()
	}
	return nil
}

func (c *client) trade(t *trial, last reading, used CPU) (*results, error) {
	ending := time.Now()
	if !t.told {
		if err := c.control.sendState(testEnd); err != nil {
			return nil, err
		}
	}
	if err := c.control.expect(exchangeResults, answerTimeout); err != nil {
		return nil, err
	}
	if err := c.control.sendJSON(t.tally.results(last, used, false)); err != nil {
		return nil, fmt.Errorf("sending the results: %w", err)
	}
	most := maxResults
	if c.test.GetServerOutput {
		most = maxOutput
	}
	body, err := c.control.receiveJSON(most, answerTimeout)
	if err != nil {
		return nil, fmt.Errorf("receiving the server's results: %w", err)
	}
	peer, err := readResults(body, t.ids())
	if err != nil {
		return nil, fmt.Errorf("reading the server's results: %w", err)
	}
	if !t.quiet.IsZero() {
		peer.endEarlier(ending.Sub(t.quiet), last.at.Sub(t.tally.base.at))
	}
	return &peer, c.control.expect(displayResults, answerTimeout)
}

func (t *trial) end(last reading, used CPU, peer *results) End {
	e := t.tally.end(last, used, t.server, peer)
	e.Jitter, e.Lag = t.mover.jitter(), t.mover.lag()
	e.Away, e.AwayWhy = t.mover.away()
	return e
}

func (t *trial) ids() map[int]bool {
	ids := map[int]bool{}
	for _, s := range t.streams {
		ids[s.id] = true
	}
	return ids
}
